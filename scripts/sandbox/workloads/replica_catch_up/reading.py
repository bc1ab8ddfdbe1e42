"""A read load at the replicas, which ends when it is asked to; its figures come from its one-second lines."""

import statistics
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.errors import SandboxError
from sandbox.stack.protocol import StackNode
from sandbox.workloads.common.model import Event, Second, Session, Workload, WorkloadError

_FIRST_LIMIT_S = 60.0
_END_LIMIT_S = 20.0


class _EnoughError(Exception):
    """Ends the load: it has no other end that leaves its figures."""


class Reading:
    """Runs a workload at replicas from its creation to `stop`."""

    def __init__(self, workload: Workload, session: Session, replicas: Sequence[StackNode], log: Path) -> None:
        self._workload, self._log = workload, log
        hosts = ",".join(node.host for node in replicas)  # sysbench spreads its threads over a list
        entry = replace(session.entry, node=replicas[0].name, host=hosts, port=replicas[0].port or 0, multiplexes=False)
        self._session = replace(session, entry=entry, on_event=self._note)
        self._seconds: list[tuple[float, Second]] = []
        """(our clock, the second that ended then)."""
        self._first, self._stopping = threading.Event(), threading.Event()
        self._failure: str | None = None
        self._thread = threading.Thread(target=self._run, name="reading", daemon=True)
        self._thread.start()

    def wait_for_first(self) -> None:
        """Returns when it has read for a second. Raises WorkloadError where it does not."""
        if not self._first.wait(_FIRST_LIMIT_S) or self._failure:
            raise WorkloadError(f"the reads at the replicas do not work: {self._failure or 'no answer'}")

    def stop(self) -> None:
        """Ends it within about a second; harmless when repeated."""
        self._stopping.set()
        self._thread.join(_END_LIMIT_S)

    def tps(self, began_s: float, ended_s: float) -> float | None:
        """Transactions per second of the whole seconds in a time on our clock; None without such a second.

        Raises WorkloadError where it failed.
        """
        if self._failure:
            raise WorkloadError(f"the reads at the replicas failed: {self._failure}")
        inside = [second.tps for at_s, second in self._seconds if began_s + 1 <= at_s <= ended_s]
        return round(statistics.mean(inside), 2) if inside else None

    @property
    def queries(self) -> int:
        """Statements that it has sent, without those of a last second that was cut short."""
        return round(sum(second.qps for _, second in self._seconds))

    def _note(self, event: Event) -> None:
        if isinstance(event, Second):
            self._seconds.append((time.monotonic(), event))
            self._first.set()
            if self._stopping.is_set():
                raise _EnoughError

    def _run(self) -> None:
        try:
            self._failure = self._workload.load(self._session, "measure", self._log).failure
        except _EnoughError:
            pass
        except (SandboxError, WorkloadError, TimeoutError, OSError) as error:
            self._failure = str(error)
        self._first.set()
