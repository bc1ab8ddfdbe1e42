"""No load at all: shows what the servers do on their own."""

import time
from pathlib import Path

from sandbox.load.common.workload import Outcome, Phase, Progress, Session, Workload
from sandbox.record.record import Metrics, PreparationRecord
from sandbox.stack.client_python import run_load


class Noop(Workload):
    """Has no options."""

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:  # noqa: ARG002  (the shape of a workload)
        """Needs no data."""
        return None

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        """Sleeps in the client node, where a load would run; there are no results."""
        seconds = session.parameters.seconds_of(phase)
        argv = ("sleep", str(seconds))
        began = time.monotonic()
        code = run_load(session.stack, session.client, argv, seconds, log, lambda _: None)
        session.on_event(Progress("load", f"idle for {time.monotonic() - began:.0f} s"))
        failure = f"sleep ended with exit code {code}" if code else None
        return Outcome(
            argv, Metrics(errors=0, errors_by_code={}, conflicts=0, conflicts_by_code={}), failure
        )
