"""What a matrix loses: stacks that do not come up, servers that die, an engine that is gone."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox.core.errors import MachineError, SandboxError
from sandbox.matrix.runner import Advance
from sandbox.matrix.stack_pool import StackPool
from sandbox.profile.plan import PlanRequest
from sandbox.record.store import ResultFolder
from sandbox.stack.protocol import RunningStack
from sandbox.stack.readiness import NotReadyError
from unit.fake_stack import FakeStack
from unit.matrix.small_matrix import Engine, records, run, selection


def test_a_gate_ends_at_the_first_stack_that_does_not_come_up_and_keeps_its_log(
    tmp_path: Path,
) -> None:
    class Broken(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            if name == "m-variant2":
                self.done.append(f"up {name}")
                raise NotReadyError(
                    "mysql1", "does not run: exited (1)", ("[ERROR] unknown variable",), " NAME=m"
                )
            return super().up(name, request)

    engine = Broken()
    result, _ = run(tmp_path, engine, gate=lambda _: 0)
    (record,) = records(result)
    assert (record.status, record.reason) == ("infra_error", "mysql1 does not run: exited (1)")
    log = result.path / "runs" / f"{record.cell}.{record.block}" / record.files["log_mysql1"]
    assert log.read_text() == "[ERROR] unknown variable\n"
    assert engine.done.count("up m-variant2") == 1 and "down m-variant1" in engine.done
    assert result.manifest.ended_utc


def test_a_gate_ends_at_the_first_server_that_dies(tmp_path: Path) -> None:
    loads: list[str] = []

    class Dying(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = FakeStack(name=name, profile=request.profile)

            def die_in_the_third_load() -> None:
                loads.append(name)
                if loads.count("m-variant2") == 3:
                    stack.dead = {"mysql1": "exited (139)"}

            stack.on_load = die_in_the_third_load
            return stack

    result, _ = run(tmp_path, Dying(), gate=lambda _: 0)
    last = records(result)[-1]
    assert last.status == "infra_error" and last.cell.startswith("rewriter-on")
    assert last.reason and "exited (139)" in last.reason
    assert all(record.status == "ok" for record in records(result)[:-1])
    assert loads.count("m-variant2") == 3


def test_a_server_that_died_between_two_runs_leaves_its_log_and_the_variant_is_started_anew(
    tmp_path: Path,
) -> None:
    class Mortal(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = super().up(name, request)
            assert isinstance(stack, FakeStack)
            if self.done.count("up m-variant2") == 1 and name == "m-variant2":
                stack.dead = {"mysql1": "exited (137)"}
            return stack

    engine = Mortal()
    result, _ = run(tmp_path, engine)
    lost = [record for record in records(result) if record.status == "infra_error"]
    assert len(lost) == 1 and lost[0].cell.startswith("rewriter-on")
    assert "mysql1: exited (137)" in (lost[0].reason or "")
    folder = result.path / "runs" / f"{lost[0].cell}.{lost[0].block}"
    assert (folder / lost[0].files["log_mysql1"]).read_text()
    assert engine.done.count("up m-variant2") == 2 and len(records(result)) == 10


def test_a_host_check_that_does_not_end_costs_one_run_and_is_made_again(tmp_path: Path) -> None:
    checks: list[int] = []

    def host_check(*_: object) -> dict[str, float]:
        checks.append(1)
        if len(checks) == 1:
            raise TimeoutError("docker exec did not end within 60.0 s")
        return {"cpu_turns": 1000, "fsync_ms": 1.0}

    result, _ = run(tmp_path, Engine(), host_check=host_check)
    statuses = [record.status for record in records(result)]
    assert statuses == ["infra_error", *["ok"] * 9] and result.manifest.ended_utc
    assert (
        records(result)[0].reason
        == "the host check did not end: docker exec did not end within 60.0 s"
    )
    part = result.manifest.matrix
    assert part and [check.block for check in part.host_checks] == [1, 2] and len(checks) == 3


def test_an_engine_that_does_not_answer_ends_it_unfinished_and_the_next_start_goes_on(
    tmp_path: Path,
) -> None:
    class Gone(Engine):
        gone = False

        def down(self, name: str) -> None:
            if self.gone:
                raise MachineError("the Docker engine does not answer", "x", "make doctor")
            super().down(name)

    engine = Gone()

    def go() -> None:
        engine.gone = True
        raise MachineError("the Docker engine does not answer", "x", "make doctor")

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
    """It stops to answer when a stack is brought up or removed for the n-th time; whatever it is
    asked then fails.
    """

    verb: str = "up"
    nth: int = 1
    gone: bool = False

    def _answer(self, verb: str) -> None:
        begun = 1 + sum(each.startswith(verb) for each in self.done)
        self.gone = self.gone or (verb, begun) == (self.verb, self.nth)
        if self.gone:
            raise MachineError("the Docker engine does not answer", "x", "make doctor")

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        self._answer("up")
        return super().up(name, request)

    def down(self, name: str) -> None:
        self._answer("down")
        super().down(name)


@pytest.mark.parametrize(
    ("depth", "verb", "nth", "saved"),
    [("restart", "up", 2, 1), ("restart", "down", 3 + 2, 1), ("slices", "up", 2, 0)],
)
def test_an_engine_that_goes_between_two_runs_leaves_no_record_and_the_next_start_runs_what_is_missing(  # noqa: E501
    tmp_path: Path, depth: str, verb: str, nth: int, saved: int
) -> None:
    """At ``restart`` three variants are cleared away before the first stack is removed."""
    plan = selection(depth)
    with pytest.raises(SandboxError, match="does not answer"):
        run(tmp_path, Leaving(verb=verb, nth=nth), selection=plan)
    (unfinished,) = map(ResultFolder, tmp_path.glob("2*"))
    statuses = {entry.status for entry in unfinished.manifest.runs}
    assert unfinished.manifest.ended_utc is None and statuses == ({"ok"} if saved else set())
    result, _ = run(tmp_path, Engine(), selection=plan)
    assert result.path == unfinished.path and result.manifest.ended_utc
    assert [record.status for record in records(result)] == ["ok"] * 10


def test_an_engine_that_is_gone_is_no_failure_of_a_variant() -> None:
    engine = Leaving(nth=1)
    stacks = StackPool("m", {"variant1": PlanRequest("mysql@9.7")}, engine.up, engine.down)
    for _ in range(3):
        with pytest.raises(SandboxError, match="does not answer"):
            stacks.ready("variant1")
    engine.nth, engine.gone = 0, False
    assert stacks.ready("variant1").name == "m-variant1"


class EnginelessStack(FakeStack):
    """The engine goes away in its load, which fails for that."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, load_code=255)

    def dead_nodes(self) -> dict[str, str]:
        if any("run" in argv for argv in self.streamed):
            raise MachineError("the Docker engine does not answer", "x", "make doctor")
        return {}


def test_a_run_whose_warm_up_the_engine_has_cut_short_is_run_again(tmp_path: Path) -> None:
    class Gone(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            return EnginelessStack(name)

        def down(self, name: str) -> None:
            if any(tmp_path.glob("2*/runs/*/record.json")):
                raise MachineError("the Docker engine does not answer", "x", "make doctor")

    with pytest.raises(SandboxError, match="does not answer"):
        run(tmp_path, Gone())
    (lost,) = records(ResultFolder(next(iter(tmp_path.glob("2*")))))
    assert lost.status == "infra_error"
    assert str(lost.reason).startswith(
        "the Docker engine does not answer: x; then: during the warm-up"
    )
    result, events = run(tmp_path, Engine())
    assert next(event for event in events if isinstance(event, Advance)).done == 0
    assert [record.status for record in records(result)] == ["ok"] * 10
