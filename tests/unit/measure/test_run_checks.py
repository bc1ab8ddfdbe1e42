"""Verdicts on a run: what passes, what fails, what is not known; and the conditions that a matrix
adds.
"""

from typing import Any

import pytest
from pydantic import ValidationError

from sandbox.matrix.definition import Matrix
from sandbox.measure import run_checks
from sandbox.measure.run_checks import Condition
from sandbox.record.record import Absence, CheckRecord, Metrics
from sandbox.stack.protocol import SettingProof

LOAD = Metrics(queries=1000, transactions=50, measured_s=10.0)


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [(["ON"], "pass"), (["ON", "OFF"], "fail"), (["ON", None], "fail"), ([], "skipped")],
)
def test_settings(answers: list[str | None], verdict: str) -> None:
    proofs = [
        SettingProof("threadpool", f"mysql{i}", "ON", answer) for i, answer in enumerate(answers)
    ]
    assert run_checks.settings_in_effect(proofs).verdict == verdict


def test_set_is_read_back_from_the_node_that_it_names() -> None:
    asked = ["sync_binlog=1 galera2:max_connections=50"]
    servers = {
        "galera1": {"sync_binlog": "1", "max_connections": "151"},
        "galera2": {"sync_binlog": "1", "max_connections": "50"},
    }
    found = run_checks.set_in_effect(asked, servers)
    assert (found.verdict, found.detail) == (
        "pass",
        "read back from galera1, galera2: sync_binlog=1 galera2:max_connections=50",
    )
    servers["galera2"]["max_connections"] = "151"
    found = run_checks.set_in_effect(asked, servers)
    assert (found.verdict, found.detail) == ("fail", "galera2: max_connections is 151, not 50")


@pytest.mark.parametrize(
    ("metrics", "failure", "answered", "verdict"),
    [
        (LOAD, None, {"a": 600, "b": 410}, "pass"),
        (LOAD, None, {"a": 900}, "fail"),
        (LOAD, None, {}, "fail"),
        (Metrics(queries=0, transactions=0), None, {"a": 40}, "fail"),
        (Metrics(queries=500, transactions=0), None, {"a": 500}, "fail"),
        (Metrics(), None, {"a": 40}, "skipped"),
        (Metrics(), "it broke off", {"a": 40}, "unknown"),
    ],
)
def test_the_load_must_have_reached_the_servers(
    metrics: Metrics, failure: str | None, answered: dict[str, int], verdict: str
) -> None:
    assert run_checks.load_reached(metrics, failure, answered).verdict == verdict


@pytest.mark.parametrize(("aborted", "verdict"), [(120, "pass"), (30, "fail")])
def test_statements_that_galera_aborts_are_not_counted_by_it(aborted: int, verdict: str) -> None:
    conflicting = LOAD.model_copy(update={"conflicts": 150})
    assert run_checks.load_reached(conflicting, None, {"a": 900}, aborted).verdict == verdict
    assert run_checks.load_reached(LOAD, None, {"a": 900}, aborted).verdict == "fail", (
        "none of them was the load's"
    )


@pytest.mark.parametrize(
    ("counted", "verdict"), [(1100, "pass"), (1299, "pass"), (1400, "unknown")]
)
def test_somebody_else_at_work_is_noticed(counted: int, verdict: str) -> None:
    assert run_checks.load_alone(LOAD, None, {"a": counted}).verdict == verdict


def test_goodbyes_that_a_server_counts_are_nobody_elses_work() -> None:
    storm = LOAD.model_copy(update={"connections": LOAD.queries})
    assert run_checks.load_alone(storm, None, {"a": 3 * (LOAD.queries or 0)}).verdict == "pass"
    assert run_checks.load_alone(storm, None, {"a": 4 * (LOAD.queries or 0)}).verdict == "unknown"


def test_only_servers_that_did_the_work_are_named() -> None:
    assert run_checks.answering(LOAD, {"a": 995, "b": 9}) == {"a": 995}
    assert run_checks.answering(LOAD, {"a": 800, "b": 201, "c": 199}) == {"a": 800, "b": 201}
    assert run_checks.answering(Metrics(queries=30, measured_s=5.0), {"a": 35, "b": 20}) == {
        "a": 35
    }
    assert run_checks.answering(Metrics(), {"a": 995}) is None


@pytest.mark.parametrize(
    ("down", "died", "verdict"),
    [({}, {}, "pass"), ({"b": "exited"}, {}, "unknown"), ({}, {"a": "exited (137)"}, "fail")],
)
def test_nodes_alive(down: dict[str, str], died: dict[str, str], verdict: str) -> None:
    assert run_checks.nodes_alive(down, died).verdict == verdict


@pytest.mark.parametrize(
    ("sampled", "expected", "verdict"),
    [
        ({"a": 30, "b": 28}, {"a": 30, "b": 30}, "pass"),
        ({"a": 30, "b": 20}, {"a": 30, "b": 30}, "unknown"),
        ({"a": 30}, {"a": 30, "b": 30}, "unknown"),
        ({}, {"a": 0}, "unknown"),
        ({}, {}, "unknown"),
    ],
)
def test_servers_sampled(sampled: dict[str, int], expected: dict[str, int], verdict: str) -> None:
    assert run_checks.servers_sampled(sampled, expected).verdict == verdict


def check(name: str, verdict: str) -> CheckRecord:
    """A check with a detail of its own."""
    return CheckRecord.model_validate({"name": name, "verdict": verdict, "detail": f"about {name}"})


