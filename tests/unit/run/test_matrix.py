"""A matrix from start to end on stacks without Docker: complete, resumed, interrupted, broken."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.experiment import Experiment, make_experiment
from sandbox.plan.matrix import Cell, Matrix
from sandbox.plan.model import PlanRequest
from sandbox.results.observe import observations
from sandbox.results.record import Record
from sandbox.results.store import ResultFolder
from sandbox.run import matrix as module
from sandbox.run.arms import Arms
from sandbox.run.matrix import Advance, MatrixEvent, run_matrix
from sandbox.run.matrix_result import MatrixRequest
from sandbox.run.schedule import arms, schedule
from sandbox.run.state import BenchRequest
from sandbox.stack.protocol import RunningStack
from sandbox.stack.refusals import NotReadyError
from sandbox.workloads.common.model import Parameters
from sandbox.workloads.common.registry import find_workload
from unit.fake_stack import FakeStack

WORKLOADS = Path(__file__).parents[3] / "profiles" / "workloads"


def experiment(depth: str = "slices") -> Experiment:
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
    return make_experiment(Matrix.model_validate(data))


def bench_of(cell: Cell) -> BenchRequest:
    """The load of a cell."""
    parameters = Parameters(threads=cell.change.threads or 1, seconds=4, warmup_s=1, tables=2, rows_per_table=1000)
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
            raise SandboxError(f"{name} is not ready", "mysql1: no answer", "make logs", ExitCode.ENVIRONMENT)
        return FakeStack(name=name, profile=request.profile, on_load=lambda: self.on_load())

    def down(self, name: str) -> None:
        self.done.append(f"down {name}")


@pytest.fixture(autouse=True)
def _a_host_that_is_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ask_script", lambda *_: {"cpu_turns": 1000, "fsync_ms": 1.0})


def run(tmp_path: Path, engine: Engine, blocks: int = 2, **changed: Any) -> tuple[ResultFolder, list[MatrixEvent]]:
    """Runs the matrix; its result and events."""
    events: list[MatrixEvent] = []
    plan = changed.pop("experiment", experiment())
    given = {"skipped": {}, "host_class": "here", "seed": None, **changed}
    requests = {arm: PlanRequest("mysql@9.7") for arm in [*arms(plan).values(), "canary"]}
    request = MatrixRequest(plan, blocks, bench_of=bench_of, **given)
    result = run_matrix(request, Arms("m", requests, engine.up, engine.down), tmp_path, events.append)
    return result, events


def records(result: ResultFolder) -> list[Record]:
    """Every record of a result."""
    return [result.record(*_split(entry.run)) for entry in result.manifest.runs]


def _split(run: str) -> tuple[str, int]:
    cell, _, block = run.rpartition(".")
    return cell, int(block)


def test_every_cell_of_every_block_leaves_a_record(tmp_path: Path) -> None:
    result, events = run(tmp_path, Engine())
    assert len(result.manifest.runs) == 2 * 5 and result.manifest.ended_utc
    assert {record.status for record in records(result)} == {"ok"}
    assert {record.cell for record in records(result)} == {
        "canary", "rewriter-off.threads-4", "rewriter-off.threads-8", "rewriter-on.threads-4", "rewriter-on.threads-8",
    }  # fmt: skip
    advances = [event for event in events if isinstance(event, Advance)]
    assert [event.done for event in advances] == list(range(10)) and advances[-1].runs == 10
    assert (tmp_path / "latest").resolve() == result.path


def test_arms_of_a_block_draw_the_same_rows_and_blocks_others(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Engine())
    seeds = {block: {r.seed for r in records(result) if r.block == block} for block in (1, 2)}
    assert all(len(each) == 1 for each in seeds.values()) and seeds[1] != seeds[2]


def test_the_machine_is_looked_at_before_each_block(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Engine())
    assert result.manifest.matrix and [check.block for check in result.manifest.matrix.host_checks] == [1, 2]


def test_slices_keep_all_stacks_up_and_nothing_is_left(tmp_path: Path) -> None:
    engine = Engine()
    run(tmp_path, engine)
    ups = [each for each in engine.done if each.startswith("up")]
    assert sorted(ups) == ["up m-arm1", "up m-arm2", "up m-canary"]
    assert sorted(engine.done[-3:]) == ["down m-arm1", "down m-arm2", "down m-canary"]


def test_restart_blocks_start_each_stack_anew_and_alone(tmp_path: Path) -> None:
    engine = Engine()
    run(tmp_path, engine, experiment=experiment("restart"))
    after_clearing = engine.done[3:]
    assert len(after_clearing) == 2 * 3 * 2
    assert [each.split()[0] for each in after_clearing] == ["up", "down"] * 6


def test_an_interrupted_matrix_goes_on_where_it_stopped(tmp_path: Path) -> None:
    engine, loads = Engine(), []

    def interrupt_in_the_fourth_run() -> None:
        loads.append(1)
        if len(loads) == 8:  # each run loads twice: warm-up and measured
            raise KeyboardInterrupt

    engine.on_load = interrupt_in_the_fourth_run
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, engine)
    (unfinished,) = tmp_path.glob("2*")
    statuses = [entry.status for entry in ResultFolder(unfinished).manifest.runs]
    assert statuses == ["ok", "ok", "ok", "interrupted"]
    assert engine.done[-1].startswith("down")

    engine.on_load = lambda: None
    result, events = run(tmp_path, engine)
    assert result.path == unfinished
    assert [event.done for event in events if isinstance(event, Advance)] == list(range(3, 10))
    assert {record.status for record in records(result)} == {"ok"} and len(records(result)) == 10


def test_another_plan_another_host_or_new_begins_afresh(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    for changed in ({}, {"host_class": "there"}, {"experiment": experiment("restart")}, {"blocks": 3}, {"seed": 5}):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, Engine(on_load=interrupt), **changed)
    assert len(list(tmp_path.glob("2*"))) == 5
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Engine(on_load=interrupt), afresh=True)
    assert len(list(tmp_path.glob("2*"))) == 6


def test_a_result_of_another_version_of_this_tool_is_passed_over(tmp_path: Path) -> None:
    foreign = tmp_path / "29990101T000000Z-matrix-small"
    foreign.mkdir()
    (foreign / "manifest.json").write_text('{"schema_version": 9}')
    result, _ = run(tmp_path, Engine(), blocks=1)
    assert result.path != foreign and result.manifest.ended_utc


def test_a_cell_that_cannot_run_is_skipped_with_the_reason(tmp_path: Path) -> None:
    skipped = {f"rewriter-on.threads-{threads}": "no image" for threads in (4, 8)}
    engine = Engine()
    result, _ = run(tmp_path, engine, skipped=skipped)
    assert len(records(result)) == 2 * 3 and "up m-arm2" not in engine.done
    assert result.manifest.matrix
    assert {cell.name: cell.skipped for cell in result.manifest.matrix.cells if cell.skipped} == skipped


def test_a_stack_that_does_not_come_up_is_no_result_and_the_rest_goes_on(tmp_path: Path) -> None:
    engine = Engine(broken={"m-arm2"})
    result, _ = run(tmp_path, engine)
    by_status = {(record.cell.split(".")[0], record.status) for record in records(result)}
    assert by_status == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "infra_error")}
    assert "is not ready" in next(r.reason or "" for r in records(result) if r.status == "infra_error")
    assert engine.done.count("up m-arm2") == 3, "given up after the third time"


def test_arms_that_differ_in_what_nobody_asked_for_fail(tmp_path: Path) -> None:
    """The fake's servers say innodb_flush_log_at_trx_commit=1 in every arm."""

    class Unlike(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = FakeStack(name=name, profile=request.profile)
            if name.endswith("arm2"):
                stack.variables["innodb_flush_log_at_trx_commit"] = "2"
            return stack

    name = "innodb_flush_log_at_trx_commit"
    alike = {arm: {name: "1"} for arm in ("arm1", "arm2", "canary")}
    result, _ = run(tmp_path / "alike", Unlike(), blocks=3, planned=alike)
    statuses = {(r.cell.split(".")[0], r.status) for r in records(result)}
    assert statuses == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "failed")}
    failed = next(record for record in records(result) if record.status == "failed")
    assert failed.reason and f"{name} is 2, the baseline has 1" in failed.reason
    asked, _ = run(tmp_path / "asked", Unlike(), blocks=3, planned={**alike, "arm2": {name: "2"}})
    assert {record.status for record in records(asked)} == {"ok"}


