"""matrix: runs every combination of a matrix file in randomized blocks, and reports which differences are real."""

import json
import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from sandbox.commands.common import completion
from sandbox.commands.common.live_line import MatrixLine
from sandbox.commands.common.options import Json, either, place
from sandbox.errors import ExitCode, SandboxError
from sandbox.experiment.definition import Matrix
from sandbox.experiment.estimate import estimate
from sandbox.experiment.file import find_matrix, matrix_path
from sandbox.experiment.resolve import Resolved, need_baseline, need_comparison, resolve_file
from sandbox.experiment.result import known_noise, learn_from, note_noise, part_of
from sandbox.experiment.runner import start
from sandbox.places import RESULTS
from sandbox.registry import as_typed
from sandbox.report.matrix_view import experiment_data, experiment_lines
from sandbox.report.text import duration
from sandbox.results.compare import Known
from sandbox.results.store import ResultFolder
from sandbox.stack.engine import Docker

HELP = ("figures", 2)


def run(resolved: Resolved, as_json: bool) -> int:
    """Runs, judges, prints; returns the exit code. Raises SandboxError for a matrix that cannot run at all."""
    need_baseline(resolved)
    need_comparison(resolved)
    result = run_resolved(resolved, plan=True)
    known = known_noise(result)
    learn_from(result)
    return show_result(result, as_json, known)


def _adjusted(matrix: Matrix, given: Mapping[str, int | None]) -> Matrix:
    """The matrix with the values from the command line. Raises SandboxError (exit 2) for a number that is too small."""
    least = {"seconds": 1, "warmup": 0, "blocks": 1}
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        if value < least[name]:
            step = f"try: make matrix MATRIX={matrix.name} {name.upper()}={least[name]}"
            raise SandboxError(f"{name.upper()}={value} is not valid", f"at least {least[name]}", step)
    return matrix.model_copy(update=changes)


def _show_plan(resolved: Resolved, as_json: bool) -> int:
    """Prints what would run."""
    expected = estimate(resolved, RESULTS, Docker())
    if as_json:
        print(json.dumps(experiment_data(resolved, expected), indent=2))
    else:
        print(as_typed("\n".join(experiment_lines(resolved, expected))))
    return int(ExitCode.OK)


def run_resolved(resolved: Resolved, plan: bool = False) -> ResultFolder:
    """Runs an experiment with progress on standard error. ``plan``: first prints all that PLAN=1 shows.

    Raises SandboxError as `start` does.
    """
    expected = estimate(resolved, RESULTS, Docker())
    with MatrixLine("matrix") as line:
        if plan:
            print("\n".join(experiment_lines(resolved, expected)), file=sys.stderr, flush=True)
        else:
            resumes = "resumes {}, where {} runs are done; ".format(*expected.resumes) if expected.resumes else ""
            line.line(f"{resolved.experiment.matrix.title}; {resumes}about {duration(expected.seconds)}")
        return start(resolved, RESULTS, line, line.line, line.progress)


def show_result(result: ResultFolder, as_json: bool, known: Known) -> int:
    """Prints the verdicts and writes the result's report. Raises SandboxError (exit 4) if no run is usable."""
    from sandbox.commands import report
    from sandbox.report.verdict_table import lost_runs, processor_data, verdict_data, verdict_lines

    note_noise(result, known)
    manifest, part, runs = result.manifest, part_of(result), report.read_runs(result)
    records = [run.record for run in runs]
    if not any(run.good for run in runs):
        raise report.no_good_run(result, part, records)
    judged = report.judge(part, runs)
    written = report.write_matrix(result, manifest, runs, judged)
    if as_json:
        data = {**verdict_data(part, judged), "processor_time": processor_data(part, records)}
        print(json.dumps({**data, "result": str(result.path)}, indent=2))
    else:
        lost = lost_runs(part, records)
        files = [f"results/{path.parent.name}/{path.name}" for path in written]
        print(as_typed("\n".join([*verdict_lines(part, judged, records), *lost, *files])))
    return int(ExitCode.OK)


def command(
    which: Annotated[str | None, place("MATRIX", "Matrix, such as quick, or a path.", completion.matrix)] = None,
    matrix: Annotated[
        str | None, typer.Option(help="Matrix, such as quick, or a path.", autocompletion=completion.matrix)
    ] = None,
    seconds: Annotated[int | None, typer.Option(help="Measured seconds per run.")] = None,
    warmup: Annotated[int | None, typer.Option(help="Seconds of warm-up before each run, discarded.")] = None,
    blocks: Annotated[int | None, typer.Option(help="Blocks (as many as a single difference needs).")] = None,
    only: Annotated[str | None, typer.Option(help="Levels to run: 'threads=1,64 rewriter=on'.")] = None,
    seed: Annotated[int | None, typer.Option(min=1, help="Seed of order and load (random).")] = None,
    plan: Annotated[bool, typer.Option("--plan", help="Show cells, time and power; run nothing.")] = False,
    new: Annotated[bool, typer.Option("--new", help="Start from scratch instead of resuming.")] = False,
    json: Json = False,
) -> int:
    """Run a matrix of factors and report which differences are real."""
    word = either(which, matrix, "MATRIX")
    adjusted = _adjusted(find_matrix(word), {"seconds": seconds, "warmup": warmup, "blocks": blocks})
    resolved = replace(resolve_file(adjusted, matrix_path(word), only), seed=seed, afresh=new)
    return _show_plan(resolved, json) if plan else run(resolved, json)
