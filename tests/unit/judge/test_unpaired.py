"""Two results compared: cells by their levels, runs without pairs, and what differs besides what
was measured.
"""

import math
from dataclasses import replace

import pytest

from sandbox.judge.calibration import Calibration
from sandbox.judge.changes import Shift
from sandbox.judge.compare import Observation
from sandbox.judge.rank_tests import rank_sum_p
from sandbox.judge.unpaired import (
    PRIMARY,
    ResultSide,
    Unpaired,
    UnpairedVerdict,
    compare_results,
    effect_of_two,
    matched,
    on_scale,
)
from sandbox.judge.variants import differences_between
from sandbox.judge.verdict import judge
from sandbox.record.metrics import METRICS
from sandbox.record.record import Inputs
from unit.record.made_results import HOST, HOST_CLASS, around, cell, matrix_part, side
from unit.record.samples import sample_record
from unit.report.made_up_trials import SEEN_MS, cell_name, part, side_of, trial_side

NOTHING_KNOWN = Calibration()
STEP = Shift("step", 0.5, 10)


def figures(off: float, on: float, seed: int, spread: float = 0.01) -> dict[str, list[float]]:
    return {
        "off": around(off, seed, spread=spread),
        "on": around(on, seed + 1, spread=spread),
        "canary": around(off, seed + 2, spread=spread),
    }


def words(compared: Unpaired) -> dict[tuple[str, str], str]:
    return {
        (each.levels.get("rewriter", "bench"), each.metric): each.word for each in compared.verdicts
    }


def test_what_became_slower_is_worse_and_what_stayed_makes_no_difference() -> None:
    first = side(figures(1000, 900, 1), matrix_part(), "a")
    second = side(figures(1000, 600, 11), matrix_part(), "b")
    compared = compare_results(first, second, NOTHING_KNOWN)
    assert words(compared) == {
        ("off", "tps"): "no difference",
        ("on", "tps"): "worse",
        ("off", "latency_p95_ms"): "no difference",
        ("on", "latency_p95_ms"): "worse",
    }
    slower = compared.verdicts[1]
    assert slower.judgement and slower.runs == (8, 8) and not compared.unfit
    effect = slower.judgement.effect
    assert METRICS["tps"].shown(effect.estimate) == pytest.approx(-1 / 3, abs=0.02)
    assert effect.interval and effect.interval.low < effect.estimate < effect.interval.high < 0
    assert slower.judgement.adjusted_p > effect.p, "four were judged together"
    assert compare_results(second, first, NOTHING_KNOWN).verdicts[1].word == "better"


def test_what_hangs_on_how_long_open_trials_would_have_lasted_is_not_decided() -> None:
    """The latency of B's cell `on` fell, as far as it was seen: all of its trials were still out at
    their end.
    """
    first, second = (
        side(figures(1000, 600, 1), matrix_part(), "a"),
        side(figures(1000, 900, 11), matrix_part(), "b"),
    )
    assert words(compare_results(first, second, NOTHING_KNOWN))["on", "latency_p95_ms"] == "better"
    open_ = [
        replace(run, censored=["latency_p95_ms"] if run.cell == "on" else []) for run in second.runs
    ]
    compared = words(compare_results(first, replace(second, runs=open_), NOTHING_KNOWN))
    assert compared["on", "latency_p95_ms"] == "too noisy" and compared["on", "tps"] == "better"
    # What lasted longer than the other side's ever did stays worse, whatever its end had been.
    slower = [
        replace(run, censored=["latency_p95_ms"] if run.cell == "on" else []) for run in first.runs
    ]
    back = words(compare_results(second, replace(first, runs=slower), NOTHING_KNOWN))
    assert back["on", "latency_p95_ms"] == "worse"


def of_trials(first: ResultSide, second: ResultSide) -> UnpairedVerdict:
    """The verdict on the cell in which something is still out."""
    cell = cell_name("gr", "direct", "host-loss")
    return next(
        each for each in compare_results(first, second, NOTHING_KNOWN).verdicts if each.cell == cell
    )


