"""TPC-C's tables in memory: SQLite answers the statements of its transactions, so that their sums
can be checked.
"""

import re
import sqlite3
from collections.abc import Sequence
from typing import Any

from unit.load.lua.script import Server, State

CUSTOMERS, ITEMS, WAREHOUSES = 30, 100, 2
OPTIONS = {"warehouses": WAREHOUSES, "customers": CUSTOMERS, "items": ITEMS}

_DIALECT = [
    (r" ENGINE=InnoDB| FOR UPDATE|, KEY \w+ \([^)]*\)|, PRIMARY KEY \(h_id\)", ""),
    (r"BIGINT NOT NULL AUTO_INCREMENT", "INTEGER PRIMARY KEY"),
]


class TpccServer(Server):
    """A server with the initial data: a copy of another server's, else made by the commands of the
    script.
    """

    def __init__(self, initial: "TpccServer | None" = None) -> None:
        super().__init__()
        self.database = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        self.state = State(
            self, {"threads": 1, **{name: str(value) for name, value in OPTIONS.items()}}, []
        )
        self.transactions = self.state.run("tpcc/load.lua")
        if initial:
            initial.database.backup(self.database)
            return
        for command in ("create", "fill"):
            assert self.state.lua.eval(f"sysbench.cmdline.commands.{command}[1]()"), (
                self.state.printed
            )

    def query(self, statement: str) -> Sequence[Sequence[Any]]:
        """Rows of a statement of MySQL's dialect. Cents become quarters: those add up exactly in
        binary.
        """
        for pattern, text in _DIALECT:
            statement = re.sub(pattern, text, statement)
        statement = re.sub(
            r"\b\d+\.\d\d\b", lambda found: f"{round(float(found[0]) * 4) / 4:.2f}", statement
        )
        return self.database.execute(statement).fetchall()

    def one(self, query: str) -> Any:
        """The only cell of an answer."""
        ((cell,),) = self.database.execute(query).fetchall()
        return cell

    def transact(self, name: str, *arguments: Any) -> bool:
        """Runs a transaction of TPC-C; returns whether it was committed. ``arguments``: numbers,
        text, or tables.
        """
        lua = self.state.lua
        return bool(
            lua.eval(
                """(function(transact, ...)
                   local engine = require("engine")
                   local completed, problem = pcall(transact, engine.connect(), ...)
                   if not completed and problem ~= engine.EXPECTED_ROLLBACK then error(problem) end
                   return completed
                end)(...)""",
                self.transactions[name],
                *(
                    (
                        lua.table_from(value, recursive=True)
                        if isinstance(value, (dict, list))
                        else value
                    )
                    for value in arguments
                ),
            )
        )
