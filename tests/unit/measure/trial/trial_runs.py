"""Trials of the tests: one run from start to record, and what it left."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from sandbox.load.common.registry import find_workload
from sandbox.load.common.workload import Event, Parameters, Progress
from sandbox.measure.bench import bench
from sandbox.measure.run import BenchRequest, TrialRequest
from sandbox.measure.trial import trial
from sandbox.measure.trial.schedule import Schedule, Step
from sandbox.record.record import Record, TrialRecord
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

    monkeypatch.setattr(trial, "_breaking", lambda run: breaking or FakeBreaking(world))
    asked = TrialRequest(Schedule(steps=list(steps)), **given)
    parameters = Parameters(threads=4, seconds=4, warmup_s=0, tables=2, rows_per_table=1000)
    request = BenchRequest(find_workload(workload, PROFILES), parameters, seed=7, command=("sandbox",), trial=asked)
    record, result = bench(stack or TrialStack(world), request, results, hear)
    return record, result.path / "runs" / "bench.1", said


def checks_of(record: Record) -> dict[str, str]:
    """Verdict of each check."""
    return {check.name: check.verdict for check in record.checks}


def trial_of(record: Record) -> TrialRecord:
    """The record's trial, which must be there."""
    assert record.trial is not None
    return record.trial
