"""Connect, one query, disconnect: as fast as it goes."""

from collections.abc import Callable

from sandbox.workloads.in_client.scenario import Job, Scenario


class ConnectionStormScenario(Scenario):
    """Latency is that of connecting and of the query; hanging up comes after it."""

    def open(self) -> None:
        """One connection that is thrown away: what cannot connect says so before the clock starts."""
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
        """A query that stands alone has nothing to take back."""


def make(job: Job) -> Scenario:
    """Every thread does the same."""
    return ConnectionStormScenario(job)
