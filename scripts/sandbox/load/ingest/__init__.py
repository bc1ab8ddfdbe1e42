"""Batch inserts into TABLES tables with secondary indexes, empty at first; a transaction is a
batch.
"""

from collections.abc import Mapping

from pydantic import Field

from sandbox.core.plugin_options import OptionValue
from sandbox.load.common.sysbench_load import LuaLoad
from sandbox.load.common.workload import Parameters, PreparedData

PREFIX = "ingest_"


class Ingest(LuaLoad):
    """Rows per second are transactions per second times ``batch_rows``."""

    batch_rows: int = Field(default=100, ge=1, le=100_000, description="rows per INSERT")
    indexes: int = Field(
        default=3, ge=0, le=3, description="secondary indexes: device and time, tag, reading"
    )
    payload_bytes: int = Field(default=100, ge=0, le=1000, description="bytes of text per row")

    @property
    def uses(self) -> frozenset[str]:
        """Threads are spread over the tables."""
        return super().uses | {"tables"}

    @property
    def consumes_data(self) -> bool:
        """Each phase starts with empty tables."""
        return True

    def data_needed(self, parameters: Parameters) -> PreparedData:
        """Empty tables."""
        return PreparedData(
            "ingest", parameters.tables, 0, f"{self.indexes} secondary indexes", PREFIX
        )

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:
        """The options, with the number of tables."""
        return {**self.options(), "tables": parameters.tables}
