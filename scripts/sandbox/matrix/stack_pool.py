"""The stacks of a matrix: brought up when first needed, discarded when they break, removed at the
end.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sandbox.core.errors import SandboxError, states
from sandbox.matrix.dataset import DatasetMaker, first_start
from sandbox.matrix.resolved import StackSpec
from sandbox.measure.execute import save_logs
from sandbox.measure.trial.drivers import IMAGE as DRIVERS_IMAGE
from sandbox.profile.plan import Plan
from sandbox.record.record import Record
from sandbox.stack.beside import supply_beside
from sandbox.stack.engine import Docker
from sandbox.stack.lifecycle import down
from sandbox.stack.planning import planned_base_directories
from sandbox.stack.protocol import OnEvent, RunningStack
from sandbox.stack.readiness import NotReadyError
from sandbox.stack.snapshots.restore import usable_base_directories
from sandbox.stack.up import UpOptions, up

MOST_FAILURES = 3
_DEATH_S = 2.0


@dataclass
class StackPool:
    """Stacks by their names in the matrix; on the engine one is called ``<prefix>-<name>``.

    ``requests``: what ``bring_up`` makes each from.
    """

    prefix: str
    requests: Mapping[str, Any]
    bring_up: Callable[[str, Any], RunningStack]
    take_down: Callable[[str], None]
    _up: dict[str, RunningStack] = field(default_factory=dict)
    _on_engine: set[str] = field(default_factory=set)
    """Stacks that are up, that failed to start, and that could not be removed."""
    _failures: dict[str, list[SandboxError]] = field(default_factory=dict)

    def clear(self) -> None:
        """Removes what a killed matrix has left; its state is unknown."""
        for name in self.requests:
            self.take_down(f"{self.prefix}-{name}")

    def need_engine(self) -> None:
        """Raises SandboxError if the engine does not answer: it is asked to remove a stack that
        never existed.
        """
        self.take_down(f"{self.prefix}-none")

    def ready(self, name: str) -> RunningStack:
        """A stack, ready. Raises SandboxError if it cannot be brought up; after the third failure
        in a row at once.

        An engine that does not answer is not a failure of the stack.
        """
        failures = self._failures.setdefault(name, [])
        if len(failures) >= MOST_FAILURES:
            raise failures[-1]
        if name not in self._up:
            self.discard(name)  # what could not be removed would be taken for the new one
            self._on_engine.add(name)
            try:
                self._up[name] = self.bring_up(f"{self.prefix}-{name}", self.requests[name])
            except SandboxError as error:
                self.need_engine()
                failures.append(error)
                self.discard(name)
                raise
            failures.clear()
        return self._up[name]

    def discard(self, name: str) -> None:
        """Removes a stack, or what is left of it; the next run brings up a new one."""
        self._up.pop(name, None)
        if name in self._on_engine:
            self.take_down(f"{self.prefix}-{name}")
            self._on_engine.remove(name)

    def discard_all(self) -> None:
        """Removes every stack that may be on the engine, all at once."""
        names = list(self._on_engine)
        with ThreadPoolExecutor(max_workers=max(1, len(names))) as pool:
            for _ in pool.map(self.discard, names):
                pass  # raises what a removal raised


@dataclass
class StackStarter:
    """Starts the stacks of a matrix, as far as possible in one way, so that they differ only as
    asked for.

    From kept data if possible, else all from base data directories, or all from scratch.
    ``progress``: shows a start.
    """

    progress: Callable[[], AbstractContextManager[OnEvent]]
    docker: Docker
    _restored: set[str] = field(default_factory=set)
    _bases: Mapping[str, Mapping[str, Plan]] = field(default_factory=dict)

    def begin_alike(self, stacks: Sequence[StackSpec], maker: DatasetMaker) -> None:
        """Makes the data that they start from. ``stacks``: all that can run here."""
        plans = {stack.name: stack.plan for stack in stacks if stack.plan}
        wanted = [stack for stack in stacks if stack.name in plans]
        datasets = {stack.name: stack.dataset for stack in wanted if stack.dataset}
        if maker.make_all(datasets.values()):
            self._restored = set(datasets)
        if not self._restored:
            self._bases = self._usable_bases(plans)
        alone = sorted({stack.request.profile for stack in wanted if not stack.dataset})
        if alone:
            maker.note(
                f"cannot be restored, so started from scratch with its own data: {', '.join(alone)}"
            )

    def _usable_bases(self, plans: Mapping[str, Plan]) -> Mapping[str, Mapping[str, Plan]]:
        """The base data directories of each stack; none if this machine lacks any of them: then
        every stack starts from scratch, so that all start alike.
        """
        bases = {name: planned_base_directories(plan) for name, plan in plans.items()}
        for of_stack in bases.values():
            if not usable_base_directories(self.docker, of_stack):
                return {}
        return bases

    def supply_driver(self, wanted: bool) -> None:
        """Puts the image of the drivers on the engine, before the first of them is wanted."""
        if wanted:
            with self.progress() as progress:
                supply_beside(DRIVERS_IMAGE, progress, self.docker)

    def up(self, name: str, stack: StackSpec) -> RunningStack:
        """A stack, ready."""
        if stack.name in self._bases:
            options = first_start(name, self._bases[stack.name])
        elif stack.dataset and stack.name in self._restored:
            options = UpOptions(name, restore=True, snapshot_key=stack.dataset.key)
        else:
            options = UpOptions(name, restore=False, snapshot_key=None)
        assert stack.plan  # noqa: S101  (a stack that cannot be planned has no run)
        with self.progress() as progress:
            return up(stack.plan, options, progress, self.docker).stack

    def down(self, name: str) -> None:
        """Removes a stack, or its leftovers."""
        down(name, lambda _: None, self.docker)


def is_broken(record: Record) -> bool:
    """Whether a run leaves its stack unusable; a condition that was not met, with all nodes alive,
    does not.
    """
    alive = any(check.name == "nodes_alive" and check.verdict == "pass" for check in record.checks)
    return record.status == "infra_error" and not alive


def dead_soon(stack: RunningStack) -> Mapping[str, str]:
    """The dead nodes; the engine notices a death a moment after the server stops answering."""
    end = time.monotonic() + _DEATH_S
    while True:
        dead = stack.dead_nodes()
        if dead or time.monotonic() >= end:
            return dead
        time.sleep(0.1)


def death_message(dead: Mapping[str, str]) -> str:
    """The dead nodes, each with its state; empty if all run."""
    return f"died between two runs: {states(dead)}" if dead else ""


def logs_of(stack: RunningStack, folder: Path) -> dict[str, str]:
    """Keeps the log of every node in a run's folder; returns their entries in the record's list of
    files.

    Nothing is kept if the passwords, which a log might contain, are unavailable.
    """
    files: dict[str, str] = {}
    try:
        secrets = stack.secrets()
        nodes = stack.nodes()
    except (SandboxError, TimeoutError):
        return files
    save_logs(stack, nodes, secrets, folder, files)
    return files


def log_of_failed_start(error: NotReadyError, folder: Path) -> dict[str, str]:
    """Keeps the log of the node that did not get ready; returns its entry in the record's list of
    files.
    """
    file = f"logs/{error.node}.log"
    (folder / "logs").mkdir()
    (folder / file).write_text("\n".join(error.log) + "\n", encoding="utf-8")
    return {f"log_{error.node}": file}
