"""Runs a resolved experiment: its data, its stacks, its blocks. Any error that ends it says how to resume."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError
from sandbox.experiment.dataset import DatasetMaker
from sandbox.experiment.pool import StackPool, StackStarter
from sandbox.experiment.resolve import Resolved
from sandbox.experiment.runner import Advance, MatrixEvent, run_matrix
from sandbox.results.store import ResultFolder
from sandbox.stack.engine import Docker
from sandbox.stack.locks import LOCK_PATIENCE_S, locked
from sandbox.stack.protocol import OnEvent
from sandbox.stack.snapshots.background import measuring


class _MatrixProgress:
    """Passes events on, and keeps track of the matrix's progress."""

    def __init__(self, on_event: Callable[[MatrixEvent], None]) -> None:
        self.on_event = on_event
        self.done = self.runs = 0

    def __call__(self, event: MatrixEvent) -> None:
        if isinstance(event, Advance):
            self.done, self.runs = event.done, event.runs
        self.on_event(event)

    @property
    def interrupted(self) -> SandboxError:
        return SandboxError(
            f"interrupted after {self.done} of {self.runs} runs" if self.runs else "interrupted before the first run",
            "every run that ended is saved, and every stack of the matrix is removed",
            "try: the same command again   (it resumes from there)",
            ExitCode.INTERRUPTED,
        )


def start(
    resolved: Resolved,
    results: Path,
    on_event: Callable[[MatrixEvent], None],
    note: Callable[[str], None],
    progress: Callable[[], AbstractContextManager[OnEvent]],
) -> ResultFolder:
    """Runs the experiment on its own stacks. ``note``: shows a line that stays; ``progress``: shows a starting stack.

    Raises SandboxError: exit 130 on Ctrl-C, exit 4 if the environment ended it, with the number of saved runs.
    """
    docker, at = Docker(), _MatrixProgress(on_event)
    prefix = f"matrix-{resolved.experiment.key[:6]}"
    starter = StackStarter(progress, docker)
    pool = StackPool(prefix, resolved.stacks, starter.up, starter.down)
    wait = "another command is running the same matrix; waiting for it"
    try:
        with locked(f"matrix-{resolved.experiment.key}", lambda: note(wait), LOCK_PATIENCE_S), measuring(note):
            maker = DatasetMaker(f"{prefix}-data", at, note, progress, docker)
            starter.begin_alike(resolved.runnable_stacks, maker)
            return run_matrix(resolved, pool, results, at)
    except KeyboardInterrupt:
        raise at.interrupted from None
    except SandboxError as error:
        if error.exit_code is ExitCode.INTERRUPTED:
            raise at.interrupted from None  # while a stack was starting, whose error knows only that stack
        if error.exit_code is ExitCode.ENVIRONMENT and at.runs:
            known = f"{error.known}; {at.done} of {at.runs} runs are saved"
            goes_on = "" if resolved.gate else " (it resumes from there)"
            after = f"{error.next_step}; then the same command again{goes_on}"
            raise SandboxError(error.what, known, after, ExitCode.ENVIRONMENT) from error
        raise
