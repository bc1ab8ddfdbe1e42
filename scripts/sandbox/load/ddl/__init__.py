"""Concurrent CREATE, ALTER and DROP TABLE while other threads read and write; a transaction is one
statement.
"""

from pydantic import Field

from sandbox.load.common.sysbench_load import LuaLoad
from sandbox.load.common.workload import Parameters, PreparedData

PREFIX = "ddl_"


class Ddl(LuaLoad):
    """THREADS run DDL. Filling the tables and the accompanying load are reported separately, by
    kind.
    """

    tables_per_thread: int = Field(
        default=10, ge=1, le=100_000, description="tables that a thread creates, then drops"
    )
    table_rows: int = Field(default=100, ge=0, le=10_000, description="rows in each table")
    alter: bool = Field(
        default=True, description="whether each table gets another column and index before its drop"
    )
    load_threads: int = Field(
        default=1, ge=0, le=10_000, description="additional threads that read and write rows"
    )
    load_rows: int = Field(default=10_000, ge=1, description="rows of the table of these threads")

    @property
    def background_threads(self) -> int:
        """Threads of the accompanying load."""
        return self.load_threads

    def data_needed(self, parameters: Parameters) -> PreparedData:  # noqa: ARG002  (the shape of a workload)
        """The table of the accompanying load; a run leaves no other."""
        return PreparedData("ddl", 1, self.load_rows, prefix=PREFIX)
