"""The answer of a matrix of trials: who was back first and by how much, and what was lost where."""

from dataclasses import replace
from typing import Any

from sandbox.record.record import Record
from sandbox.report.trial_matrix import answer_of
from unit.report import made_up
from unit.report.made_up_trials import SEEN_MS, cell_name, judged, part, records, trial_record


def said(found: list[Record], **plan: Any) -> str:
    return answer_of(part(**plan), judged(found, part(**plan)), found)


def cells(
    *lengths: tuple[str, str, str, float], trials: int = 10, spread: float = 1.0
) -> list[Record]:
    """Trials of some cells, around a length each."""
    return [
        trial_record(
            cell=cell_name(*levels),
            block=block,
            rto_ms=rto and rto + spread * (block - (trials + 1) / 2),
            still_out=rto == SEEN_MS,
        )
        for *levels, rto in lengths
        for block in range(1, trials + 1)
    ]


def test_the_first_cells_the_next_ones_and_the_loss() -> None:
    assert (
        said(records())
        == "Writes were back first at topology galera and proxy haproxy, also at topology gr and"
        " proxy haproxy and fault server-crash: after 3,600 ms (median of 10 trials), 7,050 ms"
        " before the next, at topology galera and proxy direct, also at topology gr and proxy"
        " direct and fault server-crash. 3 acknowledged writes were lost, in 1 of 90 trials, at"
        " topology galera and proxy haproxy and fault host-loss."
    )


def test_overlapping_intervals_are_no_certain_order() -> None:
    close = cells(
        ("galera", "direct", "server-crash", 2_000.0),
        ("galera", "haproxy", "server-crash", 2_003.0),
    )
    found = said(close)
    assert (
        "3 ms before the next, at topology galera and proxy haproxy and fault server-crash; their"
        in found
    )
    assert "; their intervals overlap, so the order is not certain. No" in found
    apart = cells(
        ("galera", "direct", "server-crash", 2_000.0),
        ("galera", "haproxy", "server-crash", 2_100.0),
    )
    assert "overlap" not in said(apart) and "100 ms before the next" in said(apart)


def test_no_outage_is_not_called_back_after_nothing() -> None:
    found = said(
        cells(
            ("galera", "direct", "server-crash", 0.0),
            ("galera", "haproxy", "server-crash", 2_000.0),
        )
    )
    assert found.startswith(
        "Writes had no outage at topology galera and proxy direct and fault server-crash (median of"
        " 10 trials); they were back next at topology galera and proxy haproxy and fault"
        " server-crash, after 2,000 ms. "
    )
    assert found.endswith("No acknowledged write was lost in 20 trials.")


def test_a_next_cell_that_was_still_out_is_at_least_so_much_later() -> None:
    found = said(
        cells(
            ("galera", "direct", "server-crash", 2_000.0), ("gr", "direct", "server-crash", SEEN_MS)
        )
    )
    assert "at least 58,000 ms before the next" in found


def test_where_nothing_came_back_there_is_no_first() -> None:
    found = said(cells(("galera", "direct", "server-crash", SEEN_MS)))
    assert found.startswith(
        "In every cell with 6 trials or more, half or more of them ended before writes were back."
    )


def test_one_cell_has_nobody_to_be_ahead_of() -> None:
    found = said(cells(("galera", "direct", "server-crash", 2_000.0)))
    assert "after 2,000 ms (median of 10 trials)." in found


def test_too_few_trials_are_no_order_but_a_loss_is_a_loss() -> None:
    few = [
        *cells(("galera", "direct", "server-crash", 2_000.0), trials=5),
        trial_record(cell=cell_name("gr", "direct", "hang"), lost=1),
    ]
    few[0] = few[0].model_copy(update={"metrics": few[0].metrics.model_copy(update={"lost": 1})})
    assert (
        said(few)
        == "No cell has the 6 trials that a verdict on times needs. 1 acknowledged write was lost,"
        " in 1 of 5 trials, at topology galera and proxy direct and fault server-crash."
    )


def test_a_ledger_that_cannot_say_is_no_proof_that_nothing_was_lost() -> None:
    found = cells(("galera", "direct", "server-crash", 2_000.0))
    blind = [
        each.model_copy(update={"metrics": each.metrics.model_copy(update={"lost": None})})
        for each in found
    ]
    assert said(blind).endswith("Whether acknowledged writes were lost is unknown.")
    assert said([*blind[:2], *found[2:]]).endswith(
        "No acknowledged write was lost in 8 trials. Whether any was lost is unknown in 2 trials."
    )


def test_an_unfit_result_says_nothing_of_times() -> None:
    unfit = replace(judged(), unfit=True)
    assert answer_of(part(), unfit, records()).startswith(
        "No conclusion on times: the baseline differs from itself. 3 "
    )


def test_all_other_matrices_have_the_answer_that_they_had() -> None:
    plan, verdicts, runs = made_up.made_up()
    assert answer_of(plan, verdicts, [run.record for run in runs]).startswith(
        "By tps: commits durable is worse at"
    )


def with_metric(name: str, direct: float, haproxy: float) -> list[Record]:
    """Ten trials of a cell through each way in, with so much of a metric each."""
    made = cells(*(("galera", proxy, "server-crash", 1_000.0) for proxy in ("direct", "haproxy")))
    values = [haproxy if "haproxy" in each.cell else direct for each in made]
    return [
        each.model_copy(update={"metrics": each.metrics.model_copy(update={name: value})})
        for each, value in zip(made, values, strict=True)
    ]


def test_the_answer_is_by_what_the_matrix_asks_for() -> None:
    at = "at topology galera and proxy {} and fault server-crash"
    joins = said(with_metric("join_ms", 9_000.0, 6_200.0), metrics=["join_ms", "rto_ms"])
    assert joins.startswith(
        f"By join_ms: least {at.format('haproxy')}: 6,200 ms (median of 10 trials), 2,800 ms less"
        f" than next, {at.format('direct')}. No acknowledged write was lost"
    )
    stale = said(with_metric("stale", 0, 12), metrics=["stale"])
    assert stale.startswith(
        f"By stale: least {at.format('direct')}: 0 per trial (median of 10 trials), 12 per trial"
    )
    load = said(
        with_metric("load_tps_change_percent", -60.0, -5.0), metrics=["load_tps_change_percent"]
    )
    assert (
        load.startswith(f"By load_tps_change_percent: greatest {at.format('haproxy')}: -5 % (")
        and "55 % more" in load
    )
    lost = said(with_metric("lost", 0, 0), metrics=["lost", "rto_ms"])
    assert lost == "No acknowledged write was lost in 20 trials."
    assert said(with_metric("stale", 1, 2), metrics=["tps"]).startswith("Writes were back first")
    none = said(with_metric("stale", 1, 2), metrics=["join_ms"])
    assert none.startswith("No cell has the 6 trials that a verdict on join_ms needs.")