def test_a_stack_that_was_never_whole_again_lasted_at_least_as_long_as_its_trial() -> None:
    """10 trials whole after 25 s, against 4 after 15 s and 6 never: nothing is better."""
    plan = {"metrics": ["redundancy_ms"]}
    first, second = (
        trial_side(name, rtos, **plan)
        for name, rtos in (("a", [2e3] * 10), ("b", [SEEN_MS] * 6 + [2e3] * 4))
    )
    sooner = [
        (
            each.model_copy(
                update={"metrics": each.metrics.model_copy(update={"redundancy_ms": 15e3})}
            )
            if each.metrics.redundancy_ms and each.block > 6
            else each
        )
        for each in second.records
    ]
    verdict = of_trials(first, side_of("b", sooner, part(**plan)))
    assert (
        verdict.word == "too noisy" and verdict.open_trials == (0, 6) and verdict.runs == (10, 10)
    )
    assert (
        verdict.bounds
        and verdict.bounds[0].low
        and verdict.bounds[0].low > 30e3
        and verdict.bounds[0].high is None
    )
    assert verdict.typical == ((25_005.5, False), (60e3, True))


def test_p_is_the_largest_that_the_open_trials_leave_possible() -> None:
    """By what was seen, every trial of A was shorter than those of B; three of A may have been
    longer.
    """
    first, second = [*[1_000.0] * 7, *[SEEN_MS] * 3], [2 * SEEN_MS] * 10
    verdict = of_trials(trial_side("a", first), trial_side("b", second))
    assert verdict.judgement and verdict.open_trials == (3, 0)
    assert verdict.judgement.effect.p == rank_sum_p([1] * 7 + [3] * 3, [2] * 10)
    assert verdict.judgement.effect.p > rank_sum_p([1] * 7 + [1.5] * 3, [2] * 10)


def test_what_open_trials_leave_undecided_is_so_after_the_adjustment_for_all() -> None:
    """8 of 10 trials took 1 s and 2 never ended, against 5 s: p = 0.023 at the longest, which is
    0.07 of three.
    """
    sides = [
        trial_side(name, rtos, metrics=["rto_ms", "write_errors", "outage_total_ms"])
        for name, rtos in (("a", [*[1_000.0] * 8, SEEN_MS, SEEN_MS]), ("b", [5_000.0] * 10))
    ]
    alike = {"write_errors": 7, "outage_total_ms": 9.0}
    first, second = (
        side_of(
            side.name,
            [
                each.model_copy(update={"metrics": each.metrics.model_copy(update=alike)})
                for each in side.records
            ],
            part(metrics=["rto_ms", *alike]),
        )
        for side in sides
    )
    verdict = of_trials(first, second)
    assert verdict.metric == "rto_ms" and verdict.judgement and verdict.open_trials == (2, 0)
    assert verdict.judgement.effect.p < 0.05 < verdict.judgement.adjusted_p
    assert verdict.word == "too noisy"


def test_what_was_still_out_in_every_trial_is_worse_by_at_least_what_was_seen() -> None:
    verdict = of_trials(
        trial_side("a", [2e3 + block for block in range(10)]), trial_side("b", [SEEN_MS] * 10)
    )
    assert verdict.word == "worse" and verdict.open_trials == (0, 10) and verdict.bounds
    size, interval = verdict.bounds
    assert (
        size.low == pytest.approx(57_995.5)
        and interval
        and interval.low == pytest.approx(57_995, abs=4)
    )
    assert size.high is interval.high is None and verdict.typical[1] == (60e3, True)


def test_what_both_sides_left_open_hides_no_difference_and_shows_none() -> None:
    """7 of 10 trials ended after 20 s on each side: by the lengths seen alone the difference is
    none.
    """
    ended = [[20_000.0 + 3 * block + by for block in range(7)] for by in (0, 1)]
    first, second = (
        trial_side(name, [*each, *[SEEN_MS] * 3]) for name, each in zip("ab", ended, strict=True)
    )
    verdict = of_trials(first, second)
    assert verdict.judgement and verdict.judgement.effect.interval and verdict.open_trials == (3, 3)
    assert judge(verdict.judgement.effect, verdict.judgement.effect.p).word == "no difference"
    assert verdict.word == "too noisy"


def test_cells_meet_by_their_levels_whatever_they_are_called() -> None:
    other = matrix_part(cells=[cell("x", {"rewriter": "on"}), cell("y", {"rewriter": "extra"})])
    first, second = side(figures(1, 1, 1), matrix_part()), side({"x": [1.0], "y": [1.0]}, other)
    assert matched(first, second) == [("on", "x")]
    only = compare_results(first, second, NOTHING_KNOWN).only
    assert only == {"A": [{"rewriter": "off"}], "B": [{"rewriter": "extra"}]}


