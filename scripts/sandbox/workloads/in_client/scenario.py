"""The shape of what one client thread does, transaction by transaction."""

import random
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from sandbox.workloads.in_client.connection import Connection, Endpoint


class ExpectedRollbackError(Exception):
    """The transaction was rolled back because the workload says so, and is not tried again."""


@dataclass(frozen=True)
class Job:
    """What a thread is given. ``number`` counts all threads of the load from 0; ``options`` are the workload's."""

    target: Endpoint
    number: int
    threads: int
    seed: int
    options: dict[str, Any]


class Scenario(ABC):
    """One thread's part of a load; made for each thread in its own process."""

    background: ClassVar[frozenset[str]] = frozenset()
    """Kinds of transaction that accompany the load and are told apart from its figures."""

    def __init__(self, job: Job) -> None:
        self.job = job
        self.options = job.options
        self.connection = Connection(job.target)
        self.random = random.Random(f"{job.seed}-{job.number}")  # noqa: S311  (data to load with, no secret)

    def open(self) -> None:
        """Before the clock starts: connects."""
        self.connection.open()

    @abstractmethod
    def draw(self) -> tuple[str, Callable[[], None]]:
        """The next transaction: its kind, and what carries it out with the same data each time it is tried."""

    def undo(self) -> None:
        """After a conflict, before the next try."""
        self.connection.rollback()

    def settle(self) -> None:  # noqa: B027  (most have nothing to do here)
        """After a transaction, outside its latency."""

    def close(self) -> None:
        """After the last transaction, outside the measured time: leaves nothing behind that is not data."""
        self.connection.close()
