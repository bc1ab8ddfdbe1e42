"""The verdict table: what a DBA reads at the end of a matrix, with lost runs and processor time."""

import json
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any

from sandbox.judge.changes import Shift
from sandbox.judge.compare import Judged, Known, Noise, judge_result
from sandbox.record.manifest import CellPart, ComparisonPart, MatrixPart
from sandbox.record.record import Record
from sandbox.report.matrix_notes import (
    calibrate_commands,
    how,
    lost_runs,
    processor_data,
    processor_table,
)
from sandbox.report.verdicts import verdict_data
from unit.judge.test_compare import result
from unit.record.samples import METRICS, sample_record
from unit.report.made_up import summary, verdict_lines
from unit.report.made_up_trials import trial_record

PROCESSOR_TITLE = "Processor time per transaction, ms"
NOW = datetime(2025, 1, 31, tzinfo=UTC)


def part(**changed: object) -> MatrixPart:
    """A matrix of one comparison."""
    given = {
        "name": "x",
        "title": "X",
        "question": "What does it cost?",
        "note": "",
        "key": "0" * 16,
        "host_class": "here",
        "seed": 1,
        "blocks": 8,
        "depth": "slices",
        "warmup_s": 1,
        "seconds": 5,
        "metrics": ["tps", "latency_p95_ms"],
        "factors": {"rewriter": ["off", "on"]},
        "baseline": {"rewriter": "off"},
        "cells": [
            CellPart(name=n, levels={"rewriter": n}, profile="mysql", variant=n)
            for n in ("off", "on")
        ],
        "comparisons": [ComparisonPart(cell="on", baseline="off")],
        "canary": ComparisonPart(cell="canary", baseline="off"),
    }
    return MatrixPart.model_validate({**given, **changed})


def judged(on: float, canary: float = 1.0, known: Known | None = None) -> Judged:
    """A result in which one cell does ``on`` times what the other does."""
    runs = result({"off": 1, "on": on, "canary": canary})
    return judge_result(
        runs, [("on", "off")], ("canary", "off"), ["tps", "latency_p95_ms"], known or {}
    )


def test_every_figure_has_its_interval_and_what_could_have_been_seen() -> None:
    text = "\n".join(verdict_lines(part(), judged(0.7)))
    assert text.startswith("What does it cost?")
    (row,) = [line for line in text.splitlines() if line.strip().startswith("on ")][:1]
    assert row.split()[:3] == ["on", "-29.1%", "-30.1%"] and row.endswith("worse"), row
    assert "…" in row and " 8 " in row
    assert "no difference (sees " in text, "the canary"
    assert (
        "not calibrated: the canary's own noise sets the margin   (make calibrate SECONDS=5)"
        in text
    )
    assert max(map(len, text.splitlines())) <= 100


def test_a_result_without_a_canary_says_so() -> None:
    runs = [each for each in result({"off": 1, "on": 0.7, "canary": 1}) if each.cell != "canary"]
    text = "\n".join(
        verdict_lines(part(), judge_result(runs, [("on", "off")], ("canary", "off"), ["tps"], {}))
    )
    assert "smallest difference that counts: 5.0% (at least, noise unknown)" in text
    assert (
        "no canary for tps: the noise is unknown, so nothing is better or worse" in text
        and "too noisy" in text
    )


def test_a_calibrated_host_says_so() -> None:
    text = "\n".join(
        verdict_lines(part(), judged(0.7, known={"": {"tps": 0.03, "latency_p95_ms": 0.03}}))
    )
    assert "(calibrated, sd 0.03)" in text and "not calibrated" not in text


def test_calibrating_is_not_advised_where_it_cannot_help() -> None:
    """It measures two runs of one server: no trial, no replica, no proxy."""
    of_canary: Noise = ("canary", 0.1)
    unknown = dict.fromkeys((("", "catch_up_tps"), ("", "proxy_cpu_ms_per_tx")), of_canary)
    assert calibrate_commands(part(), replace(judged(0.7), noise=unknown)) == []
    beside = trial_record(workload=sample_record().workload.model_copy(update={"name": ""}))
    assert (
        calibrate_commands(part(), judged(0.7))
        and calibrate_commands(part(), judged(0.7), [beside]) == []
    )


def test_how_long_runs_are_that_end_with_their_work() -> None:
    by_clock = sample_record()
    by_work = sample_record(metrics=METRICS.model_copy(update={"catch_up_s": 8.5}))
    assert "runs of 5 s after 1 s of warm-up" in how(part(), [by_clock])
    assert "runs until their work is done after 1 s of warm-up" in how(part(), [by_work])
    assert "runs of 5 s, or until their work is done, after 1 s" in how(part(), [by_clock, by_work])


def test_an_unfit_result_says_nothing_else() -> None:
    lines = verdict_lines(part(), judged(0.7, canary=0.8))
    assert any(line.startswith("UNFIT") for line in lines)
    assert next(line for line in lines if line.strip().startswith("on ")).endswith("unfit")


