"""How commands run a resolved matrix: with its progress, its plan, its verdicts."""

import sys
from functools import partial

from sandbox.cli.common.matrix_line import MatrixLine
from sandbox.cli.common.showing import show_document
from sandbox.core.errors import ExitCode
from sandbox.core.paths import RESULTS
from sandbox.judge.compare import Known
from sandbox.matrix.estimate import estimate
from sandbox.matrix.resolve import need_baseline, need_comparison
from sandbox.matrix.resolved import Estimate, ResolvedMatrix
from sandbox.matrix.result_folder import known_noise, learn_from, note_noise, part_of
from sandbox.matrix.runner import start
from sandbox.record.store import ResultFolder
from sandbox.report.plan import matrix_plan_data, matrix_plan_document
from sandbox.report.render import terminal
from sandbox.report.text import duration
from sandbox.stack.engine import Docker


def show_plan(resolved: ResolvedMatrix, as_json: bool) -> int:
    """Prints what a matrix would do; returns the exit code."""
    expected = _estimate(resolved)
    data = matrix_plan_data(resolved, expected)
    show_document(as_json, data, matrix_plan_document(resolved, expected))
    return int(ExitCode.OK)


def run_and_judge(resolved: ResolvedMatrix, as_json: bool) -> int:
    """Runs, judges, prints; returns the exit code.

    Raises SandboxError for a matrix that cannot run at all.
    """
    need_baseline(resolved)
    need_comparison(resolved)
    result = run_resolved(resolved, show_whole_plan=True)
    known = known_noise(result)
    learn_from(result)
    return _show_result(result, as_json, known)


def run_resolved(resolved: ResolvedMatrix, show_whole_plan: bool = False) -> ResultFolder:
    """Runs a matrix with progress on standard error.

    ``show_whole_plan``: first prints all that PLAN=1 shows, else one line. Raises SandboxError as
    `start` does.
    """
    expected = _estimate(resolved)
    with MatrixLine("matrix") as line:
        if show_whole_plan:
            whole = terminal.text(matrix_plan_document(resolved, expected))
            print(whole, end="", file=sys.stderr, flush=True)
        else:
            line.line(_in_one_line(resolved, expected))
        return start(resolved, RESULTS, line, line.line, line.progress)


def _in_one_line(resolved: ResolvedMatrix, expected: Estimate) -> str:
    parts = [resolved.matrix.title]
    if expected.resumes:
        name, done = expected.resumes
        parts.append(f"resumes {name}, where {done} runs are done")
    parts.append(f"about {duration(expected.seconds)}")
    return "; ".join(parts)


def _estimate(resolved: ResolvedMatrix) -> Estimate:
    return estimate(resolved, RESULTS, Docker(), partial(print, file=sys.stderr))


def _show_result(result: ResultFolder, as_json: bool, known: Known) -> int:
    """Prints the verdicts and writes the result's report.

    Raises SandboxError (exit 4) if no run is usable.
    """
    # Late, for start-up time: 0.1 s that a refusal need not wait for.
    from sandbox.cli.common import reports
    from sandbox.report.verdict_table import processor_data, verdict_data

    note_noise(result, known)
    manifest = result.manifest
    part = part_of(result)
    runs = reports.read_runs(result)
    records = [run.record for run in runs]
    judged = reports.judge(result, part, runs)
    document = reports.document_of_matrix(result, manifest, part, runs, judged)
    written = reports.write_document(result, document)
    data = {
        **verdict_data(part, judged, records),
        "processor_time": processor_data(part, records),
        "result": str(result.path),
    }
    files = [f"results/{path.parent.name}/{path.name}" for path in written]
    show_document(as_json, data, document, files)
    return int(ExitCode.OK)
