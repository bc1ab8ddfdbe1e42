"""Runs in a copy with two metrics more: measures both, and saves results judged by them.

Prints as JSON what they were measured as, and what a bench, a matrix and a trial print at their
end.
"""

import json
import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from sandbox.judge.matrix import judge_matrix
from sandbox.judge.open_trials import by_log_rank
from sandbox.record.manifest import Manifest, MatrixPart, RunEntry
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData
from sandbox.report.render import terminal
from sandbox.report.trial import trial_document
from unit.fake_stack import FakeStack
from unit.measure.test_bench import run_bench
from unit.measure.trial.trial_runs import try_once
from unit.measure.trial.trial_world import made_world
from unit.record.made_results import HOST, STARTED, matrix_part
from unit.report import made_up_trials
from unit.report.made_up import verdict_lines

OF_A_LOAD = "queries_per_tx"
OF_A_TRIAL = "last_heal_ms"
CHANGE = {"off": 1.0, "on": 1.5, "canary": 1.0}
"""Cell → its figure, as a share of what was measured."""


def bench_record() -> Record:
    """A bench, as the producer of the load's figures leaves it."""
    with TemporaryDirectory() as results:
        return run_bench(FakeStack(), Path(results))[0]


def trial_record() -> Record:
    """A trial, as the producer of its figures leaves it."""
    with TemporaryDirectory() as results, pytest.MonkeyPatch.context() as patch:
        return try_once(made_world(patch), Path(results), patch)[0]


def load_matrix(measured: Record) -> tuple[MatrixPart, list[Record]]:
    """Eight blocks of a matrix that asks for the load's figure."""
    part = matrix_part(metrics=[OF_A_LOAD])
    records = [
        changed(measured, OF_A_LOAD, share).model_copy(
            update={
                "cell": name,
                "block": block,
                "environment": HOST,
            }
        )
        for block in range(1, part.blocks + 1)
        for name, share in CHANGE.items()
    ]
    return part, records


def trial_matrix(measured: Record) -> tuple[MatrixPart, list[Record]]:
    """The made-up trials, all with what was measured in one, haproxy's with more."""
    part = made_up_trials.part(metrics=[OF_A_TRIAL])
    value = getattr(measured.metrics, OF_A_TRIAL)
    records = []
    for record in made_up_trials.records():
        later = 2 * value if "haproxy" in record.cell else value
        metrics = record.metrics.model_copy(update={OF_A_TRIAL: later})
        records.append(record.model_copy(update={"metrics": metrics}))
    return part, records


def changed(record: Record, metric: str, share: float) -> Record:
    """The record with so much of a figure."""
    value = share * getattr(record.metrics, metric)
    return record.model_copy(update={"metrics": record.metrics.model_copy(update={metric: value})})


def save(results: Path, part: MatrixPart, records: Sequence[Record], days: int) -> None:
    """A whole result on disk."""
    manifest = Manifest(
        kind="matrix",
        slug=part.name,
        profile="mysql@9.7",
        command=["sandbox", "matrix"],
        started_utc=STARTED + timedelta(days=days),
        matrix=part,
        runs=[RunEntry(run=f"{each.cell}.{each.block}", status=each.status) for each in records],
    )
    result = ResultFolder.create(results, manifest)
    for record in records:
        run_id = f"{result.path.name}/{record.cell}.{record.block}"
        named = record.model_copy(update={"run_id": run_id, "files": {}})
        folder = result.run_path(named)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "record.json").write_text(named.to_json(), encoding="utf-8")
    result.finish(STARTED + timedelta(days=days, hours=1))


def printed(part: MatrixPart, records: Sequence[Record]) -> str:
    """What a matrix prints at its end."""
    judged = by_log_rank(judge_matrix(part, records, lambda _: (), {}), part, records)
    return "\n".join(verdict_lines(part, judged, records))


def main(results: Path) -> None:
    """Saves two results of the load and one of the trials."""
    bench, trial = bench_record(), trial_record()
    of_loads, of_trials = load_matrix(bench), trial_matrix(trial)
    for days in (0, 1):
        save(results, *of_loads, days)
    save(results, *of_trials, 2)
    print(
        json.dumps(
            {
                OF_A_LOAD: getattr(bench.metrics, OF_A_LOAD),
                OF_A_TRIAL: getattr(trial.metrics, OF_A_TRIAL),
                "bench": "\n".join(terminal.lines(bench_document(RunData(bench)))),
                "matrix": printed(*of_loads),
                "trials": printed(*of_trials),
                "trial": "\n".join(terminal.lines(trial_document(RunData(trial)))),
            }
        )
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]))
