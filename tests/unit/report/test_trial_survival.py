"""Pairs with open trials: the log-rank test decides, and nothing is claimed that those trials could
still refute.
"""

from collections.abc import Sequence

import pytest

from sandbox.judge.compare import Judged, lasted
from sandbox.judge.matrix import judge_matrix
from sandbox.judge.open_trials import CENSORED, Bounds, CensoredVerdict, by_log_rank, outlasts
from sandbox.judge.rank_tests import log_rank_p
from sandbox.judge.verdict import benjamini_hochberg
from sandbox.record.record import Record
from sandbox.report.verdicts import any_open, censored_figures, figures, verdict_data, wide_figures
from unit.record.samples import sample_record
from unit.report.made_up_trials import (
    SEEN_MS,
    cell_name,
    judged,
    part,
    records,
    trial_record,
    with_percentile,
)

CELL, BASE = cell_name("gr", "haproxy", "host-loss"), cell_name("gr", "direct", "host-loss")
SAME = cell_name("galera", "direct", "host-loss")
"""Of which the canary is a repeat."""


def of(found: Judged, cell: str = CELL, metric: str = "rto_ms") -> CensoredVerdict:
    verdict = next(each for each in found.verdicts if (each.cell, each.metric) == (cell, metric))
    assert isinstance(verdict, CensoredVerdict)
    return verdict


def pair(
    cell: Sequence[float],
    base: Sequence[float],
    open_from: float = SEEN_MS,
    same: Sequence[float] = (9_000.0,) * 6,
) -> Judged:
    """A matrix in which only this pair and the canary (``same``) were run; trials from
    ``open_from`` on were open.
    """
    made = [
        trial_record(cell=name, block=block, rto_ms=rto, still_out=rto >= open_from)
        for name, lengths in ((CELL, cell), (BASE, base), ("canary", same), (SAME, [9_000.0] * 6))
        for block, rto in enumerate(lengths, 1)
    ]
    return judged(made, part(metrics=["rto_ms"]))


def test_a_length_knows_whether_it_was_still_open() -> None:
    ended, still_out = trial_record(rto_ms=2_500.0), trial_record(rto_ms=SEEN_MS, still_out=True)
    assert lasted(ended, "rto_ms") == (2_500.0, False) and lasted(still_out, "rto_ms") == (
        SEEN_MS,
        True,
    )
    assert lasted(ended, "redundancy_ms") == (25_001.0, False)
    assert lasted(still_out, "redundancy_ms") == (
        60_000.0,
        True,
    ), "not whole until the end, 60 s after t0"
    assert lasted(still_out, "election_ms") is None
    assert (
        lasted(sample_record(), "latency_p95_ms") == (10.27, False)
        and lasted(sample_record(), "rto_ms") is None
    )


def test_a_result_without_open_trials_stays_as_it_is() -> None:
    closed = [each for each in records() if each.metrics.rto_ms != SEEN_MS]
    plain = judge_matrix(part(), closed, lambda _: (), {})
    assert by_log_rank(plain, part(), closed) is plain and not any_open(plain)


def test_the_log_rank_test_is_over_all_trials_of_both_cells() -> None:
    ours = [lasted(each, "rto_ms") or (0.0, False) for each in records() if each.cell == CELL]
    theirs = [lasted(each, "rto_ms") or (0.0, False) for each in records() if each.cell == BASE]
    verdict = of(judged())
    assert verdict.p == log_rank_p(ours, theirs) == pytest.approx(0.0237, abs=1e-4)
    assert verdict.open_trials == (8, 2) and verdict.word == "worse" and outlasts(ours, theirs)


def test_of_two_that_last_alike_neither_outlasts_the_other() -> None:
    same = [(1.0, False), (2.0, True)]
    assert not outlasts(same, same)
    assert outlasts([(2.0, True)], [(1.0, False)]) and not outlasts([(1.0, False)], [(2.0, True)])


def test_every_p_is_adjusted_together_again() -> None:
    found = judged()
    p_values = [each.judgement.effect.p for each in found.verdicts if each.judgement]
    adjusted = [each.judgement.adjusted_p for each in found.verdicts if each.judgement]
    assert adjusted == benjamini_hochberg(p_values) and of(found).p in p_values


