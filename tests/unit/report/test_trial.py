"""What `make trial` prints: what was done, how long it was out, what was lost; within 100
columns.
"""

import re
from typing import Any

import pytest

from sandbox.record.record import CheckRecord, Metrics, Record
from sandbox.record.trial import TrialRecord, TrialStep
from sandbox.report.charts.layout import RunData
from sandbox.report.render import terminal
from sandbox.report.text import UNKNOWN, WIDTH
from sandbox.report.trial import (
    ledger_text,
    single_trial_answer,
    step_text,
    time_text,
    trial_document,
    trial_title,
)
from unit.report.made_up_logs import T0_MS
from unit.report.made_up_trials import trial_record


def trial_of(record: Record, **changed: Any) -> TrialRecord:
    """The record's trial with changes."""
    assert record.trial is not None
    return record.trial.model_copy(update=changed)


def changed_trial(**changed: Any) -> Record:
    """A sample record with changes in its trial."""
    record = trial_record()
    return record.model_copy(update={"trial": trial_of(record, **changed)})


def step(**changed: Any) -> TrialStep:
    """A crash that is healed after 15.2 s."""
    given: dict[str, Any] = {
        "fault": "server-crash",
        "target": "writer",
        "nodes": ["galera1"],
        "options": {},
        "at_s": 10.0,
        "began_ms": T0_MS,
        "ended_ms": T0_MS + 61,
        "healed_ms": T0_MS + 15_200,
    }
    return TrialStep(**{**given, **changed})


def action(**changed: Any) -> TrialStep:
    """A promotion half a second after the crash."""
    given: dict[str, Any] = {
        "action": "promote",
        "target": "writer",
        "nodes": ["galera1"],
        "options": {"after_s": 1},
        "at_s": 10.5,
        "began_ms": T0_MS + 500,
        "ended_ms": T0_MS + 2_700,
        "outcome": "replica1 promoted",
    }
    return TrialStep(**{**given, **changed})


def trial_text(record: Record) -> str:
    """What a terminal shows of it."""
    return terminal.text(trial_document(RunData(record)))


def row(text: str, name: str) -> str:
    """The value of a row, in one line."""
    lines = text.splitlines()
    begin = next(
        number for number, line in enumerate(lines) if re.match(rf"{re.escape(name)}  ", line)
    )
    width = len(lines[begin]) - len(lines[begin][len(name) :].lstrip())
    found = [lines[begin][width:]]
    for line in lines[begin + 1 :]:
        if not line or line[:width].strip():
            break
        found.append(line[width:])
    return " ".join(each.strip() for each in found)


def test_pauses_queues_and_load_have_a_row_where_they_are_known() -> None:
    plain = trial_record()
    assert "largest queue" not in trial_text(plain)
    changed = {
        "flow_control_paused_percent": 41.25,
        "queue_max": 1_234,
        "load_tps_change_percent": -62.4,
    }
    text = trial_text(
        plain.model_copy(update={"metrics": plain.metrics.model_copy(update=changed)})
    )
    assert row(text, "paused by flow control") == "41.25 % of the time until the heal"
    assert row(text, "largest queue") == "1,234 transactions received and not yet applied"
    assert row(text, "change of the load") == "-62 % transactions per second until the heal"


