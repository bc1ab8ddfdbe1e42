"""Concurrent CREATE, fill, ALTER and DROP TABLE; accompanying threads read and write a table of their own."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, ClassVar

from sandbox.workloads.in_client.connection import Connection, Endpoint
from sandbox.workloads.in_client.scenario import Job, Scenario

LOAD_TABLE = "ddl_load"
_BATCH = 1000
_ALTERATIONS = ("ADD COLUMN noted INT NOT NULL DEFAULT 0", "ADD INDEX filler (filler)")
"""One that newer servers do instantly, and one that reads every row."""


def prepare(target: Endpoint, options: dict[str, Any], show: Callable[[str], None]) -> None:
    """Makes the table that the accompanying threads work on."""
    connection = Connection(target)
    connection.open()
    connection.other(_definition(LOAD_TABLE))
    rows = options["load_rows"]
    for first in range(1, rows + 1, _BATCH):
        _fill(connection, LOAD_TABLE, range(first, min(rows, first + _BATCH - 1) + 1))
    show(f"created {LOAD_TABLE} with {rows} rows")
    connection.close()


def _definition(table: str) -> str:
    columns = "id INT NOT NULL PRIMARY KEY, amount INT NOT NULL, filler VARCHAR(100) NOT NULL, KEY amount (amount)"
    return f"CREATE TABLE {table} ({columns}) ENGINE=InnoDB"


def _fill(connection: Connection, table: str, ids: range) -> None:
    rows = ",".join(f"({number},{number},'filler-{number:08d}')" for number in ids)
    connection.write(f"INSERT INTO {table} VALUES {rows}")  # noqa: S608  (all of it is made here)


class Definitions(Scenario):
    """A thread's own tables: all created and filled, each altered, then all dropped; a statement is a transaction."""

    background: ClassVar[frozenset[str]] = frozenset({"fill"})

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._prefix = f"ddl_t{job.number}_"
        self._names = [f"{self._prefix}{place}" for place in range(self.options["tables_per_thread"])]
        self._steps = self._endless()
        self._there: set[str] = set()

    def open(self) -> None:
        """Drops the leftovers of a killed load first: their names are the same."""
        super().open()
        pattern = self._prefix.replace("_", r"\_") + "%"
        for (name,) in self.connection.read("SHOW TABLES LIKE %s", (pattern,)):
            self.connection.other(f"DROP TABLE {name}")

    def draw(self) -> tuple[str, Callable[[], None]]:
        return next(self._steps)

    def _endless(self) -> Iterator[tuple[str, Callable[[], None]]]:
        rows = range(1, self.options["table_rows"] + 1)
        while True:
            for name in self._names:
                yield "create", partial(self._create, name)
                if rows:
                    yield "fill", partial(_fill, self.connection, name, rows)
            for name in self._names if self.options["alter"] else []:
                for change in _ALTERATIONS:
                    yield "alter", partial(self.connection.other, f"ALTER TABLE {name} {change}")
            for name in self._names:
                yield "drop", partial(self._drop, name)

    def _create(self, name: str) -> None:
        self.connection.other(_definition(name))
        self._there.add(name)

    def _drop(self, name: str) -> None:
        self.connection.other(f"DROP TABLE {name}")
        self._there.discard(name)

    def undo(self) -> None:
        """A failed DDL statement leaves nothing behind."""

    def close(self) -> None:
        """Drops the remaining tables."""
        for name in sorted(self._there):
            self._drop(name)
        super().close()


class ReadsAndWrites(Scenario):
    """The accompanying load: reads and updates single rows by turns, by primary key."""

    background: ClassVar[frozenset[str]] = frozenset({"read", "write"})

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._turn = 0

    def draw(self) -> tuple[str, Callable[[], None]]:
        number = self.random.randint(1, self.options["load_rows"])
        self._turn += 1
        if self._turn % 2:
            return "read", lambda: self._read(number)
        return "write", lambda: self._write(number)

    def _read(self, number: int) -> None:
        self.connection.read(f"SELECT amount, filler FROM {LOAD_TABLE} WHERE id = %s", (number,))  # noqa: S608

    def _write(self, number: int) -> None:
        self.connection.write(f"UPDATE {LOAD_TABLE} SET amount = amount + 1 WHERE id = %s", (number,))  # noqa: S608

    def undo(self) -> None:
        """The server has already rolled a single statement back."""


def make(job: Job) -> Scenario:
    """Threads beyond those requested run the accompanying load."""
    return Definitions(job) if job.number < job.threads else ReadsAndWrites(job)
