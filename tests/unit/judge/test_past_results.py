"""One plan over time: a value with its interval for each result, and where it changed for good."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from sandbox.judge.calibration import Calibration
from sandbox.judge.past_results import history_of, subject
from sandbox.judge.unpaired import ResultSide
from sandbox.record.record import Inputs, Record
from unit.record.made_results import HOST, around, matrix_part, side
from unit.record.samples import sample_record
from unit.report.made_up_trials import trial_side

KNOWN = Calibration()


def results(levels: Sequence[float]) -> list[ResultSide]:
    """A result a day, each at a level of its own."""
    return [
        side(
            {
                "off": around(level, 9 * day),
                "on": around(900, 9 * day + 1),
                "canary": around(level, 9 * day + 2),
            },
            matrix_part(),
            f"r{day}",
            days=day,
            tool_commit=f"commit{day}",
        )
        for day, level in enumerate(levels)
    ]


def test_each_result_has_its_value_with_interval_date_and_version() -> None:
    history = history_of(results([1000, 1010]), ["tps"], {}, KNOWN)
    assert [dict(series.levels) for series in history.series] == [
        {"rewriter": "off"},
        {"rewriter": "on"},
    ]
    first, second = history.series[0].points
    assert first.value == pytest.approx(1000, rel=0.02) and second.value == pytest.approx(
        1010, rel=0.02
    )
    assert first.interval and first.interval[0] < first.value < (first.interval[1] or 0.0)
    assert (first.result, first.runs, first.version, first.tool_commit) == (
        "r0",
        8,
        "9.7.4-2 (Debian)",
        "commit0",
    )
    assert not first.unfit and first.change is None


def test_a_change_for_good_stands_at_the_result_that_began_it() -> None:
    history = history_of(
        results([1000] * 6 + [800] * 5), ["tps", "latency_p95_ms"], {"rewriter": ["off"]}, KNOWN
    )
    tps, latency = history.series
    changed = {point.result: point.change for point in tps.points if point.change}
    assert (
        list(changed) == ["r6"]
        and changed["r6"]
        and tps.metric.shown(changed["r6"].effect) == pytest.approx(-0.2, abs=0.02)
    )
    assert [point.result for point in latency.points if point.change] == ["r6"]
    assert not any(
        point.change
        for point in history_of(results([1000] * 11), ["tps"], {}, KNOWN).series[0].points
    )


def test_what_cannot_stand_beside_the_newest_is_left_out_with_the_reason() -> None:
    figures = {"off": around(1000, 1), "on": around(900, 2), "canary": around(1000, 3)}
    load = sample_record().workload.model_copy(update={"threads": 64})
    sides = [
        side(figures, matrix_part(host_class="Another"), "elsewhere"),
        side(figures, matrix_part(depth="restart"), "deeper"),
        side(figures, matrix_part(), "busier", workload=load),
        side(figures, matrix_part(), "lost", status="infra_error"),
        side(figures, matrix_part(), "newest"),
    ]
    history = history_of(sides, ["tps"], {}, KNOWN)
    assert history.left_out == {
        "elsewhere": "different host class: Another",
        "deeper": "different depth: restart",
        "busier": "different load: threads 64 instead of 8",
        "lost": "no run was ok",
    }
    assert [point.result for point in history.series[0].points] == ["newest"]


def test_a_block_that_was_thrown_away_is_in_no_history() -> None:
    whole = side(
        {"off": around(1000, 1), "on": around(900, 2), "canary": around(1000, 3)},
        matrix_part(),
        "r",
    )
    cold = [
        each.model_copy(
            update={"block": 0, "metrics": each.metrics.model_copy(update={"tps": 1.0})}
        )
        for each in whole.records
        if each.block == 1
    ]
    with_it = replace(whole, records=[*cold, *whole.records])
    point = history_of([with_it], ["tps"], {}, KNOWN).series[0].points[0]
    assert point.runs == 8 and point.value == pytest.approx(1000, rel=0.02)


def test_another_entry_point_of_one_bench_is_another_history() -> None:
    load = sample_record().workload
    assert load.entry
    through = load.model_copy(update={"entry": load.entry.model_copy(update={"via": "proxysql1"})})
    sides = [
        side({"bench": [900.0]}, None, "through", environment=HOST, workload=through),
        side({"bench": [1000.0]}, None, "newest", environment=HOST),
    ]
    left_out = history_of(sides, ["tps"], {}, KNOWN).left_out
    assert left_out["through"] == f"different load: entry proxysql1 instead of {load.entry.via}"


def test_another_configuration_of_one_bench_is_another_history() -> None:
    load = sample_record().workload
    small = HOST.model_copy(update={"inputs": Inputs(assignments=["sync_binlog=0"], cpus="0.5")})
    more = load.model_copy(update={"options": {"warehouses": 10}})
    sides = [
        side({"bench": [1000.0]}, None, "small", environment=small),
        side({"bench": [1000.0]}, None, "grown", environment=HOST, workload=more),
        side(
            {"bench": [1000.0]},
            None,
            "edited",
            environment=HOST,
            workload=load.model_copy(update={"file_sha256": "f"}),
        ),
        side({"bench": [1000.0]}, None, "newest", environment=HOST),
    ]
    left_out = history_of(sides, ["tps"], {}, KNOWN).left_out
    assert (
        left_out["small"]
        == "different load: assignments sync_binlog=0 instead of None, cpus 0.5 instead of None"
    )
    assert (
        left_out["grown"].startswith("different load: options warehouses=10 instead of ")
        and "edited" in left_out
    )


def test_a_result_whose_canary_was_not_fit_is_marked() -> None:
    bad = side(
        {"off": around(1000, 1), "on": around(900, 2), "canary": around(700, 3)},
        matrix_part(),
        "bad",
    )
    points = history_of([bad, *results([1000])], ["tps"], {}, KNOWN).series[0].points
    assert [point.unfit for point in points] == [True, False]


def test_benches_have_a_history_of_their_own() -> None:
    sides = [
        side({"bench": [1000.0 + day]}, None, f"b{day}", days=day, environment=HOST)
        for day in range(3)
    ]
    (series,) = history_of(sides, ["tps"], {}, KNOWN).series
    assert [point.value for point in series.points] == pytest.approx([1000, 1001, 1002])
    assert all(point.interval is None for point in series.points)
    assert subject(sides[0]) == ("bench", "mysql@9.7", "oltp_read_write")
    assert subject(results([1])[0]) == ("matrix", "quick")


def test_a_metric_that_can_be_zero_is_taken_as_it_is() -> None:
    (series,) = history_of([side({"bench": [1.0]})], ["errors"], {}, KNOWN).series
    assert series.points[0].value == 0


def test_another_schedule_of_the_trials_is_another_history() -> None:
    """Except where it is drawn anew for each block."""
    lengths = [2_000.0 + block for block in range(8)]
    newest, edited = trial_side("newest", lengths), trial_side("edited", lengths)
    longer = [_with_step(each, at_s=20.0) for each in edited.records]
    drawn = [_with_step(each, at_s=10.0 + each.block) for each in edited.records]
    others = [_with_step(each, at_s=30.0 + each.block) for each in edited.records]
    found = history_of([replace(edited, records=longer), newest], ["rto_ms"], {}, KNOWN)
    before, now = "server-crash writer at 20 s", "server-crash writer at 10 s"
    assert found.left_out == {"edited": f"different load: breaks {before} instead of {now}"}
    sides = [replace(edited, records=drawn), replace(newest, records=others)]
    assert not history_of(sides, ["rto_ms"], {}, KNOWN).left_out


def _with_step(record: Record, at_s: float) -> Record:
    assert record.trial
    steps = [step.model_copy(update={"at_s": at_s}) for step in record.trial.steps]
    return record.model_copy(update={"trial": record.trial.model_copy(update={"steps": steps})})