def test_a_trial_in_lines() -> None:
    text = trial_text(trial_record())
    lines = text.splitlines()
    assert lines[0] == "server-crash of writer on galera3+haproxy through writer  ok"
    assert lines[-1].startswith("One trial has no interval")
    assert (
        row(text, "fault")
        == "server-crash on galera1 (writer), in effect in 61 ms, healed 15.0 s later"
    )
    assert row(text, "RTO") == "2,500 ms (± 10)"
    assert row(text, "passed") == "lost, phantom"
    assert max(map(len, lines)) <= WIDTH


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (step(), "server-crash on galera1 (writer), in effect in 61 ms, healed 15.2 s later"),
        (step(healed_ms=None), "server-crash on galera1 (writer), in effect in 61 ms, not healed"),
        (
            step(
                options={"away_from": "proxies"},
                fault="partition",
                nodes=["a", "b"],
                target="minority",
            ),
            (
                "partition away_from=proxies on a, b (minority), in effect in 61 ms, healed 15.2 s"
                " later"
            ),
        ),
        (
            step(began_ms=T0_MS + 8_000, ended_ms=T0_MS + 8_061),
            "server-crash on galera1 (writer) at +8.0 s, in effect in 61 ms, healed 7.2 s later",
        ),
        (action(), "promote after_s=1 at +0.5 s, done in 2.2 s: replica1 promoted"),
        (
            action(
                refused=True, outcome="the old writer answers: it would be a second one", options={}
            ),
            (
                "promote at +0.5 s, not done after 2.2 s: the old writer answers: it would be a"
                " second one"
            ),
        ),
        (
            action(outcome=None, options={}),
            "promote at +0.5 s, under way when the trial was interrupted",
        ),
        (action(began_ms=T0_MS, options={}), "promote, done in 2.7 s: replica1 promoted"),
    ],
)
def test_a_step_in_words(given: TrialStep, text: str) -> None:
    assert step_text(given, trial_of(trial_record())) == text


def test_faults_and_actions_are_rows_of_their_own_and_in_the_title() -> None:
    record = changed_trial(
        steps=[step(), action(), action(action="rejoin", options={}, outcome="rejoined: galera1")]
    )
    assert (
        trial_title(record)
        == "server-crash of writer, promote, rejoin on galera3+haproxy through writer"
    )
    text = trial_text(record)
    assert row(text, "action").startswith("promote after_s=1 at +0.5 s, done in 2.2 s")
    assert (
        len(re.findall(r"^action  ", text, re.MULTILINE)) == 2
        and len(re.findall(r"^fault ", text, re.MULTILINE)) == 1
    )


def test_why_there_is_no_lag_is_said() -> None:
    record = changed_trial(steps=[step(fault="clock-skew")])
    record = record.model_copy(
        update={"metrics": record.metrics.model_copy(update={"lag_max_ms": None})}
    )
    assert row(trial_text(record), "largest lag").startswith(
        "unknown: rows are dated by the clocks of the"
    )


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, "no load beside it"),
        ({"load_starts": 3, "load_rate_per_s": 134}, "load 134/s beside it"),
        ({"load_starts": 3}, "an unlimited load beside it"),
    ],
)
def test_what_ran_beside_the_probe(changed: dict[str, Any], said: str) -> None:
    text = row(trial_text(changed_trial(**changed)), "prober")
    assert text.startswith(
        "100 writes/s pooled, 20/s on new connections, 100 + 100 reads/s, through the proxy;"
    )
    assert text.endswith(f"time-out 2 s; {said}")


def test_a_probe_that_knows_every_server_says_so() -> None:
    assert "direct: it knows every server and tries the next" in row(
        trial_text(trial_record(direct=True)), "prober"
    )


@pytest.mark.parametrize(
    ("value", "still_open", "name", "text"),
    [
        (2310.4, False, "rto_ms", "2,310 ms (± 10)"),
        (60_000.0, True, "rto_ms", "at least 60,000 ms (still open at the end)"),
        (0.0, False, "rto_ms", "no outage above 50 ms"),
        (0.0, False, "rto_new_connection_ms", "no outage"),
        (340.0, False, "lag_max_ms", "340 ms (± 200)"),
        (25_001.0, False, "redundancy_ms", "25,001 ms"),
    ],
)
def test_a_time_has_its_resolution_or_says_what_it_is(
    value: float, still_open: bool, name: str, text: str
) -> None:
    assert time_text(value, still_open, name, trial_of(trial_record())) == text