def test_the_size_is_what_holds_however_long_the_open_trials_would_have_lasted() -> None:
    base = [9_000.0 + block for block in range(10)]
    verdict = of(pair([*[SEEN_MS] * 8, 2_500.0, 2_500.0], base))
    assert (
        verdict.size.low is not None
        and 0 < verdict.size.low < SEEN_MS
        and verdict.size.high is None
    )
    assert verdict.word == "worse"
    mirrored = of(pair(base, [*[SEEN_MS] * 8, 2_500.0, 2_500.0]))
    assert mirrored.size == Bounds(None, -verdict.size.low) and mirrored.word == "better"
    assert verdict.interval and mirrored.interval
    assert (mirrored.interval.low, mirrored.interval.high) == (None, -(verdict.interval.low or 0))


def test_one_open_trial_does_not_hide_what_all_others_show() -> None:
    verdict = of(
        pair(
            [*[1_000.0 + block for block in range(9)], SEEN_MS],
            [9_000.0 + block for block in range(10)],
        )
    )
    assert verdict.size.low == pytest.approx(-8_000, abs=2) and verdict.size.high == pytest.approx(
        -8_000, abs=2
    )
    assert verdict.word == "better"
    assert verdict.interval == Bounds(-8_000, None), (
        "its end is the 9th of 55 averages, and 10 are without an end"
    )


def test_a_difference_that_the_test_does_not_see_is_censored_and_never_none() -> None:
    verdict = of(
        pair(
            [*[2_000.0 + block for block in range(9)], SEEN_MS],
            [2_000.5 + block for block in range(10)],
        )
    )
    assert verdict.p > 0.05 and verdict.word == CENSORED
    assert figures(verdict)[-1] == "censored (1 open)"


def test_a_difference_below_the_margin_does_not_count() -> None:
    """Every trial is shorter by 20 ms, which the test sees; the smallest difference that counts is
    50 ms.
    """
    verdict = of(pair([*[1_000.0] * 9, SEEN_MS], [1_020.0] * 10))
    assert verdict.p < 0.05 and verdict.judgement and verdict.judgement.effect.margin == 50
    assert verdict.word == CENSORED


def test_the_test_decides_alone_where_both_sides_are_open() -> None:
    verdict = of(pair([SEEN_MS] * 10, [*[2_000.0 + block for block in range(6)], *[SEEN_MS] * 4]))
    assert verdict.size == Bounds(None, None) and verdict.p < 0.05 and verdict.word == "worse"
    assert figures(verdict)[:2] == ("open", "open … open")


def test_where_both_sides_are_open_what_was_seen_must_differ_by_the_margin() -> None:
    """24 of 60 open on either side, in different blocks; the others take 2,000 and 2,001 ms."""
    ours = [*[SEEN_MS] * 24, *[2_000.0] * 36]
    theirs = [*[2_001.0] * 36, *[SEEN_MS] * 24]
    verdict = of(pair(ours, theirs))
    assert verdict.size == Bounds(None, None) and verdict.p < 0.05 and verdict.word == CENSORED


def test_without_a_canary_nothing_is_better_or_worse() -> None:
    verdict = of(pair([SEEN_MS] * 10, [2_000.0 + block for block in range(10)], same=[9_000.0]))
    assert verdict.p < 0.05 and verdict.word == CENSORED


@pytest.mark.parametrize(("canary", "word"), [(1, "better"), (5, "too noisy")])
def test_an_open_trial_of_the_canary_is_no_noise(canary: int, word: str) -> None:
    """2 s against 20 s is better, unless so many canary trials were open that the noise is
    unknown.
    """
    same = [*[SEEN_MS] * canary, *[9_000.0 + block for block in range(6 - canary)]]
    found = pair(
        [2_000.0 + block for block in range(10)],
        [20_000.0 + block for block in range(10)],
        same=same,
    )
    verdict = next(each for each in found.verdicts if each.cell == CELL)
    assert (
        verdict.word == word
        and verdict.judgement
        and verdict.judgement.effect.margin == 50
        and not found.unfit
    )


