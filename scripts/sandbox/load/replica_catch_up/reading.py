"""A read load at the replicas, which ends when it is asked to, with its summary."""

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import Event, Outcome, Second, Session, WorkloadError, second_ends
from sandbox.load.sysbench import Sysbench
from sandbox.stack.client_python import folder_of
from sandbox.stack.protocol import StackNode

_FIRST_LIMIT_S = 60.0
_END_LIMIT_S = 20.0
_UNTIL_REMOVED = files(__package__).joinpath("until_removed.lua").read_text(encoding="utf-8")


class EndableReads(Sysbench):
    """sysbench's read-only transactions, until `end`."""

    script: str = "oltp_read_only"

    def lua_after(self, session: Session) -> list[str]:
        """Ends each thread once the script is gone."""
        return [*super().lua_after(session), _UNTIL_REMOVED]

    def end(self, session: Session) -> None:
        """Removes the script; each thread ends after the transaction that it is in."""
        session.stack.run(session.client, ["rm", "-rf", folder_of(self.wrapped(session))])


class _OverdueError(Exception):
    """Ends a load that does not end by itself."""


class Reading:
    """Reads at replicas from its creation to `stop`. Raises SandboxError (exit 4) where the client
    node fails.
    """

    def __init__(self, session: Session, replicas: Sequence[StackNode], log: Path) -> None:
        self._reads, self._log = EndableReads(), log
        hosts = ",".join(node.host for node in replicas)  # sysbench spreads its threads over a list
        entry = replace(
            session.entry,
            node=replicas[0].name,
            host=hosts,
            port=replicas[0].port or 0,
            multiplexes=False,
        )
        self._session = replace(session, entry=entry, on_event=self._note)
        self._seconds: list[tuple[float, Second]] = []
        """(when it arrived on our clock, a second)."""
        self._first, self._overdue = threading.Event(), threading.Event()
        self._outcome: Outcome | None = None
        self._failure: str | None = None
        self._reads.ship_scripts(self._session)
        self._thread = threading.Thread(target=self._run, name="reading", daemon=True)
        self._thread.start()

    def wait_for_first(self) -> None:
        """Returns when it has read for a second. Raises WorkloadError where it does not."""
        if not self._first.wait(_FIRST_LIMIT_S) or self._failure:
            raise WorkloadError(
                f"the reads at the replicas do not work: {self._failure or 'no answer'}"
            )

    def stop(self) -> None:
        """Ends it when each thread is through its transaction; harmless when repeated."""
        try:
            self._reads.end(self._session)
        finally:
            self._thread.join(_END_LIMIT_S)
            self._overdue.set()
            self._thread.join(_END_LIMIT_S)

    def tps(self, began_s: float, ended_s: float) -> float | None:
        """Transactions per second of the whole seconds in a time on our clock; None without such a
        second.

        Raises WorkloadError where it failed.
        """
        if self._failure:
            raise WorkloadError(f"the reads at the replicas failed: {self._failure}")
        timed = zip(second_ends(self._seconds), self._seconds, strict=True)
        inside = [second.tps for end_s, (_, second) in timed if began_s + 1 <= end_s <= ended_s]
        return round(statistics.mean(inside), 2) if inside else None

    @property
    def queries(self) -> int | None:
        """Statements that it has sent; None before its end."""
        return self._outcome.metrics.queries if self._outcome else None

    def _note(self, event: Event) -> None:
        if isinstance(event, Second):
            self._seconds.append((time.monotonic(), event))
            self._first.set()
            if self._overdue.is_set():
                raise _OverdueError

    def _run(self) -> None:
        try:
            self._outcome = self._reads.load(self._session, "measure", self._log)
            self._failure = self._outcome.failure
        except _OverdueError:
            self._failure = f"they did not end within {_END_LIMIT_S:g} s"
        except (SandboxError, WorkloadError, TimeoutError, OSError) as error:
            self._failure = str(error)
        self._first.set()
