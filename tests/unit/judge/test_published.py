"""Published statements: met, not met or not to be told, by intervals and by the shape of curves."""

from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.compare import Observation
from sandbox.judge.published import knee_of, outcomes_of
from sandbox.judge.verdict import Agreement, StatementFinding, StatementOutcome
from sandbox.record.manifest import CellPart, ComparisonPart, MatrixPart, StatementPart
from unit.judge.test_compare import result, run
from unit.report.test_verdicts import part

THREADS = ("1", "4", "16", "64")


def said(**more: Any) -> StatementPart:
    """A statement on throughput; without more, on the only pair."""
    given: dict[str, Any] = {"says": "so it is", "metric": "tps"}
    return StatementPart(**given, **(more or {"pairs": [("on", "off")]}))


def pair(**claim: Any) -> StatementPart:
    """A claim on the only pair."""
    return said(pairs=[("on", "off")], **claim)


def found(
    statement: StatementPart, runs: Sequence[Observation], of: MatrixPart | None = None
) -> StatementOutcome:
    """What is found of it."""
    plan = of or part()
    (outcome,) = outcomes_of(plan.model_copy(update={"published": [statement]}), runs, {})
    return outcome


@pytest.mark.parametrize(
    ("factor", "claim", "agreement"),
    [
        (0.7, {"order": "lower"}, "agree"),
        (0.7, {"order": "higher"}, "disagree"),
        (0.7, {"order": "alike"}, "disagree"),
        (1.0, {"order": "alike"}, "agree"),
        (1.0, {"order": "higher"}, "disagree"),
        (1.3, {"order": "higher"}, "agree"),
        (0.7, {"ratio": (0.5, 0.9)}, "agree"),
        (0.7, {"ratio": (1.1, 2.0)}, "disagree"),
        (0.7, {"ratio": (0.7, 0.9)}, "inconclusive"),
    ],
)
def test_a_pair_is_judged_by_its_whole_interval(
    factor: float, claim: Mapping[str, Any], agreement: Agreement
) -> None:
    outcome = found(pair(**claim), result({"off": 1, "on": factor, "canary": 1}))
    (finding,) = outcome.findings
    assert outcome.agreement == finding.agreement == agreement
    assert bool(finding.why) == (agreement == "inconclusive")
    assert finding.value is not None and finding.low is not None and finding.high is not None
    assert finding.low <= finding.value <= finding.high and finding.blocks == 8


@pytest.mark.parametrize("claim", [{"order": "lower"}, {"ratio": (0.5, 0.9)}])
def test_nothing_is_told_from_noise_too_few_blocks_or_an_unfit_machine(
    claim: dict[str, Any],
) -> None:
    factors = {"off": 1.0, "on": 0.7, "canary": 1.0}
    few = found(pair(**claim), result(factors, blocks=5)).findings[0]
    assert (few.agreement, few.why) == (
        "inconclusive",
        "5 blocks are too few: at least 6 are needed",
    )
    unfit = found(pair(**claim), result({**factors, "canary": 0.6})).findings[0]
    assert (unfit.agreement, unfit.why) == ("inconclusive", "the canary differs from itself")
    no_canary = [each for each in result(factors) if each.cell != "canary"]
    unknown = found(pair(**claim), no_canary).findings[0]
    assert (unknown.agreement, unknown.why) == ("inconclusive", "the noise of this host is unknown")
    nothing = found(pair(**claim), [])
    assert nothing.agreement == "inconclusive" and nothing.findings[0].why == "a cell was not run"


def test_of_noise_alone_neither_order_nor_likeness_follows() -> None:
    runs = result({"off": 1, "on": 1.02, "canary": 1}, sd=0.2)
    for order in ("higher", "lower", "alike"):
        finding = found(pair(order=order), runs).findings[0]
        assert finding.agreement == "inconclusive"
        assert finding.why == "it cannot be distinguished from noise"


