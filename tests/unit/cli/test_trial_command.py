"""make trial: what it asks for, and what its exit code says."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from sandbox.cli.commands import bench as bench_command
from sandbox.cli.commands import trial
from sandbox.cli.common import measuring as module
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.schedule import Step
from sandbox.record.record import CheckRecord, Record
from unit.record.samples import sample_record

PASSED = CheckRecord(name="lost", verdict="pass", detail="all")
LOST = CheckRecord(name="lost", verdict="fail", detail="2 of 1,000")


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[TrialRequest]:
    """What would have been measured; the record is that of a trial without a flaw."""
    requests: list[TrialRequest] = []
    outcome(monkeypatch, sample_record(cell="trial", checks=[PASSED]), requests)
    monkeypatch.setattr(module, "quiet_stack", lambda *_: object())
    return requests


def outcome(
    monkeypatch: pytest.MonkeyPatch, record: Record, requests: list[TrialRequest] | None = None
) -> None:
    """How the trial ends."""

    def tried(_stack: Any, request: TrialRequest, *_: Any) -> tuple[Record, SimpleNamespace]:
        if requests is not None:
            requests.append(request)
        return record, SimpleNamespace(path=RESULTS / "x")

    monkeypatch.setattr(trial, "trial", tried)


def steps_of(asked: list[TrialRequest]) -> list[Step]:
    return asked[0].schedule.steps


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({"fault": "server-crash"}, Step(at_s=10, fault="server-crash")),
        (
            {"fault": "hang", "target": "proxy"},
            Step(at_s=10, fault="hang", target="proxy", for_s=20),
        ),
        ({"fault": "hang", "seconds": 3.5}, Step(at_s=10, fault="hang", for_s=3.5)),
        (
            {
                "fault": "partition",
                "options": ["away_from=proxies port=3306"],
                "target": "one-reader",
            },
            Step(
                at_s=10,
                fault="partition",
                target="one-reader",
                options={"away_from": "proxies", "port": "3306"},
            ),
        ),
        (
            {"fault": "rolling-upgrade", "options": ["to=10.11"]},
            Step(at_s=10, action="rolling-upgrade", options={"to": "10.11"}),
        ),
        ({"fault": "switchover"}, Step(at_s=10, action="switchover")),
    ],
)
def test_a_name_is_a_schedule(asked: list[TrialRequest], given: dict[str, Any], step: Step) -> None:
    assert trial.command(**given) == ExitCode.OK
    assert steps_of(asked) == [step]


def test_a_trial_is_idle_unless_a_workload_is_named(asked: list[TrialRequest]) -> None:
    trial.command(fault="server-crash", rate=50, seed=7)
    trial.command(fault="server-crash", workload="oltp_read_only", threads=2)
    idle, loaded = asked
    assert idle.workload.name == "noop" and not idle.loaded and idle.seed == 7
    assert (idle.rates.pooled, idle.rates.fresh, idle.rates.reader) == (50, 10, 50)
    assert loaded.loaded and loaded.parameters.threads == 2


def test_a_write_commits_by_itself_unless_a_transaction_is_asked_for(
    asked: list[TrialRequest],
) -> None:
    trial.command(fault="server-crash")
    trial.command(fault="server-crash", transaction=True)
    assert [each.transaction for each in asked] == [False, True]


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({}, "no FAULT was given"),
        ({"fault": "server-crsh"}, "there is no fault 'server-crsh'"),
        ({"fault": "hang", "seconds": 0}, "these faults are no schedule: steps.0.for"),
        ({"fault": "hang", "seconds": -1}, "these faults are no schedule: steps.0.for"),
        ({"fault": "hang", "seconds": 3600}, "these faults are no schedule: steps.0.for"),
        (
            {"fault": "hang", "target": "same", "seconds": 5},
            "these faults are no schedule: steps.0.target",
        ),
        ({"fault": "hang", "options": ["waht=server"]}, "the fault hang has no option 'waht'"),
        ({"fault": "join", "options": ["dta=empty"]}, "the action join has no option 'dta'"),
        (
            {"fault": "hang", "workload": "list-append"},
            "the workload list-append cannot be the load of a trial",
        ),
        ({"fault": "hang", "workload": "bank"}, "the workload bank cannot be the load of a trial"),
        ({"fault": "flapping", "seconds": 5}, "there is no fault 'flapping'"),
    ],
)
def test_what_is_no_trial_is_refused(
    asked: list[TrialRequest], given: dict[str, Any], what: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        trial.command(**given)
    assert (
        refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT and not asked
    )


@pytest.mark.parametrize(
    ("changed", "code"),
    [
        ({"checks": [PASSED]}, ExitCode.OK),
        ({"checks": [PASSED, LOST]}, ExitCode.FAILED),
        ({"status": "skipped", "reason": "no netem", "checks": []}, ExitCode.UNKNOWN),
        ({"status": "infra_error", "reason": "it is late", "checks": [LOST]}, ExitCode.ENVIRONMENT),
        ({"status": "interrupted", "reason": "interrupted", "checks": []}, ExitCode.INTERRUPTED),
    ],
)
@pytest.mark.usefixtures("asked")
def test_the_exit_code_says_how_it_went(
    monkeypatch: pytest.MonkeyPatch, changed: dict[str, Any], code: ExitCode
) -> None:
    outcome(monkeypatch, sample_record(**changed))
    assert trial.command(fault="server-crash") == code


@pytest.mark.usefixtures("asked")
def test_it_prints_the_table_or_the_record(capsys: pytest.CaptureFixture[str]) -> None:
    trial.command(fault="server-crash")
    assert capsys.readouterr().out.endswith("results/x/runs/trial.1\n")
    trial.command(fault="server-crash", json=True)
    assert json.loads(capsys.readouterr().out)["cell"] == "trial"


@pytest.mark.parametrize("command", [bench_command, trial], ids=["bench", "trial"])
def test_a_measurement_marks_its_stack_once_the_snapshot_of_it_is_taken(
    monkeypatch: pytest.MonkeyPatch, command: ModuleType
) -> None:
    """A stack that is marked as changed before is not kept: the next start would take longer."""
    order: list[str] = []

    @contextmanager
    def measuring(_: Any) -> Iterator[None]:
        order.append("the snapshot is taken")
        yield

    def once(*_: Any) -> tuple[Record, SimpleNamespace]:
        order.append("measured")
        return sample_record(), SimpleNamespace(path=RESULTS / "x")

    monkeypatch.setattr(module, "measuring", measuring)
    monkeypatch.setattr(module, "quiet_stack", lambda *_: order.append("marked"))
    monkeypatch.setattr(command, "trial" if command is trial else "bench", once)
    command.command(**({"fault": "server-crash"} if command is trial else {}))
    assert order == ["the snapshot is taken", "marked", "measured"]
