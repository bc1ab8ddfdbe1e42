"""A small matrix on stacks without Docker: two settings by two levels, run as the tests want it."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from sandbox.core.errors import MachineError
from sandbox.load.common.registry import find_workload
from sandbox.load.common.workload import Parameters
from sandbox.matrix.cell import Cell
from sandbox.matrix.definition import Matrix
from sandbox.matrix.runner import MatrixEvent, run_matrix
from sandbox.matrix.selection import Selection, select
from sandbox.matrix.stack_pool import StackPool
from sandbox.measure import machine
from sandbox.measure.bench import BenchRequest
from sandbox.profile.plan import PlanRequest
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.stack.client_python import ask_script
from sandbox.stack.protocol import RunningStack
from unit.fake_stack import FakeStack
from unit.matrix.resolved import resolved

WORKLOADS = [Path(__file__).parents[3] / "profiles" / "workloads"]


def selection(depth: str = "slices") -> Selection:
    """Two stacks by two levels, and the canary."""
    data = {
        "name": "small",
        "title": "Small",
        "question": "Which?",
        "common": {"profile": "mysql@9.7", "workload": "oltp_write_only"},
        "factors": {"rewriter": {"off": {}, "on": {"add": "rewriter"}}, "threads": [4, 8]},
        "baseline": {"rewriter": "off"},
        "depth": depth,
    }
    return select(Matrix.model_validate(data))


def load_of(cell: Cell) -> BenchRequest:
    """The load of a cell."""
    parameters = Parameters(
        threads=cell.change.threads or 1, seconds=4, warmup_s=1, tables=2, rows_per_table=1000
    )
    return BenchRequest(find_workload("oltp_write_only", WORKLOADS), parameters)


@dataclass
class Engine:
    """Stands for the engine: stacks by name, and what was done with them."""

    done: list[str] = field(default_factory=list)
    broken: set[str] = field(default_factory=set)
    on_load: Callable[[], None] = lambda: None

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        self.done.append(f"up {name}")
        if name in self.broken:
            raise MachineError(f"{name} is not ready", "mysql1: no answer", "make logs")
        return FakeStack(name=name, profile=request.profile, on_load=lambda: self.on_load())

    def down(self, name: str) -> None:
        self.done.append(f"down {name}")


def run(
    tmp_path: Path, engine: Engine, blocks: int = 2, **changed: Any
) -> tuple[ResultFolder, list[MatrixEvent]]:
    """Runs the matrix on a host that is always the same; its result and events."""
    events: list[MatrixEvent] = []
    plan = changed.pop("selection", selection())
    check = changed.pop("host_check", lambda *_: {"cpu_turns": 1000, "fsync_ms": 1.0})
    asked = resolved(plan, load_of, blocks, **changed)
    requests = {name: PlanRequest("mysql@9.7") for name in asked.stacks}

    def ask(stack: RunningStack, client: str, package: str, script: str, request: object) -> Any:
        if script == "host_check":
            return check(stack, client, package, script, request)
        return ask_script(stack, client, package, script, request)

    with patch.object(machine, "ask_script", ask):
        result = run_matrix(
            asked, StackPool("m", requests, engine.up, engine.down), tmp_path, events.append
        )
    return result, events


def records(result: ResultFolder) -> list[Record]:
    """Every record of a result."""
    return result.records()
