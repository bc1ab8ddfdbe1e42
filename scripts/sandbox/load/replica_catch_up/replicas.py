"""The replicas of a catch-up: appliers stopped and started again, and a read load meanwhile."""

import json
import statistics
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import Event, Outcome, Second, Session, WorkloadError, second_ends
from sandbox.load.sysbench import Sysbench
from sandbox.stack.client_python import end_stream, folder_of, script_argv, targets_of
from sandbox.stack.protocol import StackNode

_APPLIERS_END_LIMIT_S = 70.0
"""Longer than a statement may take there: a replica that is slow to answer must run again, too."""
_FIRST_LIMIT_S = 60.0
_READS_END_LIMIT_S = 20.0
_UNTIL_REMOVED = files(__package__).joinpath("until_removed.lua").read_text(encoding="utf-8")


class StoppedAppliers:
    """The appliers of these replicas, stopped on entry of its ``with`` block, running again on its
    exit.
    """

    def __init__(self, session: Session, replicas: Sequence[StackNode], log: Path) -> None:
        targets = targets_of(replicas)
        self._names = {target.name for target in targets}
        self._log = log
        argv = script_argv(
            __package__, "in_client_applier", json.dumps([target.login for target in targets])
        )
        self._stream = session.stack.stream(session.client, argv)
        self._lines = self._stream.lines()

    def __enter__(self) -> "StoppedAppliers":
        try:
            self._answer("stopped")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def wait_until_received(self, held: str, limit_s: float) -> None:
        """Returns when every relay log has this GTID set or position of the source. Raises
        WorkloadError.
        """
        self._stream.send(json.dumps({"held": held, "limit_s": limit_s}))
        self._answer("received")

    def start(self, limit_s: float, on_wait: Callable[[str, float], None]) -> dict[str, float]:
        """Starts all of them; seconds until each has applied what it has received. Raises
        WorkloadError.

        ``on_wait``: gets the name of a replica that has not caught up yet, and seconds since the
        start.
        """
        self._stream.send(json.dumps({"limit_s": limit_s}))
        took: dict[str, float] = {}
        while took.keys() < self._names:
            answer = self._answer("node")
            if "caught_up_s" in answer:
                took[answer["node"]] = answer["caught_up_s"]
            else:
                on_wait(answer["node"], answer["still_s"])
        return took

    def _answer(self, wanted: str) -> Mapping[str, Any]:
        """The next answer that has this key. Raises WorkloadError for an error, and where the
        script has ended.
        """
        last = "it printed nothing"
        for line in self._lines:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            try:
                answer = json.loads(line)
            except json.JSONDecodeError:  # a complaint of Python's
                last = line.strip() or last
                continue
            if "error" in answer:
                raise WorkloadError(f"the appliers: {answer['error']}")
            if wanted in answer:
                found: Mapping[str, Any] = answer
                return found
        raise WorkloadError(f"the appliers could not be watched: {last}")

    def _end(self) -> None:
        end_stream(self._stream, _APPLIERS_END_LIMIT_S)


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
        self._reads = EndableReads()
        self._log = log
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
        self._first = threading.Event()
        self._overdue = threading.Event()
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
            self._thread.join(_READS_END_LIMIT_S)
            self._overdue.set()
            self._thread.join(_READS_END_LIMIT_S)

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
            self._failure = f"they did not end within {_READS_END_LIMIT_S:g} s"
        except (SandboxError, WorkloadError, TimeoutError, OSError) as error:
            self._failure = str(error)
        self._first.set()