@dataclass
class Saying(Engine):
    """Servers of some stacks say something else of themselves than the fake's usually do."""

    said: dict[str, dict[str, str]] = field(default_factory=dict)

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        stack = super().up(name, request)
        assert isinstance(stack, FakeStack)
        stack.variables |= self.said.get(name, {})
        return stack


FLUSH = "innodb_flush_log_at_trx_commit"


@pytest.mark.parametrize("seed", range(1, 5))
def test_each_arm_is_held_against_that_of_its_own_baseline(tmp_path: Path, seed: int) -> None:
    """The canary's baseline is of the other pair: what that pair says is nothing to this one."""
    data = experiment().matrix.model_dump(exclude_unset=True)
    data["factors"]["pair"] = {"a": {"apart": "a"}, "b": {"apart": "b"}}
    plan = make_experiment(Matrix.model_validate(data))
    assert plan.canary_of.levels["pair"] == "a"
    arm_of = {(cell.levels["rewriter"], cell.levels["pair"]): arms(plan)[cell.stack_key] for cell in plan.cells}
    planned = {arm: {FLUSH: "1"} for arm in [*arm_of.values(), "canary"]}
    engine = Saying(said={f"m-{arm_of['off', 'b']}": {FLUSH: "2"}})
    result, _ = run(tmp_path, engine, blocks=1, experiment=plan, planned=planned, seed=seed)
    failed = {record.cell for record in records(result) if record.status == "failed"}
    assert failed == {"rewriter-on.threads-4.pair-b", "rewriter-on.threads-8.pair-b"}


