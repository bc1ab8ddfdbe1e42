"""Appends to lists and reads of them in transactions, whose history shows which anomalies the
servers allow.
"""

from typing import Any, ClassVar, Literal

from pydantic import Field

from sandbox.load.common.history_load import HistoryLoad
from sandbox.load.common.isolation.history import Anomaly, Txn


class ListAppend(HistoryLoad):
    """Jepsen's workload of this name; its keys are few, so that transactions meet."""

    prefix: ClassVar[str] = "list_append_"
    append: Literal["concat", "read-modify-write"] = Field(
        default="concat",
        description="concat: the server extends the list; read-modify-write: the client does",
    )
    keys: int = Field(default=5, ge=1, le=1000, description="lists in use at a time")
    appends_per_key: int = Field(
        default=32, ge=1, le=1000, description="appends after which a list is replaced"
    )
    longest: int = Field(
        default=4, ge=1, le=20, description="operations in the longest transaction"
    )

    @property
    def statements(self) -> tuple[str, ...]:
        """An empty table: a list is inserted by its first append."""
        return (
            (
                "CREATE TABLE list_append_lists (id int PRIMARY KEY, val text CHARACTER SET ascii"
                " NOT NULL) ENGINE=InnoDB"
            ),
        )

    @property
    def overwrites(self) -> bool:
        """Whether the client writes a value that it computed."""
        return self.append == "read-modify-write"

    def client_options(self) -> dict[str, Any]:
        """The options of `ListTransactions`."""
        sizes = {
            "keys": self.keys,
            "appends_per_key": self.appends_per_key,
            "longest": self.longest,
        }
        return {**sizes, "overwrite": self.overwrites}

    def anomalies(self, txns: list[Txn]) -> dict[str, Anomaly]:
        """The anomalies by lists, and by cycles."""
        # Late, for start-up time: the search for cycles imports SciPy, which a list of workloads
        # does without.
        from sandbox.load.common.isolation.list_append import ListHistory, anomalies

        return anomalies(ListHistory(txns))
