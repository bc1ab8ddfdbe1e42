"""How a command runs a matrix: what it announces, and the line that shows its events."""

import sys
from collections.abc import Sequence
from functools import partial

from sandbox.cli.console import LiveLine, ProgressDisplay, second_text
from sandbox.core.paths import RESULTS
from sandbox.load.common.workload import Progress, Second
from sandbox.matrix.estimate import Estimate, estimate
from sandbox.matrix.resolve import Resolved
from sandbox.matrix.runner import Advance, MatrixEvent, MoreBlocks, start
from sandbox.record.store import ResultFolder
from sandbox.report.text import duration
from sandbox.stack.engine import Docker

_SHOWN_STEPS = ("start", "host check", "repeat")
"""The steps of a matrix's runs that are shown; the others take a moment."""


def run_resolved(resolved: Resolved, plan: Sequence[str] = ()) -> ResultFolder:
    """Runs an experiment with progress on standard error. ``plan``: printed first, instead of a title.

    Raises SandboxError as `start` does.
    """
    announced = plan or [_title(resolved)]
    with MatrixLine("matrix") as line:
        if plan:
            print("\n".join(announced), file=sys.stderr, flush=True)
        else:
            line.line(announced[0])
        return start(resolved, RESULTS, line, line.line, line.progress)


def estimated(resolved: Resolved) -> Estimate:
    """How long an experiment takes, and which result it resumes; asks the engine."""
    return estimate(resolved, RESULTS, Docker(), partial(print, file=sys.stderr))


def _title(resolved: Resolved) -> str:
    expected = estimated(resolved)
    resumes = ""
    if expected.resumes:
        resumes = "resumes {}, where {} runs are done; ".format(*expected.resumes)
    title = resolved.experiment.matrix.title
    return f"{title}; {resumes}about {duration(expected.seconds)}"


class MatrixLine(LiveLine):
    """The events of a matrix: in a terminal runs and seconds move, elsewhere each run has its own line."""

    _head = ""

    def __call__(self, event: MatrixEvent) -> None:
        """Shows one event."""
        if isinstance(event, Advance):
            left = f"  left about {duration(event.left_s)}" if event.left_s is not None else ""
            self._head = f"{event.done + 1}/{event.runs}  block {event.next.block}/{event.blocks}  {event.next.cell}"
            show = self.move if self._terminal else self.line
            show(self._head + left)
        elif isinstance(event, MoreBlocks):
            took = f"about {duration(event.seconds)}"
            self.line(f"inconclusive after {event.so_far} blocks: {event.more} more on the same stacks, {took}")
        elif isinstance(event, Second) and self._terminal:
            self.move(f"{self._head}  {second_text(event).strip()}")
        elif isinstance(event, Progress) and event.step in _SHOWN_STEPS:
            self.line(f"{event.step}  {event.text}")

    def progress(self) -> ProgressDisplay:
        """Shows a stack that starts, instead of the line that moves."""
        self.close()
        return ProgressDisplay(self._command, self._stream)