def test_a_baseline_of_an_earlier_start_is_what_the_rest_is_held_against(tmp_path: Path) -> None:
    plan = experiment("restart")
    orders = {seed: [run.arm for run in schedule(plan, 1, seed)] for seed in range(1, 50)}
    seed = next(seed for seed, order in orders.items() if order.index("arm1") < order.index("arm2"))
    planned = {arm: {FLUSH: "1"} for arm in ("arm1", "arm2", "canary")}
    given: dict[str, Any] = {"blocks": 1, "experiment": plan, "planned": planned, "seed": seed}
    engine = Engine()

    def interrupt_the_second_arm() -> None:
        if engine.done[-1] == "up m-arm2":
            raise KeyboardInterrupt

    engine.on_load = interrupt_the_second_arm
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, engine, **given)
    result, _ = run(tmp_path, Saying(said={"m-arm2": {FLUSH: "2"}}), **given)
    statuses = {(record.cell.split(".")[0], record.status) for record in records(result)}
    assert statuses == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "failed")}


def test_a_baseline_that_says_otherwise_when_it_is_started_anew_fails(tmp_path: Path) -> None:
    class Changing(Saying):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            self.said = {"m-arm1": {FLUSH: "2"}} if "up m-arm1" in self.done else {}
            return super().up(name, request)

    planned = {arm: {FLUSH: "1"} for arm in ("arm1", "arm2", "canary")}
    result, _ = run(tmp_path, Changing(), experiment=experiment("restart"), planned=planned)
    failed = {(record.cell.split(".")[0], record.block) for record in records(result) if record.status == "failed"}
    assert failed == {("rewriter-off", 2)}


def test_a_gate_throws_its_first_block_away(tmp_path: Path) -> None:
    result, events = run(tmp_path, Engine(), gate=True)
    blocks = [record.block for record in records(result)]
    assert blocks == sorted(blocks) and blocks.count(0) == 5 and len(blocks) == 3 * 5
    part = result.manifest.matrix
    assert part and part.blocks == 2 and [check.block for check in part.host_checks] == [1, 2]
    assert {each.block for each in observations(records(result), lambda _: (), "slices")} == {1, 2}
    assert next(event for event in events if isinstance(event, Advance)).runs == 15


