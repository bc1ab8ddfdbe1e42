"""The trials of a matrix by cell: medians and intervals as text, the factor of the faults, which
trials are drawn.
"""

import pytest

from sandbox.record.record import Record
from sandbox.report.trial_cells import (
    CellTrials,
    cells_of,
    fault_factor,
    heat_of,
    interval_text,
    longest_text,
    lost_in,
    median_text,
    ms_text,
    of_trials,
    rto_text,
    trials_text,
    worst_trials,
)
from unit.record.samples import sample_record
from unit.report.made_up_trials import SEEN_MS, cell_name, part, records, trial_record

OPEN = (SEEN_MS, True)


def cell(name: str) -> CellTrials:
    return next(each for each in cells_of(part(), records()) if each.name == name)


def test_every_cell_has_its_trials_and_the_canary_comes_last() -> None:
    cells = cells_of(part(), records())
    assert [each.count for each in cells] == [10] * 9
    assert cells[0].levels == ["galera", "direct", "server-crash"]
    assert (cells[-1].name, cells[-1].levels) == ("canary", ["galera", "canary", "host-loss"])


def test_runs_that_do_not_count_and_cells_that_cannot_run_are_left_out() -> None:
    first = part().cells[0]
    skipped = part(cells=[first.model_copy(update={"skipped": "no image"}), *part().cells[1:]])
    assert first.name not in [each.name for each in cells_of(skipped, records())]
    bad = [
        trial_record(cell=first.name, block=0),
        trial_record(cell=first.name, status="infra_error", reason="late"),
    ]
    assert (
        cells_of(part(), bad)[0].count == 0
        and [each.count for each in cells_of(part(), bad)] == [0] * 8
    )


def test_a_bench_is_no_trial() -> None:
    assert of_trials(records()) and not of_trials([sample_record()])


def test_median_interval_and_maximum_by_hand() -> None:
    lengths = [(3_000.0 + 100 * each, False) for each in range(10)]
    assert (median_text(lengths), interval_text(lengths)) == ("3,450", "3,100 … 3,800")
    assert longest_text(lengths) == "3,900"


def test_open_trials_are_at_least() -> None:
    lengths = [*((3_000.0 + 100 * each, False) for each in range(8)), OPEN, OPEN]
    assert (median_text(lengths), interval_text(lengths), longest_text(lengths)) == (
        "3,450", "3,100 … open", "≥ 60,000",
    )  # fmt: skip
    assert median_text([*lengths[:4], *[OPEN] * 6]) == "≥ 60,000"


def test_few_trials_have_no_interval_and_a_cell_says_how_few() -> None:
    assert interval_text([(1.0, False)] * 5) == "fewer than 6 trials"
    assert (median_text([]), interval_text([]), longest_text([])) == ("", "", "")
    texts = {n: trials_text(CellTrials("a", ["a"], [trial_record()] * n)) for n in (5, 6, 9, 10)}
    assert texts == {5: "5 (no verdict)", 6: "6 (few)", 9: "9 (few)", 10: "10"}


@pytest.mark.parametrize(
    ("ms", "text"), [(0.0, "0"), (3.456, "3.46"), (99.9, "99.9"), (100.4, "100"), (2_310, "2,310")]
)
def test_a_time_is_written_short(ms: float, text: str) -> None:
    assert ms_text(ms) == text


def test_the_rto_of_one_trial() -> None:
    assert rto_text(trial_record(rto_ms=2_500.0)) == "2,500"
    assert rto_text(trial_record(rto_ms=SEEN_MS, still_out=True)) == "≥ 60,000"
    assert rto_text(sample_record()) == ""


def test_the_factor_of_the_faults_is_the_one_whose_levels_break_different_things() -> None:
    assert fault_factor(part(), records()) == "fault"


def test_it_is_found_wherever_it_stands() -> None:
    order = ("fault", "topology", "proxy")
    factors = {name: part().factors[name] for name in order}
    assert fault_factor(part(factors=factors), records()) == "fault"


def test_without_one_it_is_the_last_factor_and_without_factors_none() -> None:
    alike = [each.model_copy(update={"trial": records()[0].trial}) for each in records()]
    assert (
        fault_factor(
            part(factors={name: part().factors[name] for name in ("fault", "proxy")}), alike
        )
        == "proxy"
    )
    assert fault_factor(part(factors={"fault": ["hang"]}), alike) is None


def test_the_worst_cells_are_drawn_by_their_median_trial() -> None:
    found = worst_trials(part(), records())
    assert [each.cell for each in found[:2]] == [
        cell_name("gr", "haproxy", "host-loss"),
        cell_name("gr", "direct", "host-loss"),
    ]
    assert len(found) == 8 and "canary" not in {each.cell for each in found}
    own = sorted(each.metrics.rto_ms or 0 for each in cell(found[-1].cell).records)
    assert found[-1].metrics.rto_ms == own[4], "the lower one in the middle"
    assert len(worst_trials(part(), records(), most=3)) == 3


@pytest.mark.parametrize(
    ("metric", "worst", "other"), [("stale", 99, 1), ("load_tps_change_percent", -90, -5)]
)
def test_the_worst_cells_are_those_by_the_first_metric(metric: str, worst: int, other: int) -> None:
    bad = cell_name("galera", "haproxy", "server-crash")
    found = [
        each.model_copy(
            update={
                "metrics": each.metrics.model_copy(
                    update={metric: worst if each.cell == bad else other}
                )
            }
        )
        for each in records()
    ]
    assert worst_trials(part(metrics=[metric]), found)[0].cell == bad


def test_lost_writes_are_counted_and_trials_that_cannot_say() -> None:
    assert lost_in(cell(cell_name("galera", "haproxy", "host-loss"))) == (3, 1, 0)
    mixed: list[Record] = [trial_record(lost=None), trial_record(lost=2), trial_record(lost=0)]
    assert lost_in(CellTrials("a", [], mixed)) == (2, 1, 1)


def test_heat_goes_by_the_logarithm() -> None:
    assert [heat_of(ms, [10.0, 1_000.0]) for ms in (10.0, 100.0, 1_000.0)] == pytest.approx(
        [0, 0.5, 1]
    )
    assert heat_of(0.0, [0.0, 100.0]) == 0 and heat_of(5.0, [5.0, 5.0]) == 0
