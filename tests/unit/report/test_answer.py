"""The answer in one sentence, with exactly the cells that are meant, and the summary in
Markdown.
"""

import re
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.compare import Judged, judge_result
from sandbox.record.manifest import CellPart, MatrixPart
from sandbox.report.answer import Levels, answer, places, products
from sandbox.report.verdicts import margin_text
from unit.judge.test_compare import run
from unit.record.samples import sample_record
from unit.report.made_up import summary
from unit.report.test_verdicts import part


def matrix() -> MatrixPart:
    """Two levels of commits by three of threads."""
    cells = [
        CellPart(
            name=f"{commits}-{threads}",
            levels={"commits": commits, "threads": threads},
            profile="m",
            variant=commits,
        )
        for commits in ("relaxed", "durable")
        for threads in ("1", "4", "16")
    ]
    comparisons = [{"cell": f"durable-{t}", "baseline": f"relaxed-{t}"} for t in ("1", "4", "16")]
    return part(
        factors={"commits": ["relaxed", "durable"], "threads": ["1", "4", "16"]},
        baseline={"commits": "relaxed"},
        cells=cells,
        comparisons=comparisons,
        canary={"cell": "canary", "baseline": "relaxed-4"},
    )


def judged(factors: dict[str, float], canary: float = 1.0, blocks: int = 10) -> Judged:
    """Durable commits do ``factors`` of what relaxed ones do, by threads."""
    draw = np.random.default_rng(3)
    runs = []
    for block in range(1, blocks + 1):
        for threads, factor in factors.items():
            runs += [run(f"relaxed-{threads}", block, 1000 * float(np.exp(draw.normal(0, 0.01))))]
            runs += [
                run(
                    f"durable-{threads}", block, 1000 * factor * float(np.exp(draw.normal(0, 0.01)))
                )
            ]
        runs += [run("canary", block, 1000 * canary * float(np.exp(draw.normal(0, 0.01))))]
    pairs = [(f"durable-{threads}", f"relaxed-{threads}") for threads in factors]
    return judge_result(runs, pairs, ("canary", "relaxed-4"), ["tps", "latency_p95_ms"], {})


def test_the_answer_names_the_change_the_word_and_where() -> None:
    message = answer(matrix(), judged({"1": 0.5, "4": 0.6, "16": 1.0}))
    assert (
        message == "By tps: commits durable is worse at threads 1, 4 (-50.8% to -40.1%), "
        "makes no difference of 5.0% or more at threads 16."
    )


def test_what_was_skipped_did_not_fail() -> None:
    skipped = [run(cell, 1, 1, "skipped") for cell in ("durable-4", "relaxed-4", "canary")]
    found = judge_result(
        skipped, [("durable-4", "relaxed-4")], ("canary", "relaxed-4"), ["tps"], {}
    )
    assert answer(matrix(), found) == "By tps: commits durable was skipped at threads 4."


def test_what_has_not_run_did_not_fail() -> None:
    found = judge_result(
        [run("relaxed-4", 1, 1)], [("durable-4", "relaxed-4")], ("canary", "relaxed-4"), ["tps"], {}
    )
    assert answer(matrix(), found) == "By tps: commits durable was not run at threads 4."


def test_what_holds_everywhere_names_no_level() -> None:
    message = answer(matrix(), judged({"1": 1.0, "4": 1.0, "16": 1.0}))
    assert message == "By tps: commits durable makes no difference of 5.0% or more."


@pytest.mark.parametrize(
    ("blocks", "message"), [(1, "1 block is too few"), (5, "5 blocks are too few")]
)
def test_fewer_than_six_blocks_say_nothing_however_large_the_difference(
    blocks: int, message: str
) -> None:
    assert (
        answer(matrix(), judged({"1": 0.5, "4": 0.6, "16": 1.0}, blocks=blocks))
        == f"{message}: at least 6 are needed."
    )


def test_an_unfit_result_gives_no_answer() -> None:
    assert answer(matrix(), judged({"1": 0.5, "4": 0.6, "16": 1.0}, canary=0.7)).startswith(
        "No conclusion"
    )


def test_nothing_compared_is_said_so() -> None:
    assert answer(matrix(), judged({"4": 1.0}).__class__([], [], {}, False)).startswith(
        "Nothing was compared"
    )


def test_the_summary_is_markdown_with_everything_to_do_it_again() -> None:
    found = judged({"1": 0.5, "4": 0.6, "16": 1.0})
    text = summary(
        matrix(), found, [sample_record()], ["/x/sandbox", "matrix", "--only", "threads=1,4 x=y"]
    )
    assert text.startswith("# X\n\n**What does it cost?**\n\nBy tps: commits durable is worse")
    assert "| cell | effect | 95 % interval | n | adj. p | MDE | verdict |\n| --- |" in text
    assert "| commits durable, threads 1 | -50." in text and "| canary | " in text
    assert "make matrix ONLY='threads=1,4 x=y' SEED=1" in text
    assert "seed 1" in text and "Host: here." in text
    rows = [line for line in text.splitlines() if line.startswith("|")]
    assert {row.count("|") for row in rows} == {8}


def test_where_cells_have_lost_blocks_their_margin_is_shown_apart() -> None:
    noise = np.random.default_rng(5)
    runs = []
    for block in range(1, 11):
        for cell in (
            "relaxed-1",
            "durable-1",
            "relaxed-4",
            "canary",
            *(["durable-4"] if block < 8 else []),
        ):
            runs.append(run(cell, block, 1000 * float(np.exp(noise.normal(0, 0.1)))))
    pairs = [("durable-1", "relaxed-1"), ("durable-4", "relaxed-4")]
    found = judge_result(runs, pairs, ("canary", "relaxed-4"), ["tps"], {})
    assert re.search(
        r"counts: \d+\.\d% \(10 blocks\) to \d+\.\d% \(7 blocks\) \(canary",
        margin_text("tps", found),
    )


FACTORS = {"threads": ["1", "2", "4"], "workload": ["a", "b"]}


def cells(*pairs: str) -> Sequence[Levels]:
    """``1a`` is one thread of workload a."""
    return [{"threads": pair[0], "workload": pair[1]} for pair in pairs]


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        (["1a", "1b", "2a", "2b", "4a", "4b"], ""),
        (["1a", "1b", "4a", "4b"], "at threads 1, 4"),
        (["2b"], "at threads 2 and workload b"),
        (["1a", "2a", "4a"], "at workload a"),
        (["1a", "1b", "2a", "4a"], "at threads 1, also at threads 2, 4 and workload a"),
        (["1a", "1b", "2a"], "at threads 1, also at threads 2 and workload a"),
    ],
)
def test_exactly_the_cells_that_are_meant(pairs: list[str], message: str) -> None:
    assert sorted(places(FACTORS, cells(*pairs)).split(", also ")) == sorted(
        message.split(", also ")
    )


def test_too_many_places_are_counted() -> None:
    factors = {"x": list("12345"), "y": list("12345")}
    diagonal = [{"x": level, "y": level} for level in "12345"]
    assert places(factors, diagonal) == "in 5 cells"


ANY_CELLS = st.sets(
    st.tuples(st.sampled_from("123"), st.sampled_from("ab"), st.sampled_from("xyz")), min_size=1
)


@given(ANY_CELLS)
def test_products_hold_each_cell_once_and_no_other(chosen: set[tuple[str, str, str]]) -> None:
    names = ("threads", "workload", "rows")
    found = products(names, [dict(zip(names, each, strict=True)) for each in sorted(chosen)])
    held = [each for box in found for each in product(*(box[name] for name in names))]
    assert sorted(held) == sorted(chosen)
