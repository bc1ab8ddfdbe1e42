"""rows-differ: servers that should hold the same rows do not."""

from typing import ClassVar

from pydantic import Field

from sandbox.consistency.oracle import compare_stack
from sandbox.consistency.verdict import on_rows
from sandbox.repro.expectation import Expectation, Looked
from sandbox.repro.step import Stage
from sandbox.repro.wanted import ANY, Length


class RowsDifferExpectation(Expectation):
    """Rows differ between servers that were brought to one position."""

    value_is: ClassVar[str] = "a table, schema.table, a schema, or any"
    table: str = Field(alias="value", min_length=1)
    within: Length = Field(default=10.0, ge=0.1)
    """How long the servers have to come to one position."""

    @property
    def text(self) -> str:
        return f"{self.head}: {self.table}"

    def looked(self, stage: Stage) -> Looked:
        tables = self._tables(stage.schema)
        found = compare_stack(stage.stack, stage.client, tables, self.within, log_megabytes=0)
        if not found:
            return Looked(None, "there is one server")
        verdict, seen = on_rows(found)
        return Looked({"fail": True, "pass": False}.get(verdict), seen)

    def _tables(self, schema: str) -> list[str]:
        """A word without a point is a table of the repro's own schema, or a schema."""
        if self.table == ANY:
            return []
        if "." in self.table:
            return [self.table]
        return [f"{schema}.{self.table}", self.table]
