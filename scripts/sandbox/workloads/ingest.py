"""Batch inserts into TABLES tables with secondary indexes, empty at first; a transaction is a batch."""

from typing import Any, ClassVar

from pydantic import Field

from sandbox.workloads.common import prepared
from sandbox.workloads.common.model import Parameters, Session
from sandbox.workloads.common.python_load import PythonLoad

PREFIX = "ingest_"


class Ingest(PythonLoad):
    """Rows per second are transactions per second times ``batch_rows``."""

    scenario: ClassVar[str] = "ingest"
    batch_rows: int = Field(default=100, ge=1, le=100_000, description="rows per INSERT")
    indexes: int = Field(default=3, ge=0, le=3, description="secondary indexes: device and time, tag, reading")
    payload_bytes: int = Field(default=100, ge=0, le=1000, description="bytes of text per row")

    @property
    def uses(self) -> frozenset[str]:
        """Threads are spread over the tables."""
        return super().uses | {"tables"}

    @property
    def consumes_data(self) -> bool:
        """Each phase starts with empty tables."""
        return True

    def wanted(self, parameters: Parameters) -> prepared.Prepared:
        """Empty tables."""
        return prepared.Prepared("ingest", parameters.tables, 0, f"{self.indexes} secondary indexes", PREFIX)

    def scenario_options(self, session: Session) -> dict[str, Any]:
        """The options, with the number of tables."""
        return {**self.options(), "tables": session.parameters.tables}