def threads_part() -> MatrixPart:
    """A matrix over threads alone."""
    cells = [
        CellPart(name=f"t{n}", levels={"threads": n}, profile="mysql", variant="v") for n in THREADS
    ]
    return part(
        cells=cells,
        factors={"threads": [*THREADS]},
        baseline={"threads": "1"},
        comparisons=[],
        canary=ComparisonPart(cell="canary", baseline="t1"),
    )


def curve(*factors: float, sd: float = 0.01) -> list[Observation]:
    """Throughput by threads."""
    by_cell = {f"t{n}": factor for n, factor in zip(THREADS, factors, strict=True)}
    return result({**by_cell, "canary": factors[0]}, sd=sd)


CURVE = [f"t{n}" for n in THREADS]


@pytest.mark.parametrize(
    ("factors", "at", "agreement", "knee"),
    [
        ((1, 3, 6, 6), 16, "agree", 16),
        ((1, 3, 6, 6), 30, "agree", 16),
        ((1, 3, 6, 6), 64, "disagree", 16),
        ((1, 3, 6, 3), 16, "agree", 16),
        ((1, 1, 1, 1), 16, "disagree", 1),
        # It grows on: the knee may be anywhere beyond.
        ((1, 3, 6, 12), 100, "inconclusive", 64),
        ((1, 3, 6, 12), 16, "disagree", 64),
    ],
)
def test_a_knee_is_where_a_curve_grows_no_further(
    factors: tuple[float, ...], at: float, agreement: Agreement, knee: float
) -> None:
    statement = said(curves=[CURVE], over="threads", knee_at=at)
    (finding,) = found(statement, curve(*factors), threads_part()).findings
    assert (finding.agreement, finding.value) == (agreement, knee)
    if agreement == "inconclusive":
        assert finding.why == "it grows up to the last level, 64" and finding.high is None


def test_a_knee_needs_every_level_in_six_blocks() -> None:
    statement = said(curves=[CURVE], over="threads", knee_at=16)
    runs = [each for each in curve(1, 3, 6, 6) if each.cell != "t4" or each.block > 4]
    (few,) = found(statement, runs, threads_part()).findings
    assert few.why == "4 blocks are too few: at least 6 are needed"
    none = [each for each in runs if each.cell != "t4"]
    assert found(statement, none, threads_part()).findings == [
        StatementFinding(tuple(CURVE), "inconclusive", "no block has every level")
    ]


@pytest.mark.parametrize(
    ("factors", "agreement"),
    [((1, 1, 1, 1), "agree"), ((1, 1, 0.6, 1), "disagree")],
)
def test_flat_means_that_no_level_differs_from_the_first(
    factors: tuple[float, ...], agreement: Agreement
) -> None:
    statement = said(curves=[CURVE], over="threads")
    assert found(statement, curve(*factors), threads_part()).agreement == agreement


def test_a_statement_of_several_pairs_is_met_by_all_of_them() -> None:
    pairs = [("t4", "t1"), ("t16", "t1")]
    higher = said(pairs=pairs, order="higher")
    assert found(higher, curve(1, 2, 2, 1), threads_part()).agreement == "agree"
    assert found(higher, curve(1, 2, 0.5, 1), threads_part()).agreement == "disagree"


def test_a_trial_that_was_still_open_tells_nothing() -> None:
    runs = [
        run(each.cell, each.block, each.values["tps"] or 0)
        for each in result({"off": 1, "on": 0.7, "canary": 1})
    ]
    late = Observation("on", 1, "ok", {"tps": 700.0}, censored=["tps"])
    (finding,) = found(pair(order="lower"), [late, *runs[1:]]).findings
    assert finding.why == "in some trials it was still open at their end"


@given(st.lists(st.floats(1, 1e6), min_size=2, max_size=9))
def test_no_value_behind_a_knee_is_higher_by_more_than_the_margin(values: list[float]) -> None:
    levels = [float(2**number) for number in range(len(values))]
    level, is_last = knee_of(levels, values, 0.05)
    at = levels.index(level)
    assert is_last == (at == len(levels) - 1)
    assert all(value <= values[at] * 1.05 for value in values[at:])
