"""Trials of the tests: one run from start to record, and what it left."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.load.common.registry import find_workload
from sandbox.load.common.workload import Event, Parameters, Progress
from sandbox.measure.trial import trial as trial_module
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import FaultProfile, Scenario
from sandbox.measure.trial.schedule import Step
from sandbox.measure.trial.trial import trial
from sandbox.record.record import Record
from sandbox.record.trial import TrialRecord
from unit.measure.trial.trial_world import FakeBreaking, TrialStack, World

PROFILES = [Path(__file__).parents[4] / "profiles" / "workloads"]
CRASH = Step(at_s=10, fault="server-crash")


def try_once(
    world: World,
    results: Path,
    monkeypatch: pytest.MonkeyPatch,
    steps: Sequence[Step] = (CRASH,),
    breaking: FakeBreaking | None = None,
    stack: TrialStack | None = None,
    workload: str = "noop",
    **given: Any,
) -> tuple[Record, Path, list[str]]:
    """A trial; its record, its folder and what it said."""
    said: list[str] = []

    def hear(event: Event) -> None:
        if isinstance(event, Progress):
            said.append(f"{event.step}: {event.text}")

    monkeypatch.setattr(trial_module, "Guard", lambda stack: breaking or FakeBreaking(world))
    parameters = Parameters(threads=4, seconds=4, warmup_s=0, tables=2, rows_per_table=1000)
    asked: dict[str, Any] = {
        "scenario": scenario_with(*steps),
        "seed": 7,
        "command": ("sandbox",),
        **given,
    }
    request = TrialRequest(find_workload(workload, PROFILES), parameters, **asked)
    record, result = trial(stack or TrialStack(world), request, results, hear)
    return record, result.path / "runs" / "trial.1", said


def scenario_with(*steps: Step) -> Scenario:
    """The scenario of these steps alone."""
    return Scenario((FaultProfile(title="-", steps=list(steps)),))


def checks_of(record: Record) -> dict[str, str]:
    """Verdict of each check."""
    return {check.name: check.verdict for check in record.checks}


def trial_of(record: Record) -> TrialRecord:
    """The record's trial, which must be there."""
    assert record.trial is not None
    return record.trial