def test_what_changed_in_an_unsteady_cell_is_reported_and_the_lines_still_fit() -> None:
    drift, steps = (
        Shift("drift", -0.12, 0, 1),
        [Shift("step", (-1) ** n / 2, 5 * n, n + 1) for n in range(1, 7)],
    )
    unsteady = replace(judged(0.7), unsteady={"off": [drift], "on": [drift, *steps]})
    text = verdict_lines(part(), unsteady)
    assert "not steady: off: tps, relative to its mean: drifts by -12% within block 1" in text
    first = next(number for number, line in enumerate(text) if line.startswith("not steady: on: "))
    assert "drifts" not in text[first], "what steps has a slope, too"
    assert "-50% within block 2, +50% within block 3" in text[first] and text[first + 1].startswith(
        "  "
    )
    assert all(len(line) <= 100 for line in text)
    assert verdict_data(part(), unsteady)["unsteady"]["off"] == [asdict(drift)]


def test_what_was_skipped_or_left_out_is_reported_once() -> None:
    cells = [
        CellPart(name=f"c{i}", levels={}, profile="ps", variant="variant1", skipped="no image")
        for i in (1, 2)
    ]
    lines = verdict_lines(
        part(cells=[*part().cells, *cells], left_out={"threads": ["64", "256"]}), judged(1)
    )
    assert "skipped: c1, c2: no image" in lines and "left out: threads 64, 256" in lines


def test_the_data_is_plain_json_with_shares() -> None:
    data = json.loads(json.dumps(verdict_data(part(), judged(0.7))))
    (tps, _) = data["verdicts"]
    assert (
        tps["verdict"] == "worse"
        and -0.35 < tps["interval_95"][0] < tps["effect"] < tps["interval_95"][1] < -0.25
    )
    assert (
        tps["blocks"] == 8
        and tps["margin"] >= 0.05
        and data["canary"][0]["verdict"] == "no difference"
    )


def test_they_are_reported_by_variant_with_the_first_reason() -> None:
    cells = [
        CellPart(
            name=f"{variant}-{number}",
            levels={"a": variant, "n": str(number)},
            profile="mysql",
            variant=variant,
        )
        for variant in ("x", "y")
        for number in range(6)
    ]
    part = MatrixPart(
        name="m",
        title="M",
        question="What?",
        note="",
        key="k",
        host_class="here",
        seed=1,
        blocks=1,
        depth="slices",
        warmup_s=1,
        seconds=1,
        metrics=["tps"],
        factors={},
        baseline={"a": "x"},
        cells=cells,
        comparisons=[ComparisonPart(cell="y-0", baseline="x-0")],
        canary=ComparisonPart(cell="canary", baseline="x-0"),
    )
    lost = [
        sample_record(cell=f"y-{n}", status="infra_error", reason=f"not shared {n}")
        for n in range(5)
    ]
    records = [
        sample_record(cell="x-0"),
        *lost,
        sample_record(cell="canary", status="failed", reason=None),
    ]
    assert lost_runs(part, records) == [
        "5 runs infra_error (y-0, y-1, y-2, y-3, …): not shared 0",
        "1 run failed (canary): no reason given",
    ]
    assert lost_runs(part, records[:1]) == []
    skipped = [
        sample_record(cell=f"{each}-1", status="skipped", reason="no netem") for each in ("x", "y")
    ]
    assert lost_runs(part, skipped) == ["2 runs skipped (x-1, y-1): no netem"]


def runs(cell: str, **figures: float | None) -> list[Record]:
    """Eight blocks of a cell."""
    metrics = METRICS.model_copy(update={"proxy_cpu_ms_per_tx": None, **figures})
    return [sample_record(cell=cell, block=block, metrics=metrics) for block in range(1, 9)]


def records() -> list[Record]:
    """A cell without proxy, one with."""
    return [*runs("off"), *runs("on", server_cpu_ms_per_tx=1.75, proxy_cpu_ms_per_tx=0.31)]


def test_each_kind_of_node_has_its_figure_and_what_is_not_there_none() -> None:
    assert processor_table(part(), records()) == [
        ["rewriter", "server", "proxy", "client"],
        ["off", "1.512", "", "0.4321"],
        ["on", "1.75", "0.31", "0.4321"],
    ]
    assert processor_data(part(), records())["off"]["proxy_cpu_ms_per_tx"] is None


def test_a_warm_up_block_and_a_failed_run_do_not_count() -> None:
    bad = runs("on", server_cpu_ms_per_tx=99.0)
    spoilt = [
        bad[0].model_copy(update={"block": 0}),
        bad[1].model_copy(update={"status": "failed"}),
    ]
    assert processor_table(part(), [*records(), *spoilt]) == processor_table(part(), records())


def test_without_figures_there_is_no_table() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("server_cpu_ms_per_tx", "client_cpu_ms_per_tx"))
    assert PROCESSOR_TITLE not in "\n".join(
        verdict_lines(part(), judged(0.7), runs("off", **nothing))
    )


def test_it_stands_first_where_the_matrix_is_about_it() -> None:
    about = part(metrics=["server_cpu_ms_per_tx", "tps", "latency_p95_ms"])
    for metrics, first in ((about, True), (part(), False)):
        for text in ("\n".join(verdict_lines(metrics, judged(0.7), records())),
                     summary(metrics, judged(0.7), records(), ["sandbox", "matrix"])):  # fmt: skip
            assert (text.index(PROCESSOR_TITLE) < text.index("latency_p95_ms")) is first
