"""A runner of repros without stacks: what a repeat comes to is made up, its record is real."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

from sandbox.core.errors import MachineError, SandboxError
from sandbox.record.manifest import StartPart
from sandbox.record.record import Record
from sandbox.record.repro import ReproRecord
from sandbox.repro.definition import Repro
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.stacks import Lease, ReproStacks, WantedStack
from sandbox.repro.versions import VersionOfRepro
from sandbox.stack.engine import Docker
from unit.record.samples import sample_record


class KilledError(BaseException):
    """What a kill is to a test: nothing after it is done."""


REPRO = Repro.model_validate(
    {
        "name": "made-up",
        "title": "T",
        "question": "Q?",
        "profile": "mariadb",
        "steps": [{"s1 @mariadb1": "select 1", "name": "one"}],
        "expect": {"bug": [{"result": "one"}], "fixed": [{"result": "one", "error": 1}]},
    }
)


def cell_of(version: str, repro: Repro = REPRO, plan: str | None = None) -> ReproCell:
    """A cell that can run; its plan is as good as its name."""
    cell = ReproCell(
        repro,
        VersionOfRepro(version, f"mariadb@{version}"),
        cast("Any", SimpleNamespace(groups=())),
    )
    wanted = WantedStack(cast("Any", None), plan or version, cell.name)
    cell.__dict__["wanted"] = wanted
    return cell


@dataclass
class MadeUpStacks:
    """Stacks by the keys of their plans; ``broken``: those that do not start."""

    broken: set[str] = field(default_factory=set)
    started: list[str] = field(default_factory=list)
    begun: list[str] = field(default_factory=list)
    closed: bool = False
    kept: Lease | None = None

    def is_up(self, wanted: WantedStack) -> bool:
        return self.kept is not None and self.kept.wanted.key == wanted.key

    def begin(self, wanted: WantedStack) -> None:
        if wanted.key not in self.begun:
            self.begun.append(wanted.key)

    def lease(self, wanted: WantedStack) -> Lease | SandboxError:
        if self.kept is not None and self.is_up(wanted):
            return self.kept
        self.started.append(wanted.key)
        if wanted.key in self.broken:
            return MachineError(f"{wanted.key} does not start", "it is broken", "try: make ps")
        took = StartPart(cell=wanted.cell, profile="mariadb", up_s=3.0)
        nothing: Any = None
        self.kept = Lease("repro-0", wanted, nothing, nothing, nothing, took)
        return self.kept

    def as_new(self, lease: Lease, _fresh: bool) -> Lease:
        return lease

    def need_engine(self) -> None:
        pass

    def close(self) -> None:
        self.closed = True


@dataclass
class MadeUpRunner(ReproRunner):
    """``comes``: cell → verdict of a repeat by its number; ``killed_at``: the repeat, counted over
    all, at whose beginning it is killed.
    """

    comes: Mapping[str, Callable[[int], str]] = field(default_factory=dict)
    killed_at: int | None = None
    interrupted_at: int | None = None
    made: list[str] = field(default_factory=list)
    own_stacks: MadeUpStacks = field(default_factory=MadeUpStacks)

    def _new_stacks(self) -> ReproStacks:
        return cast("ReproStacks", self.own_stacks)

    def _carried_out(self, lease: Lease, cell: ReproCell, block: int) -> Record:
        assert lease.wanted.key == cell.wanted.key
        run = f"{cell.name}.{block}"
        if len(self.made) == self.killed_at:
            self.result.start_run(cell.name, block)
            raise KilledError
        status = "interrupted" if len(self.made) == self.interrupted_at else "ok"
        self.made.append(run)
        record = recorded(cell.name, block, self.comes[cell.variant.version](block))
        record = record.model_copy(update={"status": status})
        self.result.start_run(cell.name, block)
        self.result.save(record, frozenset())
        return record


def recorded(cell: str, block: int, verdict: str) -> Record:
    """The record of a repeat with this verdict."""
    given: Any = {"verdict": verdict, "seen": verdict, "version": "10.11.18", "seconds": 0.1}
    repro = ReproRecord(
        name="made-up", title="T", question="Q?", sha256="0", steps=[], expectations=[], **given
    )
    return sample_record(cell=cell, block=block).model_copy(update={"repro": repro})


def made_up(results: Path, **given: Any) -> MadeUpRunner:
    """A runner whose results are below a folder."""
    nothing: Any = None
    return MadeUpRunner(
        "mariadb", "made-up", results, ("sandbox", "repro"), lambda _: None, nothing,
        cast("Docker", None), **given,
    )  # fmt: skip


def die(runner: MadeUpRunner) -> None:
    """What is left of a process that was killed: its lock is free, and nothing else is done."""
    runner._open.close()
