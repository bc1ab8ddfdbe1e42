"""Connect, one query, disconnect: as fast as possible."""

from collections.abc import Callable

from sandbox.workloads.in_client.scenario import Job, Scenario


class ConnectionStormScenario(Scenario):
    """Latency covers both the connect and the query; the disconnect comes after it."""

    def open(self) -> None:
        """Opens and closes one connection: a failure to connect shows before the clock starts."""
        self.connection.open()
        self.connection.close()

    def draw(self) -> tuple[str, Callable[[], None]]:
        return "connect", self._connect

    def _connect(self) -> None:
        self.connection.open()
        self.connection.read(self.options["query"])

    def settle(self) -> None:
        self.connection.close()

    def undo(self) -> None:
        """A single query has nothing to roll back."""


def make(job: Job) -> Scenario:
    """Every thread does the same."""
    return ConnectionStormScenario(job)
