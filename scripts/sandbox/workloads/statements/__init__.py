"""The user's own statements, drawn by weight; a transaction is one statement, or everything from BEGIN to COMMIT."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import Field

from sandbox.results.record import PreparationRecord
from sandbox.workloads.common import prepared
from sandbox.workloads.common.lua_load import LuaLoad
from sandbox.workloads.common.model import DataNeed, OptionValue, Parameters, Session
from sandbox.workloads.common.statement_file import Piece, StatementUnit, parse_statements
from sandbox.workloads.sysbench import PREPARE_OLTP, Sysbench

_READING = ("select", "show", "with", "values", "table", "explain", "describe", "desc")
_WRITING = ("insert", "update", "delete", "replace", "load", "call")
_ESCAPED = frozenset((*range(32), *range(127, 256), ord('"'), ord("\\")))


class Statements(LuaLoad):
    """``text``: the file as the user wrote it. The tables it needs exist already, or are sysbench's."""

    text: str = Field(exclude=True)
    data: Literal["none", "oltp"] = Field(
        default="none", description="none: its tables exist already; oltp: sysbench's sbtest1 … by TABLES and ROWS"
    )

    @property
    def uses(self) -> frozenset[str]:
        """The size of sysbench's tables, where it uses them."""
        return super().uses | ({"tables", "rows_per_table"} if self.data == "oltp" else set())

    def wanted(self, parameters: Parameters) -> prepared.Prepared | None:  # noqa: ARG002  (the shape of a workload)
        """It makes no data of its own."""
        return None

    def data_needed(self, parameters: Parameters) -> DataNeed | None:
        """Sysbench's tables, where it uses them."""
        return None if self.data == "none" else Sysbench(script=PREPARE_OLTP).data_needed(parameters)

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the statements too, and makes sysbench's tables where ``data`` says so."""
        super().prepare(session, log)
        if self.data == "none":
            return None
        return Sysbench(script=PREPARE_OLTP).prepare(session, log)

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:  # noqa: ARG002  (some need them)
        """The script has none."""
        return {}

    def scripts(self) -> dict[str, str]:
        """The statements too."""
        units = parse_statements(self.text, "the file")
        return {**super().scripts(), "statements/units.lua": f"return {as_lua([_as_table(unit) for unit in units])}\n"}


def kind_of(statement: list[Piece]) -> Literal["read", "write", "other"]:
    """How a statement is counted, by its first word."""
    word = str(statement[0]).lstrip("( \n\t").split(None, 1)[0].lower()
    return "read" if word in _READING else "write" if word in _WRITING else "other"


def as_lua(value: object) -> str:
    """A value as a Lua literal: text, number, list or dictionary."""
    if isinstance(value, str):
        return '"' + "".join(f"\\{byte:03d}" if byte in _ESCAPED else chr(byte) for byte in value.encode()) + '"'
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {as_lua(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(as_lua, value)) + "}"
    return repr(value)


def _as_table(unit: StatementUnit) -> dict[str, object]:
    statements = [[kind_of(pieces), *pieces] for pieces in unit.statements]
    return {"name": unit.name, "weight": unit.weight, "statements": statements}
