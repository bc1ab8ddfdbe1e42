"""TPC-C's tables in memory: SQLite answers the statements of its transactions, so that their sums can be checked."""

import re
import sqlite3
from datetime import datetime
from decimal import Decimal
from typing import Any

from sandbox.workloads.in_client.tpcc_data import HISTORY_COLUMNS, Maker, units_of
from sandbox.workloads.in_client.tpcc_schema import TABLES

CUSTOMERS, ITEMS = 30, 100


_COLUMN = re.compile(r"(?:^|,)\s*([a-z]\w*) (?:INT|TINYINT|SMALLINT|BIGINT|VARCHAR|CHAR|DECIMAL|DATETIME)")


def columns_of(table: str) -> list[str]:
    """Names of a table's columns, in order."""
    return _COLUMN.findall(TABLES[table])


class SqliteConnection:
    """What the transactions take for their connection."""

    def __init__(self, warehouses: int) -> None:
        self.database = sqlite3.connect(":memory:", isolation_level=None)
        for table in TABLES:
            columns = columns_of(table)
            if table == "history":
                columns[0] += " INTEGER PRIMARY KEY"
            self.database.execute(f"CREATE TABLE tpcc_{table} ({', '.join(columns)})")
        for unit in units_of(warehouses, ITEMS):
            for table, rows in Maker(unit, CUSTOMERS, ITEMS).tables():
                for row in rows:
                    marks = ", ".join("?" * len(row))
                    into = f"tpcc_{table} ({HISTORY_COLUMNS})" if table == "history" else f"tpcc_{table}"
                    self.database.execute(f"INSERT INTO {into} VALUES ({marks})", [_plain(value) for value in row])

    def read(self, statement: str, values: tuple[Any, ...] | None = None) -> tuple[tuple[Any, ...], ...]:
        text = statement.replace("%s", "?").replace(" FOR UPDATE", "")
        rows = self.database.execute(text, [_plain(value) for value in values or ()]).fetchall()
        # Money comes back as decimals from a server.
        return tuple(tuple(Decimal(str(cell)) if isinstance(cell, float) else cell for cell in row) for row in rows)

    def write(self, statement: str, values: tuple[Any, ...] | None = None) -> int:
        text = statement.replace("%s", "?")
        return self.database.execute(text, [_plain(value) for value in values or ()]).rowcount

    def begin(self) -> None:
        self.database.execute("BEGIN")

    def commit(self) -> None:
        self.database.execute("COMMIT")

    def rollback(self) -> None:
        self.database.execute("ROLLBACK")

    def one(self, query: str) -> Any:
        """The only cell of an answer."""
        ((cell,),) = self.database.execute(query).fetchall()
        return cell


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return round(float(value) * 4) / 4  # quarters add up exactly in binary, cents do not
    return str(value) if isinstance(value, datetime) else value
