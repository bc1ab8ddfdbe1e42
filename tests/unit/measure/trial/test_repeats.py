"""Repeated trials on a stack without Docker: a record each, a reset in between, what ends them."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.load.common.registry import NamedWorkload, find_workload
from sandbox.load.common.workload import Event, make_parameters
from sandbox.load.writers import Writers
from sandbox.measure.run import LARGEST_SEED
from sandbox.measure.trial import trial as trial_module
from sandbox.measure.trial.repeats import (
    Repeats,
    repeat_trial,
    repeats_asked,
    seed_of,
    series_exit_code,
)
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.schedule import Step
from sandbox.record.manifest import Manifest, RepeatsPart
from sandbox.record.store import ResultFolder
from sandbox.stack.protocol import RunningStack
from sandbox.stack.server_status import ServerStatus
from unit.fake_stack import PASSWORD
from unit.measure.trial.trial_runs import CRASH, PROFILES, scenario_with
from unit.measure.trial.trial_world import FakeBreaking, TrialStack, World
from unit.record.samples import sample_record

WELL = {"mysql1": ServerStatus("running"), "replica1": ServerStatus("replicating")}
STOPPED = {**WELL, "replica1": ServerStatus("stopped", "error 1032", repair="rebuild")}


def request(steps: Sequence[Step] = (CRASH,), **given: Any) -> TrialRequest:
    """A trial of these steps, without a load."""
    asked: dict[str, Any] = {"scenario": scenario_with(*steps), "seed": 7, **given}
    workload = asked.pop("workload", None) or find_workload("noop", PROFILES)
    return TrialRequest(workload, make_parameters(), **asked)


class LoggingStack(TrialStack):
    """A stack whose servers say something in their logs."""

    def __init__(self, world: World, says: str = "") -> None:
        super().__init__(world)
        self.says = says
        self.states = WELL
        self.since: list[datetime | None] = []

    def log(self, node: str, since: datetime | None = None) -> str:
        self.since.append(since)
        return f"{super().log(node, since)}{node}: {self.says}\n" if node == "replica1" else ""


@dataclass
class Series:
    """A series of a test. ``at_reset``: what happens to the stack before a later trial."""

    world: World
    stack: LoggingStack
    results: Path
    at_reset: Callable[[int], None] = lambda _: None
    resets: int = 0
    events: list[Event] = field(default_factory=list)

    def reset(self, stack: RunningStack) -> RunningStack:
        self.resets += 1
        self.at_reset(self.resets)
        return stack

    def run(self, count: int, until: str | None = None, **given: Any) -> ResultFolder:
        """Its result."""
        fresh = given.pop("fresh", False)
        repeats = Repeats(count, until, fresh)
        return repeat_trial(
            self.stack, request(**given), repeats, self.reset, self.results, self.events.append
        )


@pytest.fixture
def series(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Series:
    """A stack that recovers from each crash within two seconds."""
    monkeypatch.setattr(trial_module, "Guard", lambda _: FakeBreaking(world))
    return Series(world, LoggingStack(world), tmp_path)


def part_of(result: ResultFolder) -> RepeatsPart:
    """What its manifest says of the series."""
    part = result.manifest.repeats
    assert part is not None
    return part


def test_each_trial_has_its_record_and_the_stack_is_reset_in_between(series: Series) -> None:
    result = series.run(3)
    records = result.records()
    assert [(each.cell, each.block, each.status) for each in records] == [
        ("trial", 1, "ok"), ("trial", 2, "ok"), ("trial", 3, "ok"),
    ]  # fmt: skip
    assert series.resets == 2 and [each.seed for each in records] == [7, 7926, 15845]
    assert result.manifest.kind == "trial" and part_of(result).end == "complete"
    assert {each.trial and str(each.trial.lost_members) for each in records} == {"{}"}
    assert (result.path.parent / "latest").resolve() == result.path


def test_a_fresh_series_resets_before_its_first_trial_too(series: Series) -> None:
    result = series.run(2, fresh=True)
    assert series.resets == 2 and part_of(result).fresh


def test_it_ends_with_the_pattern_that_is_waited_for(series: Series) -> None:
    def breaks_later(number: int) -> None:
        series.stack.says = f"[ERROR] Inconsistency detected, {PASSWORD}" if number == 2 else ""

    series.at_reset = breaks_later
    result = series.run(12, "log:Inconsistency +detected")
    assert part_of(result).end == "came" and len(result.records()) == 3
    assert part_of(result).reason == "log:Inconsistency +detected came in trial 3"
    *calm, last = [record.trial.log_lines for record in result.records() if record.trial]
    assert all(each == {"Inconsistency +detected": {}} for each in calm)
    (line,) = last["Inconsistency +detected"].values()
    assert "Inconsistency detected" in line and PASSWORD not in line
    began = result.records()[-1].started_utc
    assert series.stack.since[-1] == began, "an earlier trial's lines are its own"
    assert series_exit_code(result.records(), part_of(result)) is ExitCode.FAILED
    assert series.resets == 2, "the stack stays as it was when it came"


def test_it_ends_with_a_lost_member(series: Series) -> None:
    def loses(number: int) -> None:
        series.stack.states = STOPPED

    series.at_reset = loses
    result = series.run(5, "lost-member")
    (first, second) = result.records()
    assert first.trial and first.trial.lost_members == {}
    assert second.trial and second.trial.lost_members == {"replica1": "stopped: error 1032"}
    assert part_of(result).end == "came"


def test_it_ends_with_a_failed_check(series: Series) -> None:
    def loses(number: int) -> None:
        series.world.losing = number == 1

    series.at_reset = loses
    result = series.run(5, "lost")
    assert [each.metrics.lost == 0 for each in result.records()] == [True, False]
    assert part_of(result).reason == "lost came in trial 2"


def test_an_interruption_keeps_the_finished_trials(series: Series) -> None:
    def interrupts(number: int) -> None:
        series.world.interrupt_at_s = 11.5

    series.at_reset = interrupts
    result = series.run(5)
    assert [each.status for each in result.records()] == ["ok", "interrupted"]
    assert part_of(result).end == "interrupted"
    assert series_exit_code(result.records(), part_of(result)) is ExitCode.INTERRUPTED
    assert json.loads((result.path / "manifest.json").read_text())["ended_utc"]


@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), SandboxError("interrupted", "-", "-", ExitCode.INTERRUPTED)],
    ids=["here", "in a start"],
)
def test_an_interruption_between_two_trials_leaves_no_third_record(
    series: Series, error: BaseException
) -> None:
    def interrupts(_: int) -> None:
        raise error

    series.at_reset = interrupts
    result = series.run(5)
    assert len(result.records()) == 1 and part_of(result).end == "interrupted"


def test_a_stack_that_cannot_be_reset_ends_it(series: Series) -> None:
    def dies(number: int) -> None:
        if number == 2:
            raise MachineError("replica1 is not ready", "evicted", "try: make ps")

    series.at_reset = dies
    result = series.run(5)
    assert len(result.records()) == 2
    assert part_of(result).reason == "no trial 3: replica1 is not ready: evicted"
    assert series_exit_code(result.records(), part_of(result)) is ExitCode.ENVIRONMENT


def test_a_first_trial_that_cannot_be_carried_out_is_the_last(
    series: Series, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = FakeBreaking(series.world)
    breaking.refused = SandboxError("no netem", "the kernel lacks it", "-", ExitCode.UNKNOWN)
    monkeypatch.setattr(trial_module, "Guard", lambda _: breaking)
    result = series.run(5)
    assert [each.status for each in result.records()] == ["skipped"]
    assert part_of(result).end == "not possible"
    assert series_exit_code(result.records(), part_of(result)) is ExitCode.UNKNOWN


def test_an_impossible_request_leaves_nothing(series: Series) -> None:
    with pytest.raises(SandboxError):
        series.run(3, via="nowhere")
    assert not [*series.results.iterdir()] and not series.resets


def test_seeds_are_those_that_a_run_takes() -> None:
    assert seed_of(7, 1) == 7
    assert all(1 <= seed_of(LARGEST_SEED, number) <= LARGEST_SEED for number in range(1, 201))


# What is asked for.


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"until": "lost-member"}, "UNTIL= needs REPEAT="),
        ({"fresh": True}, "FRESH=1 needs REPEAT="),
        ({"count": 3, "until": "log:"}, "UNTIL=log: is not valid"),
        ({"count": 3, "until": "log:a(b"}, "UNTIL=log:a(b is not valid"),
        ({"count": 3, "until": "lst"}, "UNTIL=lst is nothing that a trial can end with"),
        ({"count": 3, "until": "writers_lost"}, "UNTIL=writers_lost is nothing that a trial can"),
    ],
)
def test_what_is_no_series_is_refused(given: dict[str, Any], what: str) -> None:
    asked = {"count": None, "until": None, "fresh": False, **given}
    with pytest.raises(SandboxError) as refused:
        repeats_asked(request=request(), **asked)
    assert refused.value.what.startswith(what) and refused.value.exit_code is ExitCode.BAD_INPUT
    assert len(refused.value.lines()) == 3


def test_an_upgrade_needs_a_fresh_stack_each_time() -> None:
    upgrade = request([Step(at_s=10, action="rolling-upgrade", options={"to": "9.7"})])
    with pytest.raises(SandboxError):
        repeats_asked(3, None, False, upgrade)
    assert repeats_asked(3, None, True, upgrade) == Repeats(3, None, True)


@pytest.mark.parametrize(
    ("typed", "known"),
    [
        ("lost_member", "lost-member"),
        ("failed-check", "failed-check"),
        ("stale-reads", "stale_reads"),
        ("log:WSREP.*", "log:WSREP.*"),
        ("writers_lost", "writers_lost"),
    ],
)
def test_a_series_ends_with_a_check_by_its_name(typed: str, known: str) -> None:
    load = NamedWorkload("writers", "-", Writers(ledger=True))
    found = repeats_asked(12, typed, False, request(workload=load, loaded=True))
    assert found == Repeats(12, known)


def test_one_trial_is_no_series() -> None:
    assert repeats_asked(None, None, False, request()) is None


def test_a_manifest_without_a_series_stays_as_it_is(series: Series) -> None:
    old = {"kind": "trial", "slug": "x", "profile": "mysql", "command": []}
    text = json.dumps({**old, "started_utc": "2026-01-01T00:00:00Z"})
    assert Manifest.model_validate_json(text).repeats is None


def test_the_exit_code_of_a_good_series_with_an_invalid_trial_is_0() -> None:
    good = sample_record(checks=[])
    late = sample_record(status="infra_error", reason="the prober was late", checks=[])
    part = RepeatsPart(count=2, fresh=False, end="complete")
    assert series_exit_code([good, late], part) is ExitCode.OK
    assert series_exit_code([late, late], part) is ExitCode.ENVIRONMENT