def test_fewer_than_six_blocks_have_no_verdict() -> None:
    verdict = of(pair([SEEN_MS] * 5, [2_000.0 + block for block in range(5)]))
    assert verdict.p < 0.05 and verdict.interval is None and verdict.word == CENSORED
    assert figures(verdict)[1] == "fewer than 6 blocks"


def test_blocks_that_the_environment_took_are_no_verdict_either() -> None:
    made = [
        trial_record(cell=CELL, block=1, rto_ms=SEEN_MS, still_out=True),
        trial_record(cell=BASE, block=1),
    ]
    lost: list[Record] = [trial_record(cell=CELL, block=2, status="infra_error", reason="no image")]
    assert of(judged([*made, *lost], part(metrics=["rto_ms"]))).word == "infra_error"


def test_an_unfit_result_says_nothing_of_open_trials() -> None:
    made = [
        (
            each
            if each.cell != "canary"
            else trial_record(cell="canary", block=each.block, rto_ms=30_000.0 + each.block)
        )
        for each in records()
    ]
    found = judged(made)
    assert found.unfit and of(found).word == "unfit"


def test_a_stack_that_was_never_whole_again_counts_although_it_has_no_figure() -> None:
    made = [
        trial_record(
            cell=name,
            block=block,
            rto_ms=SEEN_MS if name == CELL else 2_500.0,
            still_out=name == CELL,
        )
        for name in (CELL, BASE, SAME, "canary")
        for block in range(1, 11)
    ]
    verdict = of(judged(made, part(metrics=["redundancy_ms"])), metric="redundancy_ms")
    assert verdict.word == "worse" and verdict.open_trials == (10, 0)
    assert verdict.size.low == pytest.approx(35_000, abs=20) and verdict.size.high is None


def test_a_row_shows_the_bound_and_the_log_rank_p_beside_the_verdict() -> None:
    verdict = of(judged())
    effect, interval, blocks, adjusted, word = censored_figures(verdict, "too few")
    assert effect.startswith("at least +") and effect.endswith(" ms") and interval == "open … open"
    assert (blocks, adjusted, word) == ("10", "0.026", "worse (8 + 2 open)")
    assert figures(verdict, log_rank=True) == (effect, interval, blocks, adjusted, "0.024", word)
    assert wide_figures(verdict, log_rank=True) == (
        effect,
        interval,
        blocks,
        adjusted,
        "",
        "0.024",
        word,
    )
    plain = next(each for each in judged().verdicts if each.cell != CELL)
    assert figures(plain, log_rank=True)[-2:] == ("", plain.word)


def test_the_data_has_bounds_in_place_of_an_effect() -> None:
    data = verdict_data(part(), judged())["verdicts"]
    (row,) = [each for each in data if each["cell"] == CELL and each["metric"] == "rto_ms"]
    assert (
        row["effect"] is None and row["effect_between"][0] > 0 and row["effect_between"][1] is None
    )
    assert row["log_rank_p"] == of(judged()).p and row["open_trials"] == {"cell": 8, "baseline": 2}
    assert all("log_rank_p" not in each for each in data if each["cell"] != CELL)


def test_a_percentile_of_writes_that_were_never_served_is_at_least_the_time_out() -> None:
    """A cell that is bad in 4 of 10 trials is judged on all ten; the size is a ratio."""
    alike = (BASE, SAME, "canary")
    made = [
        with_percentile(name, block, 8.0 + block / 100, still_open=False)
        for name in alike
        for block in range(1, 11)
    ]
    made += [with_percentile(CELL, block, 2_000.0, still_open=True) for block in range(1, 5)]
    made += [
        with_percentile(CELL, block, 80.0 + block / 10, still_open=False) for block in range(5, 11)
    ]
    plan = part(metrics=["latency_p95_ms"])
    verdict = of(judged(made, plan), metric="latency_p95_ms")
    assert (verdict.word, verdict.open_trials) == ("worse", (4, 0)) and verdict.judgement
    assert verdict.judgement.effect.blocks == 10
    effect, *_ = censored_figures(verdict, "")
    assert effect.startswith("at least +") and effect.endswith("%")
    (data,) = [
        each for each in verdict_data(plan, judged(made, plan))["verdicts"] if each["cell"] == CELL
    ]
    assert (
        data["effect_between"][0] == pytest.approx(49, abs=1) and data["effect_between"][1] is None
    )