@pytest.mark.parametrize(
    ("lasted_ms", "text"), [(104.0, "104 ms, began at +5.4 s"), (5_490.0, "5,490 ms")]
)
def test_a_first_outage_that_began_later_says_so(lasted_ms: float, text: str) -> None:
    """A short gap long after the fault would look as long as its RTO."""
    plain = trial_record(rto_ms=5_500.0)
    metrics = plain.metrics.model_copy(update={"outage_first_ms": lasted_ms})
    assert row(trial_text(plain.model_copy(update={"metrics": metrics})), "first outage") == text


def test_checks_that_do_not_pass_have_a_row_each() -> None:
    checks = [
        CheckRecord(name="lost", verdict="pass", detail="all"),
        CheckRecord(name="actions_done", verdict="fail", detail="promote: the old writer answers"),
        CheckRecord(name="split_brain", verdict="skipped", detail="no other writer was elected"),
    ]
    text = trial_text(trial_record(checks=checks))
    assert row(text, "fail") == "actions_done: promote: the old writer answers"
    assert (
        row(text, "skipped") == "split_brain: no other writer was elected"
        and row(text, "passed") == "lost"
    )


def test_a_ledger_that_could_not_be_read_is_unknown_and_never_zero() -> None:
    trial = trial_of(trial_record(lost=None))
    assert ledger_text(trial).endswith(f": {UNKNOWN} lost, 0 phantom, 0 duplicate, 5 recovered")
    assert ledger_text(trial.model_copy(update={"ledger": None})) == UNKNOWN


def test_a_run_that_ended_before_it_broke_anything_says_why() -> None:
    reason = "the probe's writes are not acknowledged: 0 writes in 30 s"
    record = trial_record(
        status="infra_error", reason=reason, trial=None, metrics=Metrics(), checks=[]
    )
    text = trial_text(record)
    assert text.splitlines()[:2] == ["trial on galera3+haproxy through writer  infra_error", reason]
    assert "One trial" not in text and "RTO" not in text and row(text, "passed") == "none"


def test_a_trial_without_figures_still_shows_what_was_done() -> None:
    text = trial_text(changed_trial(figures=None, ledger=None, writers=[]))
    assert row(text, "writers seen") == row(text, "ledger") == UNKNOWN
    assert row(text, "errors during") == "none" and row(text, "fault").startswith("server-crash")


def with_figures(metrics: dict[str, Any], **figures: Any) -> Record:
    """A trial with other figures."""
    record = trial_record()
    trial = trial_of(record)
    assert trial.figures
    changed = trial.model_copy(update={"figures": trial.figures.model_copy(update=figures)})
    return record.model_copy(
        update={"trial": changed, "metrics": record.metrics.model_copy(update=metrics)}
    )


def test_without_an_outage_the_headline_is_the_longest_stall() -> None:
    nothing = {
        "rto_ms": 0.0,
        "outage_first_ms": 0.0,
        "outage_longest_ms": 0.0,
        "outage_total_ms": 0.0,
    }
    record = with_figures(nothing, **nothing, longest_stall_ms={"pooled": 61.0})
    assert single_trial_answer(record).startswith("Writes had no outage; longest stall 61 ms.")
    assert "RTO                      no outage; longest stall 61 ms" in trial_text(record)


def test_an_outage_after_the_heal_is_none_of_the_fault() -> None:
    after = {
        "rto_ms": 0.0,
        "outage_first_ms": 900.0,
        "outage_longest_ms": 900.0,
        "outage_total_ms": 900.0,
    }
    record = with_figures(
        after, **after, outage_first_began_ms=20_000.0, longest_stall_ms={"pooled": 900.0}
    )
    shown = trial_text(record)
    assert (
        "no outage while it was broken; longest stall 900 ms" in shown
        and "900 ms, began at +20.0 s" in shown
    )


def test_an_outage_that_began_late_is_given_with_its_own_length() -> None:
    late = {"rto_ms": 14_861.0, "outage_first_ms": 2_038.0}
    answer = single_trial_answer(with_figures(late, **late, outage_first_began_ms=12_823.0))
    assert answer.startswith("Writes were out for 2,038 ms, from +12.8 s on")