def test_a_skipped_cell_is_not_there() -> None:
    cells = [
        cell("off", {"rewriter": "off"}),
        cell("on", {"rewriter": "on"}).model_copy(update={"skipped": "no image"}),
    ]
    first = side(figures(1, 1, 1), matrix_part())
    assert matched(first, side({"off": [1.0]}, matrix_part(cells=cells))) == [("off", "off")]


def test_two_benches_show_too_little_and_say_so() -> None:
    compared = compare_results(side({"bench": [1000.0]}), side({"bench": [500.0]}), NOTHING_KNOWN)
    assert words(compared) == {("bench", name): "too noisy" for name in PRIMARY["bench"]}
    assert all(
        each.judgement and each.judgement.effect.interval is None for each in compared.verdicts
    )
    assert all(
        each.judgement and each.judgement.blocks_needed is None for each in compared.verdicts
    )
    assert compared.noise["oltp_read_write", "tps"] == ("unknown", None)
    assert compared.verdicts[0].typical == ((1000.0, False), (500.0, False))


def test_the_margin_is_calibrated_where_both_ran_on_one_kind_of_host() -> None:
    first, second = (
        side(figures(1000, 900, 1), matrix_part(), "a"),
        side(figures(1000, 900, 11), matrix_part(), "b"),
    )
    kind = first.kind("oltp_read_write") or ""
    known = Calibration(known={kind: {"tps": [0.1, -0.1, 0.05]}})
    assert compare_results(first, second, known).noise["oltp_read_write", "tps"][0] == "calibrated"
    assert (
        compare_results(first, second, known).noise["oltp_read_write", "latency_p95_ms"][0]
        == "canary"
    ), "tps alone is known"
    elsewhere = side(figures(1000, 900, 11), matrix_part(host_class="Another, 4 cores"), "b")
    assert compare_results(first, elsewhere, known).noise["oltp_read_write", "tps"][0] == "canary"


def test_the_noisier_canary_sets_the_margin() -> None:
    quiet, noisy = (
        side(figures(1000, 900, 1), matrix_part(), "a"),
        side(figures(1000, 900, 5, 0.2), matrix_part(), "b"),
    )
    first, second, third = (
        compare_results(*pair, NOTHING_KNOWN).noise["oltp_read_write", "tps"][1] or 0.0
        for pair in ((quiet, noisy), (noisy, quiet), (quiet, quiet))
    )
    assert first == second > 5 * third > 0


def test_nothing_is_said_where_either_canary_was_not_fit() -> None:
    bad = {**figures(1000, 600, 11), "canary": around(700, 20)}
    first, second = side(figures(1000, 900, 1), matrix_part(), "a"), side(bad, matrix_part(), "b")
    compared = compare_results(first, second, NOTHING_KNOWN)
    assert list(compared.unfit) == ["B"] and set(words(compared).values()) == {"unfit"}


def test_runs_that_failed_count_for_nothing_and_are_reported() -> None:
    first = side(figures(1000, 900, 1), matrix_part(), "a")
    second = side(figures(1000, 900, 11), matrix_part(), "b", status="infra_error")
    compared = compare_results(first, second, NOTHING_KNOWN)
    assert {each.word for each in compared.verdicts} == {"infra_error"}
    assert compared.verdicts[0].runs == (8, 0) and compared.verdicts[0].missing == 8


def test_a_cell_that_was_not_steady_is_not_judged() -> None:
    first, second = (
        side(figures(1000, 900, 1), matrix_part(), "a"),
        side(figures(1000, 600, 11), matrix_part(), "b"),
    )
    unsteady = [
        Observation(
            run.cell,
            run.block,
            run.status,
            run.values,
            [STEP] if run.cell == "on" and run.block <= 3 else [],
        )
        for run in second.runs
    ]
    second = type(second)("b", second.manifest, second.records, unsteady, second.judged)
    shown = words(compare_results(first, second, NOTHING_KNOWN))
    assert shown["on", "tps"] == "not_steady" and shown["off", "tps"] == "no difference"


def test_samples_of_different_sizes_count_as_their_harmonic_mean() -> None:
    effect = effect_of_two(METRICS["tps"], around(1, 1, 6), around(1, 2, 12), 0.05)
    assert effect.blocks == 8
    assert effect_of_two(METRICS["tps"], [1.0], [1.0], 0.05).blocks == 1


