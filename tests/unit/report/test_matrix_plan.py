"""A matrix before it runs: what it varies, how long it takes, what it can show."""

import json
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.matrix.definition import Matrix
from sandbox.matrix.resolved import Estimate, ResolvedMatrix
from sandbox.matrix.selection import Selection, select
from sandbox.report.matrix_plan import PlanElsewhere, matrix_plan_data, matrix_plan_document
from sandbox.report.render import terminal
from unit.matrix.resolved import resolved


def selection(only: str | None = None) -> Selection:
    """Two stacks by three levels."""
    data = {
        "name": "x",
        "title": "The rewriter",
        "question": "What does it cost?",
        "common": {"profile": "mysql"},
        "factors": {"rewriter": {"off": {}, "on": {"add": "rewriter"}}, "threads": [1, 16, 64]},
        "baseline": {"rewriter": "off"},
    }
    return select(Matrix.model_validate(data), only)


def resolved_and_expected(
    made: Selection, blocks: int = 8, seconds: float = 700, **known: Any
) -> tuple[ResolvedMatrix, Estimate]:
    """What is known of it before it starts."""
    return resolved(made, blocks=blocks, skipped=known.get("skipped")), Estimate(
        seconds, known.get("resumes")
    )


def plan_lines(known: ResolvedMatrix, expected: Estimate) -> list[str]:
    """What PLAN=1 prints."""
    return terminal.lines(matrix_plan_document(known, expected))


def test_the_plan_says_what_needs_a_stack_of_its_own_and_how_long_it_takes() -> None:
    text = "\n".join(plan_lines(*resolved_and_expected(selection())))
    assert "  rewriter  [off], on   (a separate stack for each)" in text
    assert "  threads   1, 16, 64   (on the same stack)" in text
    assert (
        "6 cells and the canary, 8 blocks: 56 runs of 2 + 10 s at depth slices, about 12 min"
        in text
    )
    assert "6 comparisons at once: a single difference among them needs 8 blocks" in text
    assert "WARNING" not in text
    assert max(map(len, text.splitlines())) <= 100


@pytest.mark.parametrize(
    ("threads", "said"), [(0, "2 s + their work at"), (16, "2 + 10 s (or their work) at")]
)
def test_runs_that_end_with_their_work_are_not_called_runs_of_some_seconds(
    threads: int, said: str
) -> None:
    made = selection()

    def by_work(cell: Any) -> SimpleNamespace:
        work_s = 9.0 if cell.change.threads > threads else None
        return SimpleNamespace(trial=None, work_s=work_s)

    text = "\n".join(plan_lines(resolved(made, by_work, blocks=8), Estimate(700, None)))
    assert f"8 blocks: 56 runs of {said}" in text


def test_long_questions_and_long_lists_of_what_is_left_out_are_wrapped() -> None:
    made = selection("threads=1")
    asked = made.matrix.model_copy(
        update={"title": "A title " * 20, "question": "What does it cost? " * 10}
    )
    changed = replace(
        made, matrix=asked, left_out={"threads": [str(number) for number in range(100)]}
    )
    lines = plan_lines(*resolved_and_expected(changed))
    assert max(map(len, lines)) <= 100
    assert "  left out: threads 0, 1, 2," in "\n".join(lines) and lines[-1].endswith(" 98, 99")


def test_too_few_blocks_are_warned_of() -> None:
    assert any(
        "WARNING: with 6 blocks" in line
        for line in plan_lines(*resolved_and_expected(selection(), 6))
    )


def test_what_cannot_run_or_was_left_out_is_reported() -> None:
    skipped = {f"rewriter-on.threads-{threads}": "no image" for threads in (1, 16)}
    made = selection("threads=1,16")
    lines = plan_lines(*resolved_and_expected(made, skipped=skipped))
    assert lines[lines.index("  variant2   mysql+rewriter") + 1] == "    skipped  no image"
    assert [line.split()[2] for line in lines if "rewriter-on" in line] == ["skipped"] * 2
    assert any(line.startswith("  0 comparisons at once") for line in lines), (
        "nothing is left to compare"
    )
    assert "  left out: threads 64" in lines
    data = json.loads(
        json.dumps(matrix_plan_data(*resolved_and_expected(made, 8, 61.4, skipped=skipped)))
    )
    assert (
        data["skipped"] == skipped
        and data["predicted_s"] == 61
        and data["left_out"] == {"threads": ["64"]}
    )
    assert data["cells"]["rewriter-on.threads-16"]["change"] == {
        "profile": "mysql", "add": ["rewriter"], "set": [], "cnf": [], "replicate": [],
        "options": {}, "threads": 16,
    }  # fmt: skip


def test_a_matrix_that_goes_on_says_with_what_and_how_long_the_rest_takes() -> None:
    made = selection()
    known = resolved_and_expected(made, seconds=120, resumes=("20260101T000000Z-matrix-x", 40))
    text = "\n".join(plan_lines(*known))
    assert (
        "resumes results/20260101T000000Z-matrix-x: 40 of 56 runs are done (NEW=1 starts from"
        " scratch)" in text
    )
    assert "about 2 min remaining" in text
    data = matrix_plan_data(*known)
    assert (data["goes_on_with"], data["runs_done"]) == ("20260101T000000Z-matrix-x", 40)


def test_the_time_of_every_other_scale_is_said_or_why_it_has_none() -> None:
    known, expected = resolved_and_expected(selection())
    slow = resolved_and_expected(selection("threads=1"), 10, 36_000)
    others = {"server": PlanElsewhere(*slow), "huge": PlanElsewhere(why_not="no level '1'")}
    text = terminal.text(matrix_plan_document(known, expected, others))
    server = "SCALE=server: 2 cells and the canary, 10 blocks: 30 runs of 2 + 10 s at depth slices,"
    assert f"{server} about 10 h" in " ".join(text.split())
    assert "SCALE=huge: not with these options (no level '1')" in text
    data = matrix_plan_data(known, expected, others)
    assert data["scale"] == "laptop"
    assert data["predicted_s_by_scale"] == {"server": 36_000, "huge": None}