def test_a_gate_ends_at_the_first_stack_that_does_not_come_up_and_keeps_its_log(tmp_path: Path) -> None:
    class Broken(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            if name == "m-arm2":
                self.done.append(f"up {name}")
                raise NotReadyError("mysql1", "does not run: exited (1)", ("[ERROR] unknown variable",), " NAME=m")
            return super().up(name, request)

    engine = Broken()
    result, _ = run(tmp_path, engine, gate=True)
    (record,) = records(result)
    assert (record.status, record.reason) == ("infra_error", "mysql1 does not run: exited (1)")
    log = result.path / "runs" / f"{record.cell}.{record.block}" / record.files["log_mysql1"]
    assert log.read_text() == "[ERROR] unknown variable\n"
    assert engine.done.count("up m-arm2") == 1 and "down m-arm1" in engine.done
    assert result.manifest.ended_utc


def test_a_gate_ends_at_the_first_server_that_dies(tmp_path: Path) -> None:
    loads: list[str] = []

    class Dying(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = FakeStack(name=name, profile=request.profile)

            def die_in_the_third_load() -> None:
                loads.append(name)
                if loads.count("m-arm2") == 3:
                    stack.dead = {"mysql1": "exited (139)"}

            stack.on_load = die_in_the_third_load
            return stack

    result, _ = run(tmp_path, Dying(), gate=True)
    last = records(result)[-1]
    assert last.status == "infra_error" and last.cell.startswith("rewriter-on")
    assert last.reason and "exited (139)" in last.reason
    assert all(record.status == "ok" for record in records(result)[:-1])
    assert loads.count("m-arm2") == 3


def test_a_server_that_died_between_two_runs_leaves_its_log_and_the_arm_is_started_anew(tmp_path: Path) -> None:
    class Mortal(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = super().up(name, request)
            assert isinstance(stack, FakeStack)
            if self.done.count("up m-arm2") == 1 and name == "m-arm2":
                stack.dead = {"mysql1": "exited (137)"}
            return stack

    engine = Mortal()
    result, _ = run(tmp_path, engine)
    lost = [record for record in records(result) if record.status == "infra_error"]
    assert len(lost) == 1 and lost[0].cell.startswith("rewriter-on")
    assert "mysql1: exited (137)" in (lost[0].reason or "")
    folder = result.path / "runs" / f"{lost[0].cell}.{lost[0].block}"
    assert (folder / lost[0].files["log_mysql1"]).read_text()
    assert engine.done.count("up m-arm2") == 2 and len(records(result)) == 10


def test_an_engine_that_does_not_answer_ends_it_unfinished_and_the_next_start_goes_on(tmp_path: Path) -> None:
    class Gone(Engine):
        gone = False

        def down(self, name: str) -> None:
            if self.gone:
                raise SandboxError("the Docker engine does not answer", "x", "make doctor", ExitCode.ENVIRONMENT)
            super().down(name)

    engine = Gone()

    def go() -> None:
        engine.gone = True
        raise SandboxError("the Docker engine does not answer", "x", "make doctor", ExitCode.ENVIRONMENT)

    engine.on_load = go
    with pytest.raises(SandboxError, match="does not answer"):
        run(tmp_path, engine)
    (unfinished,) = tmp_path.glob("2*")
    assert ResultFolder(unfinished).manifest.ended_utc is None
    result, _ = run(tmp_path, Engine())
    assert result.path == unfinished and len(records(result)) == 10
    assert {record.status for record in records(result)} == {"ok"}


@dataclass
class Leaving(Engine):
    """It stops to answer when a stack is brought up or removed for the n-th time; whatever it is asked then fails."""

    verb: str = "up"
    nth: int = 1
    gone: bool = False

    def _answer(self, verb: str) -> None:
        begun = 1 + sum(each.startswith(verb) for each in self.done)
        self.gone = self.gone or (verb, begun) == (self.verb, self.nth)
        if self.gone:
            raise SandboxError("the Docker engine does not answer", "x", "make doctor", ExitCode.ENVIRONMENT)

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        self._answer("up")
        return super().up(name, request)

    def down(self, name: str) -> None:
        self._answer("down")
        super().down(name)


@pytest.mark.parametrize(
    ("depth", "verb", "nth", "saved"), [("restart", "up", 2, 1), ("restart", "down", 3 + 2, 1), ("slices", "up", 2, 0)]
)
def test_an_engine_that_goes_between_two_runs_leaves_no_record_and_the_next_start_runs_what_is_missing(
    tmp_path: Path, depth: str, verb: str, nth: int, saved: int
) -> None:
    """At ``restart`` three arms are cleared away before the first stack is removed."""
    plan = experiment(depth)
    with pytest.raises(SandboxError, match="does not answer"):
        run(tmp_path, Leaving(verb=verb, nth=nth), experiment=plan)
    (unfinished,) = map(ResultFolder, tmp_path.glob("2*"))
    statuses = {entry.status for entry in unfinished.manifest.runs}
    assert unfinished.manifest.ended_utc is None and statuses == ({"ok"} if saved else set())
    result, _ = run(tmp_path, Engine(), experiment=plan)
    assert result.path == unfinished.path and result.manifest.ended_utc
    assert [record.status for record in records(result)] == ["ok"] * 10


def test_an_engine_that_is_gone_is_no_failure_of_an_arm() -> None:
    engine = Leaving(nth=1)
    stacks = Arms("m", {"arm1": PlanRequest("mysql@9.7")}, engine.up, engine.down)
    for _ in range(3):
        with pytest.raises(SandboxError, match="does not answer"):
            stacks.ready("arm1")
    engine.nth, engine.gone = 0, False
    assert stacks.ready("arm1").name == "m-arm1"


class EnginelessStack(FakeStack):
    """The engine goes away in its load, which fails for that."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, load_code=255)

    def dead_nodes(self) -> dict[str, str]:
        if any("run" in argv for argv in self.streamed):
            raise SandboxError("the Docker engine does not answer", "x", "make doctor", ExitCode.ENVIRONMENT)
        return {}


def test_a_run_whose_warm_up_the_engine_has_cut_short_is_run_again(tmp_path: Path) -> None:
    class Gone(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            return EnginelessStack(name)

        def down(self, name: str) -> None:
            if any(tmp_path.glob("2*/runs/*/record.json")):
                raise SandboxError("the Docker engine does not answer", "x", "make doctor", ExitCode.ENVIRONMENT)

    with pytest.raises(SandboxError, match="does not answer"):
        run(tmp_path, Gone())
    (lost,) = records(ResultFolder(next(iter(tmp_path.glob("2*")))))
    assert lost.status == "infra_error"
    assert str(lost.reason).startswith("the Docker engine does not answer: x; then: during the warm-up")
    result, events = run(tmp_path, Engine())
    assert next(event for event in events if isinstance(event, Advance)).done == 0
    assert [record.status for record in records(result)] == ["ok"] * 10


def test_what_set_asked_for_and_a_server_does_not_have_fails_the_run(tmp_path: Path) -> None:
    data = experiment().matrix.model_dump(exclude_unset=True)
    data["factors"]["rewriter"]["on"]["set"] = ["innodb_flush_log_at_trx_commit=2"]
    plan = make_experiment(Matrix.model_validate(data))
    result, _ = run(tmp_path, Engine(), experiment=plan)
    failed = [record for record in records(result) if record.status == "failed"]
    assert {record.cell.split(".")[0] for record in failed} == {"rewriter-on"} and len(failed) == 4
    assert "innodb_flush_log_at_trx_commit is 1, not 2" in (failed[0].reason or "")


def test_what_it_took_is_noted_once_it_is_whole(tmp_path: Path) -> None:
    part = run(tmp_path, Engine())[0].manifest.matrix
    assert part and part.foreseen_overhead_s and part.overhead_s is not None


@pytest.mark.parametrize("gate", [False, True])
def test_nothing_is_noted_where_a_run_was_lost(tmp_path: Path, gate: bool) -> None:
    part = run(tmp_path, Engine(broken={"m-arm2"}), gate=gate)[0].manifest.matrix
    assert part and part.overhead_s is None and part.foreseen_overhead_s is None
