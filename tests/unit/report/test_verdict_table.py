"""The verdict table: what a DBA reads at the end of a matrix."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime

from sandbox.report.verdict_table import verdict_data, verdict_lines
from sandbox.results.compare import Judged, Known, judge_result
from sandbox.results.manifest import CellPart, ComparisonPart, MatrixPart
from sandbox.results.statistics.changes import Shift
from unit.results.test_compare import result

NOW = datetime(2025, 1, 31, tzinfo=UTC)


def part(**changed: object) -> MatrixPart:
    """A matrix of one comparison."""
    given = {
        "name": "x", "title": "X", "question": "What does it cost?", "note": "", "key": "0" * 16, "host_class": "here",
        "seed": 1, "blocks": 8, "depth": "slices", "warmup_s": 1, "seconds": 5, "metrics": ["tps", "latency_p95_ms"],
        "factors": {"rewriter": ["off", "on"]}, "baseline": {"rewriter": "off"},
        "cells": [CellPart(name=n, levels={"rewriter": n}, profile="mysql", variant=n) for n in ("off", "on")],
        "comparisons": [ComparisonPart(cell="on", baseline="off")],
        "canary": ComparisonPart(cell="canary", baseline="off"),
    }  # fmt: skip
    return MatrixPart.model_validate({**given, **changed})


def judged(on: float, canary: float = 1.0, known: Known | None = None) -> Judged:
    """A result in which one cell does ``on`` times what the other does."""
    runs = result({"off": 1, "on": on, "canary": canary})
    return judge_result(runs, [("on", "off")], ("canary", "off"), ["tps", "latency_p95_ms"], known or {})


def test_every_figure_has_its_interval_and_what_could_have_been_seen() -> None:
    text = "\n".join(verdict_lines(part(), judged(0.7)))
    assert text.startswith("What does it cost?")
    (row,) = [line for line in text.splitlines() if line.strip().startswith("on ")][:1]
    assert row.split()[:3] == ["on", "-29.1%", "-30.1%"] and row.endswith("worse"), row
    assert "…" in row and " 8 " in row
    assert "no difference (sees " in text, "the canary"
    assert "not calibrated: the canary's own noise sets the margin   (make calibrate SECONDS=5)" in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_calibrated_host_says_so() -> None:
    text = "\n".join(verdict_lines(part(), judged(0.7, known={"": {"tps": 0.03, "latency_p95_ms": 0.03}})))
    assert "(calibrated, sd 0.03)" in text and "not calibrated" not in text


def test_an_unfit_result_says_nothing_else() -> None:
    lines = verdict_lines(part(), judged(0.7, canary=0.8))
    assert any(line.startswith("UNFIT") for line in lines)
    assert next(line for line in lines if line.strip().startswith("on ")).endswith("unfit")


def test_what_changed_in_an_unsteady_cell_is_told_and_the_lines_still_fit() -> None:
    drift, steps = Shift("drift", -0.12, 0, 1), [Shift("step", (-1) ** n / 2, 5 * n, n + 1) for n in range(1, 7)]
    unsteady = replace(judged(0.7), unsteady={"off": [drift], "on": [drift, *steps]})
    text = verdict_lines(part(), unsteady)
    assert "not steady: off: tps, relative to its mean: drifts by -12% within block 1" in text
    first = next(number for number, line in enumerate(text) if line.startswith("not steady: on: "))
    assert "drifts" not in text[first], "what steps has a slope, too"
    assert "-50% within block 2, +50% within block 3" in text[first] and text[first + 1].startswith("  ")
    assert all(len(line) <= 100 for line in text)
    assert verdict_data(part(), unsteady)["unsteady"]["off"] == [asdict(drift)]


def test_what_was_skipped_or_left_out_is_told_once() -> None:
    cells = [CellPart(name=f"c{i}", levels={}, profile="ps", variant="variant1", skipped="no image") for i in (1, 2)]
    lines = verdict_lines(part(cells=[*part().cells, *cells], left_out={"threads": ["64", "256"]}), judged(1))
    assert "skipped: c1, c2: no image" in lines and "left out: threads 64, 256" in lines


def test_the_data_is_plain_json_with_shares() -> None:
    data = json.loads(json.dumps(verdict_data(part(), judged(0.7))))
    (tps, _) = data["verdicts"]
    assert tps["verdict"] == "worse" and -0.35 < tps["interval_95"][0] < tps["effect"] < tps["interval_95"][1] < -0.25
    assert tps["blocks"] == 8 and tps["margin"] >= 0.05 and data["canary"][0]["verdict"] == "no difference"