@pytest.mark.parametrize(
    ("failure", "checks", "expected"),
    [
        (None, [check("load_alone", "unknown")], ("ok", None)),
        (
            None,
            [check("load_reached_server", "fail")],
            ("failed", "load_reached_server: about load_reached_server"),
        ),
        ("error 1290", [check("load_reached_server", "unknown")], ("failed", "error 1290")),
        ("error 2013", [check("nodes_alive", "fail")], ("infra_error", "about nodes_alive")),
    ],
)
def test_the_verdict_names_the_cause(
    failure: str | None, checks: list[CheckRecord], expected: tuple[str, str | None]
) -> None:
    assert run_checks.verdict(failure, checks) == expected


SHARED: dict[str, Any] = {
    "where": {"variant": ["router"], "threads": [64, 256]},
    "status": "Threads_connected",
    "below_share_of_threads": 0.5,
    "because": "not shared",
}


def matrix(**changes: Any) -> Matrix:
    """Two variants by two numbers of threads, with a condition."""
    data = {
        "name": "x",
        "title": "X",
        "question": "What?",
        "common": {"profile": "gr1@9.7"},
        "factors": {"variant": {"direct": {}, "router": {"add": "router"}}, "threads": [16, 64]},
        "baseline": {"variant": "direct"},
        "conditions": [{**SHARED, "where": {"variant": "router", "threads": 64}}],
    }
    return Matrix.model_validate({**data, **changes})


def test_it_holds_where_all_that_it_names_is_so() -> None:
    condition = Condition.model_validate(SHARED)
    assert condition.holds_for({"variant": "router", "threads": "64", "other": "x"})
    assert not condition.holds_for({"variant": "router", "threads": "16"})
    assert not condition.holds_for({"variant": "direct", "threads": "64"})


def test_bounds_are_met_and_reported() -> None:
    share = Condition.model_validate(SHARED)
    assert share.met_by(31, 64) and not share.met_by(32, 64)
    assert share.bound(64) == "less than 32, 0.5 times the 64 threads of the load"
    limit = Condition(status="Com_stmt_execute", at_most=0, because="x")
    assert limit.met_by(0, 1) and not limit.met_by(1, 1) and limit.bound(1) == "at most 0"


def test_cells_know_their_conditions() -> None:
    made = matrix()
    assert [len(made.conditions_of(cell)) for cell in made.all_cells()] == [0, 0, 0, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {"conditions": [{**SHARED, "where": {"variant": "roter"}}]},
            "factor variant has no level 'roter'",
        ),
        ({"conditions": [{**SHARED, "where": {"variants": "router"}}]}, "no factor 'variants'"),
        ({"conditions": [{**SHARED, "at_most": 1}]}, "one bound"),
        ({"conditions": [{"status": "x", "because": "y"}]}, "one bound"),
        ({"conditions": [{**SHARED, "take": "mean"}]}, "median"),
    ],
)
def test_what_makes_no_sense_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        matrix(**changes)


def test_the_baseline_is_the_first_of_a_list_that_can_run() -> None:
    made = matrix(baseline={"variant": ["router", "direct"]})
    assert made.baseline == {"variant": "router"} and made.baseline_else == {"variant": ["direct"]}
    settled = made.with_baseline_among(lambda cell: cell.levels["variant"] == "direct")
    assert settled.baseline == {"variant": "direct"} and not settled.baseline_else
    assert made.with_baseline_among(lambda _: True).baseline == {"variant": "router"}
    assert made.with_baseline_among(lambda _: False).baseline == {"variant": "router"}, (
        "the refusal names the first"
    )
    with pytest.raises(ValidationError, match="no level 'nobody'"):
        matrix(baseline={"variant": ["direct", "nobody"]})


def away(**changed: Any) -> Absence:
    given: dict[str, Any] = {
        "member": "g3",
        "from_s": 2.5,
        "until_s": 4.5,
        "error": "error 1047 (x)",
        "on_purpose": True,
    }
    return Absence(**{**given, **changed})


SECONDS = [(1, 300.0), (2, 300.0), (3, 250.0), (4, 200.0), (5, 150.0), (6, 300.0)]


def test_members_that_all_took_their_share() -> None:
    check = run_checks.members_loaded([], 3, SECONDS)
    assert check.verdict == "pass" and "all 3 members" in check.detail


def test_a_member_that_was_away_on_purpose_leaves_two_rates() -> None:
    check = run_checks.members_loaded([away()], 3, SECONDS)
    assert check.verdict == "unknown"
    assert (
        check.detail
        == "g3 took no load from 2.5 s to 4.5 s (stopped or broken on purpose; error 1047 (x)):"
        " 300.0 tps with all 3 members (3 seconds), 200.0 tps with fewer (3 seconds)"
    )


def test_a_member_that_nobody_had_stopped_fails_the_run() -> None:
    check = run_checks.members_loaded([away(until_s=None, on_purpose=False)], 3, SECONDS)
    assert check.verdict == "fail" and "to the end (nobody had stopped or broken it" in check.detail
    assert "(2 seconds), 225.0 tps with fewer (4 seconds)" in check.detail


def test_statements_that_an_absent_server_does_not_count_any_more_are_no_failure() -> None:
    metrics = Metrics(queries=1000, transactions=50)
    assert run_checks.load_reached(metrics, None, {"g1": 600}).verdict == "fail"
    check = run_checks.load_reached(metrics, None, {"g1": 600}, uncounted_at=["g3"])
    assert check.verdict == "unknown" and "without g3, which was away" in check.detail
