"""The load beside the prober of a trial: an open-loop rate, started again whenever a lost
connection has ended it.

Without a proxy it goes to another server then, as the prober does.
"""

import csv
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from sandbox.core.errors import SandboxError
from sandbox.load.common.workload import Event, Second, WorkloadError, second_ends
from sandbox.measure.run import RunEndedError, writer_for
from sandbox.measure.trial.run import TrialRun
from sandbox.record.record import Metrics
from sandbox.stack.protocol import RunningStack, Stream

CAPACITY_S = 10
SHARE = 0.5
"""Of what the stack reached in ten seconds: a load that leaves room for what a failover costs."""
NICENESS = 10
"""The load gives way to the prober, which shares its processors and must be in time."""
_ONE_START_S = 3600
_PAUSES_S = (0.1, 0.2, 0.5, 1.0)
"""Before another start, as long as starts fail at once; never longer, or the load would hide that
the stack is back.
"""
_END_LIMIT_S = 15.0


class NicedStack:
    """The run's stack for what runs beside the prober: it gives way, and ends when the trial needs
    it to.
    """

    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack
        self._guard = threading.Lock()
        self._stream: Stream | None = None
        self._ended = False

    def __getattr__(self, name: str) -> Any:
        """All else is the stack's."""
        return getattr(self._stack, name)

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        """Starts a command with a lower priority; once `end` was called, it ends at once."""
        stream = self._stack.stream(node, ["nice", "-n", str(NICENESS), *argv])
        with self._guard:
            self._stream = stream
            if self._ended:
                stream.close_stdin()
        return stream

    def as_stack(self) -> RunningStack:
        """This stack, to which `__getattr__` gives all that a running one has."""
        return cast("RunningStack", self)

    def end(self) -> None:
        """Ends the command that runs, and each that starts from now on: a load ends with its
        input.
        """
        with self._guard:
            self._ended = True
            if self._stream is not None:
                self._stream.close_stdin()


def giving_way(stack: RunningStack) -> RunningStack:
    """The stack for what runs beside the prober at a lower priority."""
    return NicedStack(stack).as_stack()


class TrialLoad:
    """The run's workload at half of what the stack reaches, until `stop`."""

    def __init__(self, run: TrialRun) -> None:
        """Measures what the stack reaches. Raises RunEndedError where the load fails already."""
        self._run = run
        self._stopped = threading.Event()
        self._stack = NicedStack(run.stack)
        self._entry = run.session.entry
        group = run.servers_of_group
        self._servers = group if self._entry.node in {node.name for node in group} else []
        """Where a load without a proxy can go; none for one through a proxy."""
        self._starts: list[list[tuple[float, Second]]] = []
        """By start: (when it arrived on our monotonic clock, s; a second)."""
        self.starts = 0
        self.rate_per_s: int | None = None
        tps = self._capacity()
        if "rate_per_s" in run.workload.uses:
            self.rate_per_s = max(1, round(SHARE * tps))
        self._thread = threading.Thread(target=self._keep_up, name="load", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Ends it; harmless when repeated."""
        self._stopped.set()
        self._stack.end()
        self._thread.join(_END_LIMIT_S)

    def save(self, path: Path, prober_us: Callable[[int], float]) -> None:
        """Its seconds, measuring the capacity included: the end of each on the prober's clock, ms,
        and its tps.
        """
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(("t_ms", "tps"))
            for seconds in map(tuple, self._starts):
                for end_s, (_, second) in zip(second_ends(seconds), seconds, strict=True):
                    writer.writerow((round(prober_us(round(end_s * 1e9)) / 1000), second.tps))

    def _capacity(self) -> float:
        metrics, failure = self._once(CAPACITY_S, None, "capacity_log", "capacity.log")
        if failure or not metrics.tps:
            raise RunEndedError(
                "failed", f"the load does not work before any fault: {failure or 'no transaction'}"
            )
        return metrics.tps

    def _once(
        self, seconds: int, rate: int | None, word: str, name: str
    ) -> tuple[Metrics, str | None]:
        """One start of the workload: its metrics, and why it failed."""
        run = self._run
        self._starts.append([])
        given = {"seconds": seconds, "warmup_s": 0, "rate_per_s": rate}
        session = replace(
            run.session,
            entry=self._entry,
            stack=self._stack.as_stack(),
            parameters=run.session.parameters.model_copy(update=given),
            on_event=self._note,
        )
        try:
            outcome = run.workload.load(session, "measure", run.keep(word, name))
        except SandboxError as error:
            return Metrics(), f"{error.what}: {error.known}"
        except (WorkloadError, TimeoutError, OSError) as error:
            return Metrics(), str(error)
        return outcome.metrics, outcome.failure

    def _move(self) -> None:
        """To the writer as it is now; where there is none just then, the server stays the same."""
        if self._servers:
            with suppress(SandboxError):
                stack = self._run.stack
                self._entry = writer_for(self._entry, self._servers, stack.roles(), stack.name)

    def _note(self, event: Event) -> None:
        if isinstance(event, Second):
            self._starts[-1].append((time.monotonic(), event))

    def _keep_up(self) -> None:
        failures = 0
        while not self._stopped.is_set():
            if self.starts:
                self._move()
            self.starts += 1
            began = time.monotonic()
            self._once(_ONE_START_S, self.rate_per_s, "load_log", "load.log")
            failures = failures + 1 if time.monotonic() - began < 1 else 0
            self._stopped.wait(_PAUSES_S[min(failures, len(_PAUSES_S) - 1)])
