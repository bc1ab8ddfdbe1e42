"""Batch inserts into tables with secondary indexes."""

from collections.abc import Callable
from typing import Any

from sandbox.workloads.in_client.connection import Connection, Endpoint
from sandbox.workloads.in_client.scenario import Job, Scenario

INDEXES = ("KEY device_at (device, taken_us)", "KEY tag (tag)", "KEY reading (reading)")
"""Grows at the right edge, over a thousand tags, and at random: the cost of an index depends on where it grows."""

_DEVICES = 10_000
_TAGS = 1_000
_PAYLOAD = "0123456789abcdefghijklmnopqrstuvwxyz" * 40
_COLUMNS = "device, taken_us, tag, reading, payload"


def table_name(number: int) -> str:
    """Tables count from 1."""
    return f"ingest_{number}"


def table_definition(number: int, indexes: int) -> str:
    """An empty table with the first ``indexes`` secondary indexes."""
    columns = [
        "id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY",
        "device INT NOT NULL",
        "taken_us BIGINT NOT NULL",
        "tag VARCHAR(32) NOT NULL",
        "reading DOUBLE NOT NULL",
        "payload VARCHAR(1000) NOT NULL",
        *INDEXES[:indexes],
    ]
    return f"CREATE TABLE {table_name(number)} ({', '.join(columns)}) ENGINE=InnoDB"


def prepare(target: Endpoint, options: dict[str, Any], show: Callable[[str], None]) -> None:
    """Creates the empty tables."""
    connection = Connection(target)
    connection.open()
    for number in range(1, options["tables"] + 1):
        connection.other(table_definition(number, options["indexes"]))
    show(f"created {options['tables']} empty tables")
    connection.close()


class IngestScenario(Scenario):
    """A thread inserts into one table; where there are fewer tables than threads, they share."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._table = table_name(job.number % self.options["tables"] + 1)
        self._taken_us = 1_700_000_000_000_000 + job.number

    def draw(self) -> tuple[str, Callable[[], None]]:
        statement = self._statement()
        return "batch", lambda: self._insert(statement)

    def _insert(self, statement: str) -> None:
        self.connection.write(statement)

    def undo(self) -> None:
        """The server has already rolled a single statement back."""

    def _statement(self) -> str:
        """One batch. Nothing in it needs quoting."""
        rows = ",".join(self._row() for _ in range(self.options["batch_rows"]))
        return f"INSERT INTO {self._table} ({_COLUMNS}) VALUES {rows}"  # noqa: S608  (all of it is made here)

    def _row(self) -> str:
        draw = self.random.random
        self._taken_us += 1_000
        start = int(draw() * 36)
        payload = _PAYLOAD[start : start + self.options["payload_bytes"]]
        return f"({int(draw() * _DEVICES)},{self._taken_us},'tag-{int(draw() * _TAGS)}',{draw():.9f},'{payload}')"


def make(job: Job) -> Scenario:
    """Every thread does the same."""
    return IngestScenario(job)