def test_the_spread_of_a_difference_is_that_of_both_sides() -> None:
    assert effect_of_two(METRICS["tps"], [0.0, 3.0], [0.0, 4.0], 0.05).sd == pytest.approx(
        math.sqrt(3**2 / 2 + 4**2 / 2)
    )


def test_only_what_is_above_zero_has_a_ratio() -> None:
    assert on_scale(METRICS["tps"], [0.0, None, 1.0]) == [0.0]
    assert on_scale(METRICS["errors"], [0.0, None, 1.0]) == [0.0, 1.0]


def test_the_host_class_of_a_bench_is_shown_as_a_matrix_shows_it() -> None:
    bench = side({"bench": [1.0]})
    assert bench.host_class == side(figures(1, 1, 1), matrix_part()).host_class
    assert side({}).host_class is None and side({}).kind("oltp_read_write") is None


def test_two_sittings_without_a_difference_are_hardly_ever_better_or_worse() -> None:
    alarms = 0
    for seed in range(200):
        first, second = (
            on_scale(METRICS["tps"], around(1, 2 * seed + sitting, 8, 0.1)) for sitting in (0, 1)
        )
        effect = effect_of_two(METRICS["tps"], first, second, 0.0)
        alarms += judge(effect, effect.p).word in ("better", "worse")
    assert alarms / 200 <= 0.05


FIGURES = {"off": [1.0, 2.0], "on": [1.0, 2.0], "canary": [1.0, 2.0]}


def test_two_results_of_one_setup_differ_in_nothing() -> None:
    found = differences_between(side(FIGURES, matrix_part()), side(FIGURES, matrix_part(), days=3))
    assert not found.others and not found.variables


def test_commit_host_plan_servers_inputs_and_variables_are_reported() -> None:
    newer = [
        (
            node.model_copy(update={"server_version": "9.7.5", "image_id": "sha256:2"})
            if node.name == "mysql1"
            else node
        )
        for node in sample_record().nodes
    ]
    host = HOST.model_copy(
        update={"kernel": "6.2", "inputs": Inputs(assignments=["sync_binlog=0"])}
    )
    first = side(
        FIGURES,
        matrix_part(),
        tool_commit="aaa",
        variables={"mysql1": {"sync_binlog": "1", "port": "1"}},
    )
    second = side(
        FIGURES,
        matrix_part(seconds=10, host_class="Another"),
        tool_commit="bbb+",
        nodes=newer,
        environment=host,
        variables={"mysql1": {"sync_binlog": "0", "port": "2", "new_one": "x"}},
    )
    found = differences_between(first, second)
    shown = [(each.what, each.first, each.second) for each in found.others]
    assert shown == [
        ("commit of this tool", "aaa", "bbb+"),
        ("host class", HOST_CLASS, "Another"),
        ("host: kernel", None, "6.2"),
        ("plan: seconds", "5", "10"),
        ("mysql1: server_version", "9.7.4-2 (Debian)", "9.7.5"),
        ("mysql1: image_id", "sha256:1", "sha256:2"),
        ("input: assignments", None, "sync_binlog=0"),
    ], "each once, though two cells have it"
    variables = [(each.what, each.first, each.second) for each in found.variables]
    assert variables == [("mysql1: new_one", None, "x"), ("mysql1: sync_binlog", "1", "0")]


def test_a_node_that_only_one_has_and_another_load_are_reported() -> None:
    record = sample_record()
    load = record.workload.model_copy(update={"threads": 64})
    first, second = (
        side({"bench": [1.0]}),
        side({"bench": [1.0]}, nodes=record.nodes[:1], workload=load),
    )
    shown = [
        (each.what, each.first, each.second) for each in differences_between(first, second).others
    ]
    assert shown == [("load: threads", "8", "64"), ("replica1: term", "mysql@9.7", None)]


def test_other_options_and_an_edited_file_are_reported() -> None:
    load = sample_record().workload.model_copy(update={"options": {"warehouses": 1}})
    other = load.model_copy(update={"options": {"warehouses": 10}, "file_sha256": "abc"})
    found = differences_between(
        side({"bench": [1.0]}, workload=load), side({"bench": [1.0]}, workload=other)
    )
    assert [(each.what, each.first, each.second) for each in found.others] == [
        ("load: options", "warehouses=1", "warehouses=10"),
        ("load: file_sha256", None, "abc"),
    ]
