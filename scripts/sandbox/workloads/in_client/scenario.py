"""The interface of a client thread's work, transaction by transaction."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sandbox.workloads.in_client.connection import Connection, Endpoint


class ExpectedRollbackError(Exception):
    """The workload rolled the transaction back on purpose; it is not retried."""


@dataclass(frozen=True)
class Job:
    """The input of a thread. ``number`` counts all threads of the load from 0; ``options`` are the workload's."""

    target: Endpoint
    number: int
    threads: int
    seed: int
    options: dict[str, Any]


class Scenario(ABC):
    """One thread's part of a load; made for each thread in its own process."""

    background: ClassVar[frozenset[str]] = frozenset()
    """Kinds of transaction that accompany the load and are not part of its results."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.options = job.options
        self.connection = Connection(job.target)
        self.random = random.Random(f"{job.seed}-{job.number}")  # noqa: S311  (data to load with, no secret)

    def open(self) -> None:
        """Connects, before the clock starts."""
        self.connection.open()

    @abstractmethod
    def draw(self) -> tuple[str, Callable[[], None]]:
        """The next transaction: its kind, and a function that runs it with the same data on each try."""

    def undo(self) -> None:
        """Rolls back after a conflict, before the next try."""
        self.connection.rollback()

    def settle(self) -> None:  # noqa: B027  (most have nothing to do here)
        """Runs after a transaction, outside its latency."""

    def close(self) -> None:
        """Runs after the last transaction, outside the measured time: leaves nothing behind but data."""
        self.connection.close()
