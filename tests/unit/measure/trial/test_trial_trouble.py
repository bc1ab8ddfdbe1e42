"""A trial that goes wrong, on a stack without Docker: what ends it, what is healed all the same,
what it says.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.fault import Injection
from sandbox.measure.execute import EXIT_CODES
from sandbox.measure.trial import conductor, prober, trial
from sandbox.measure.trial.schedule import Step
from sandbox.measure.trial.trial import refusals
from sandbox.record.record import Record
from sandbox.report.trial import single_trial_answer, trial_facts
from unit.fake_stack import PASSWORD, server
from unit.measure.trial.trial_runs import trial_of, try_once
from unit.measure.trial.trial_world import FakeBreaking, FakeControl, TrialStack, World


def facts_of(record: Record) -> dict[str, str]:
    """What is said about a trial, by name."""
    return {fact.name: fact.text for fact in trial_facts(record)}


def test_writes_that_never_come_back_are_censored_and_healed_in_the_end(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "BACK_LIMIT_S", 20.0)
    breaking = FakeBreaking(world, outage_s=1000)
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "ok" and world.events == ["inject 0 at 10.00", "heal 0 at 31.00"]
    figures, (step,) = trial_of(record).figures, trial_of(record).steps
    assert figures and "rto_ms" in figures.censored and step.gave_up
    assert figures.rto_ms == pytest.approx(21_000, abs=20), "until it was healed for that"


def test_an_outage_that_the_heal_ends_because_nothing_else_did_is_censored(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conductor, "BACK_LIMIT_S", 20.0)
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, breaking=FakeBreaking(world, outage_s=None)
    )
    figures = trial_of(record).figures
    assert figures and {"rto_ms", "brownout_ms"} <= {*figures.censored} and figures.brownout_ms == 0
    assert (
        figures.rto_ms == pytest.approx(21_000, abs=20)
        and figures.recovered_by["rto_ms"] == "mysql1"
    )
    rows = facts_of(record)
    assert rows["fault"].endswith("healed 21.0 s later, since writes were not back")
    assert rows["RTO"].endswith(" ms (still open when it was healed)")
    assert single_trial_answer(record).startswith("Writes were not back within 21,0")


def test_an_outage_that_lasts_until_the_heal_says_so(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = [Step(at_s=10, fault="hang", for_s=4)]
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps, FakeBreaking(world, outage_s=None))
    assert facts_of(record)["RTO"].endswith(" ms (± 25), by mysql1, once it was healed")
    record, _, _ = try_once(world, tmp_path, monkeypatch, steps, FakeBreaking(world, outage_s=1.0))
    assert facts_of(record)["RTO"].endswith(" ms (± 25), by mysql1")


def test_an_injection_without_effect_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    breaking = FakeBreaking(world, missing={"mysql1": "its server still listens"})
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "infra_error" and EXIT_CODES[record.status] is ExitCode.ENVIRONMENT
    assert record.reason == "server-crash is not in effect: mysql1: its server still listens"
    assert record.trial is None and "probe" in record.files, "what was seen until then is kept"
    assert world.events == ["inject 0 at 10.00", "heal 0 at 10.00", "prober closed"]


def test_a_late_probe_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.late_us = 21_000
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error"
    assert (
        record.reason == "the prober was late before the fault (p99 21.0 ms): the host is too busy"
    )
    assert record.trial is not None and record.metrics.lateness_p99_ms == 21


def test_ctrl_c_heals_before_all_else_ends(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.interrupt_at_s = 11.5
    breaking = FakeBreaking(world, outage_s=None)
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "interrupted"
    assert (
        record.reason == "interrupted during faults; its figures end there, and no ledger was read"
    )
    assert EXIT_CODES[record.status] is ExitCode.INTERRUPTED
    assert [each.partition(" at")[0] for each in world.events] == ["inject 0", "heal 0"]


def test_an_interrupted_trial_keeps_its_figures_so_far(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.interrupt_at_s = 13.5
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, breaking=FakeBreaking(world, outage_s=None)
    )
    figures = trial_of(record).figures
    assert figures and figures.rto_ms == record.metrics.rto_ms
    assert figures.rto_ms and 2400 < figures.rto_ms < 3600 and "rto_ms" in figures.censored, (
        "still out then"
    )
    assert record.metrics.lost is None, "no ledger was read"
    (step,) = trial_of(record).steps
    assert step.healed_ms is not None and step.healed_ms >= (trial_of(record).end_ms or 0)


def test_a_second_ctrl_c_while_it_heals_leaves_a_record(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Interrupted(FakeBreaking):
        def close(self) -> None:
            raise KeyboardInterrupt

    world.interrupt_at_s = 11.5
    record, folder, _ = try_once(world, tmp_path, monkeypatch, breaking=Interrupted(world))
    assert record.status == "interrupted" and (folder / "record.json").exists()
    assert record.reason == "interrupted during faults; interrupted while the run was closed"
    assert world.events[-1] == "prober closed", "the rest ends all the same"


def test_a_node_that_the_trial_ended_is_no_reason_for_what_fails_later(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, breaking = TrialStack(world), FakeBreaking(world)

    def inject(key: str, inject: Callable[[str], Injection] = breaking.inject) -> Injection:
        stack.dead["replica1"] = "exited (137)"
        stack.role_of = {"mysql1": "writer", "replica1": None}
        return inject(key)

    monkeypatch.setattr(breaking, "inject", inject)
    steps = [
        Step(at_s=10, fault="host-loss", target="replica1", for_s=30),
        Step(at_s=15, fault="hang", target="one-reader"),
    ]
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, steps=steps, breaking=breaking, stack=stack
    )
    known = "no server except the writer answers"
    assert (record.status, record.reason) == (
        "failed",
        f"the stack has no target 'one-reader': {known}",
    )


def test_what_cannot_be_healed_after_ctrl_c_is_in_the_reason(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(FakeBreaking):
        def close(self) -> None:
            what, known = "not healed: hang on mysql1", "the engine does not answer"
            raise SandboxError(what, known, "try: make heal", ExitCode.ENVIRONMENT)

    world.interrupt_at_s = 11.5
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=Stuck(world))
    assert record.status == "interrupted"
    assert (
        record.reason
        == "interrupted during faults; not healed: hang on mysql1: the engine does not answer"
    )
    assert world.events[-1] == "prober closed", "the rest ends all the same"


def test_what_cannot_be_healed_after_a_fault_without_effect_is_in_the_reason(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Stuck(FakeBreaking):
        def close(self) -> None:
            raise MachineError(
                "not healed: hang on mysql1", "the engine does not answer", "try: make heal"
            )

    breaking = Stuck(world, missing={"mysql1": "it runs"})
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert record.status == "infra_error"
    assert str(record.reason).startswith(
        "server-crash is not in effect: mysql1: it runs; not healed: hang on mysql1"
    )


@pytest.mark.parametrize(
    ("code", "status"),
    [
        (ExitCode.BAD_INPUT, "failed"),
        (ExitCode.UNKNOWN, "skipped"),
        (ExitCode.ENVIRONMENT, "infra_error"),
    ],
)
def test_a_fault_that_is_refused_ends_the_run_with_its_text(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: ExitCode, status: str
) -> None:
    breaking = FakeBreaking(world)
    breaking.refused = SandboxError(
        "it cannot be", "the kernel has no netem", "try: make doctor", code
    )
    record, _, _ = try_once(world, tmp_path, monkeypatch, breaking=breaking)
    assert (record.status, record.reason) == (status, "it cannot be: the kernel has no netem")


@pytest.mark.parametrize(
    ("step", "what"),
    [
        (Step(at_s=10, fault="hang", target="proxy"), "the stack has no target 'proxy'"),
        (Step(at_s=10, fault="hang", target="wirter"), "there is no target 'wirter'"),
        (Step(at_s=10, fault="hang", target="client1"), "client1 cannot be a target"),
        (
            Step(at_s=10, action="switchover", target="minority"),
            "the stack has no target 'minority'",
        ),
    ],
)
def test_a_target_that_the_stack_never_has_starts_nothing(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: Step, what: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        try_once(world, tmp_path, monkeypatch, steps=[step])
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT
    assert not list(tmp_path.iterdir()) and not world.events


def test_an_internal_error_is_no_refusal() -> None:
    with pytest.raises(SandboxError), refusals():
        raise SandboxError(
            "a bug", "a file defines two faults", "try: make test", ExitCode.INTERNAL
        )


def test_a_probe_that_dies_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.dies_at_s = 11.0
    record, folder, _ = try_once(world, tmp_path, monkeypatch)
    assert (record.status, record.reason) == ("infra_error", "the prober has ended: Killed")
    assert "Killed" not in (folder / record.files["probe"]).read_text(), (
        "its log has its own lines only"
    )


def test_a_probe_that_dies_in_the_tail_leaves_no_figures(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.dies_at_s = 18.0
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error" and record.metrics.rto_ms is None
    assert record.reason == "the prober ended before the trial did; it printed last: Killed"


def test_writes_that_are_never_acknowledged_are_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.broken = True
    monkeypatch.setattr(prober, "FIRST_WRITE_LIMIT_S", 0.2)
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "infra_error"
    assert record.reason == "the prober's writes are not acknowledged: 0 writes in 0 s"


def test_a_load_that_does_not_work_fails_the_run_before_any_fault(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(
        world, load_lines=["FATAL: unable to connect to MySQL server, error 2003"], load_code=1
    )
    record, _, _ = try_once(
        world, tmp_path, monkeypatch, stack=stack, workload="oltp_write_only", loaded=True
    )
    assert record.status == "failed" and world.prober is None and not world.events
    assert str(record.reason).startswith(
        "the load does not work before any fault: "
    ) and "2003" in str(record.reason)


@pytest.mark.parametrize(("role", "said"), [("stale", "stale"), (None, "no role")])
def test_a_server_that_would_keep_an_earlier_ledger_ends_the_run_before_anything_is_done(
    world: World,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    role: Literal["stale"] | None,
    said: str,
) -> None:
    stack = TrialStack(world, role_of={"mysql1": role, "replica1": "writer"})
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "infra_error" and not [
        text for _, text in stack.asked if "TABLE" in text
    ]
    assert str(record.reason).startswith(
        f"a server neither writes nor follows the writer: mysql1: {said} (make ps "
    )


def test_independent_servers_have_nothing_to_follow(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, role_of={"mysql1": "writer", "replica1": "reader", "mysql2": None})
    stack.members.insert(1, server("mysql2"))
    stack.controls["mysql2"] = FakeControl("mysql2", "172.18.0.4")
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "ok"


def test_a_silent_server_at_the_start_is_an_infra_error(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world, fail_sql={"SELECT @@version": (2003, "Can't connect")})
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "infra_error" and str(record.reason).startswith(
        "a server does not answer: "
    )


def test_no_password_is_saved_anywhere(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    try_once(world, tmp_path, monkeypatch)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or PASSWORD not in path.read_text(), path


def test_a_replica_that_has_stopped_is_said_before_any_ledger(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack = TrialStack(world)
    stack.not_ready = {
        "replica1": "receiver No, applier Yes: Got fatal error 1236 from source: purged"
    }
    record, _, _ = try_once(world, tmp_path, monkeypatch, stack=stack)
    assert record.status == "infra_error"
    assert (
        record.reason
        == "a server does not get what is written: replica1: its replication has stopped: Got fatal"
        " error 1236 from source: purged (make ps shows why; make down and make up start a stack"
        " that is whole)"
    )


def test_a_trial_goes_on_until_a_brownout_is_over(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[float] = []

    def is_over(run: object, now_us: float) -> bool:
        looks.append(now_us)
        return len(looks) > 3

    monkeypatch.setattr(trial, "is_brownout_over", is_over)
    record, _, _ = try_once(world, tmp_path, monkeypatch)
    assert record.status == "ok" and len(looks) == 4
    assert trial_of(record).end_ms == pytest.approx(looks[-1] / 1000, abs=1)


def test_a_brownout_that_lasts_does_not_keep_a_trial_for_ever(
    world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "is_brownout_over", lambda run, now_us: False)
    ended = trial_of(try_once(world, tmp_path, monkeypatch)[0])
    assert (ended.end_ms or 0) - (ended.whole_ms or 0) == pytest.approx(66_000, abs=2_500)
