"""Result folders as runs could have left them, made through the real models."""

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from sandbox.judge.compare import observations
from sandbox.judge.matrix import judge_matrix
from sandbox.judge.unpaired import ResultSide
from sandbox.record.manifest import CellPart, ComparisonPart, Manifest, MatrixPart, RunEntry
from sandbox.record.record import Environment, Record
from sandbox.record.store import ResultFolder
from unit.record.samples import METRICS, sample_record

STARTED = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)
HOST = Environment(cpu_model="Test CPU", cpus=2, engine_version="27.1", storage_driver="overlay2")
HOST_CLASS = "Test CPU, 2 cores, engine 27.1, overlay2"
CANARY = ComparisonPart(cell="canary", baseline="off")


def matrix_part(**changed: Any) -> MatrixPart:
    """Off against on."""
    given: dict[str, Any] = {
        "name": "quick",
        "title": "Quick",
        "question": "What does it cost?",
        "note": "",
        "key": "0" * 16,
        "host_class": HOST_CLASS,
        "seed": 1,
        "blocks": 8,
        "depth": "slices",
        "warmup_s": 1,
        "seconds": 5,
        "metrics": ["tps", "latency_p95_ms"],
        "factors": {"rewriter": ["off", "on"]},
        "baseline": {"rewriter": "off"},
        "cells": [cell(name, {"rewriter": name}) for name in ("off", "on")],
        "comparisons": [ComparisonPart(cell="on", baseline="off")],
        "canary": CANARY,
    }
    return MatrixPart.model_validate({**given, **changed})


def cell(name: str, levels: dict[str, str]) -> CellPart:
    """A cell on a stack of its own."""
    return CellPart(name=name, levels=levels, profile="mysql@9.7", variant=name)


def around(middle: float, seed: int, count: int = 8, spread: float = 0.01) -> list[float]:
    """Figures of a cell, a block each, always the same ones for a seed."""
    drawn = random.Random(seed)
    return [middle * drawn.lognormvariate(0, spread) for _ in range(count)]


def records(
    figures: Mapping[str, Sequence[float]], result: str = "r", **changed: Any
) -> list[Record]:
    """One for each figure, which is its tps; latency goes the other way."""
    return [
        sample_record(
            **{
                "run_id": f"{result}/{name}.{block}",
                "cell": name,
                "block": block,
                "started_utc": STARTED + timedelta(seconds=block),
                "environment": HOST,
                "metrics": METRICS.model_copy(
                    update={"tps": value, "latency_p95_ms": 10_000 / value}
                ),
                **changed,
            }
        )
        for name, values in figures.items()
        for block, value in enumerate(values, start=1)
    ]


def save(
    results: Path,
    figures: Mapping[str, Sequence[float]],
    part: MatrixPart | None = None,
    days: int = 0,
    **changed: Any,
) -> ResultFolder:
    """A whole result on disk; a bench where there is no part."""
    started = STARTED + timedelta(days=days)
    manifest = Manifest(
        kind="matrix" if part else "bench",
        slug="matrix-quick" if part else "bench",
        profile="mysql@9.7",
        command=["sandbox"],
        started_utc=started,
        ended_utc=started,
        tool_commit=changed.pop("tool_commit", None),
        matrix=part,
    )
    result = ResultFolder.create(results, manifest)
    made = records(figures, result.path.name, **changed)
    entries = [RunEntry(run=f"{each.cell}.{each.block}", status=each.status) for each in made]
    whole = manifest.model_copy(update={"runs": entries})
    (result.path / "manifest.json").write_text(whole.model_dump_json(), encoding="utf-8")
    for record in made:
        folder = result.path / "runs" / f"{record.cell}.{record.block}"
        folder.mkdir()
        (folder / "record.json").write_text(record.to_json(), encoding="utf-8")
    return result


def side(
    figures: Mapping[str, Sequence[float]],
    part: MatrixPart | None = None,
    name: str = "r",
    days: int = 0,
    **changed: Any,
) -> ResultSide:
    """The same in memory, as a comparison or a history takes it."""
    manifest = Manifest(
        kind="matrix" if part else "bench",
        slug="x",
        profile=changed.get("profile", "mysql@9.7"),
        command=[],
        started_utc=STARTED + timedelta(days=days),
        tool_commit=changed.pop("tool_commit", None),
        matrix=part,
    )
    made = records(figures, name, **changed)
    runs = observations(made, lambda _: (), "restart")
    judged = judge_matrix(part, made, lambda _: (), {}) if part else None
    return ResultSide(name, manifest, made, runs, judged)
