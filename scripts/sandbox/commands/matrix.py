"""matrix: runs every combination of a matrix file in an honest order, and says which differences are real."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace

from sandbox.commands.matrix_apart import apart_by_data
from sandbox.commands.matrix_data import DataMaker, data_of_arms, foreseen_s
from sandbox.commands.matrix_file import find_matrix, matrix_path
from sandbox.commands.matrix_line import MatrixLine
from sandbox.commands.matrix_plan import (
    foresee,
    foreseen_words,
    need_baseline,
    need_comparison,
    settled,
    show_plan,
    skipped_cells,
    with_canary_here,
)
from sandbox.commands.matrix_request import benches_of_arms, benches_of_file, matrix_request, stack_requests
from sandbox.commands.matrix_stacks import StackMaker
from sandbox.commands.measure import RESULTS
from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.experiment import Experiment, make_experiment
from sandbox.plan.matrix import Matrix
from sandbox.report.matrix_view import experiment_lines
from sandbox.results.calibration import Known
from sandbox.results.observe import canary_differences, kind_of_canary, noise_of, noted
from sandbox.results.statistics.many import blocks_for_one
from sandbox.results.store import ResultFolder
from sandbox.run.arms import Arms
from sandbox.run.calibration_file import change_calibration, read_calibration
from sandbox.run.matrix import run_matrix
from sandbox.run.matrix_result import Gate, part_of
from sandbox.stack.engine import Docker
from sandbox.stack.keeping import measuring
from sandbox.stack.locks import locked
from sandbox.stack.remove import LOCK_PATIENCE_S


@dataclass(frozen=True)
class MatrixOptions:
    """The options of `matrix` as typed; None: what the file says."""

    matrix: str | None
    seconds: int | None
    warmup: int | None
    blocks: int | None
    only: str | None
    seed: int | None
    plan: bool
    new: bool
    as_json: bool


def run(options: MatrixOptions) -> int:
    """Plans, runs, judges, prints; returns the exit code. Raises SandboxError for what cannot be run at all."""
    matrix = settled(_adjusted(find_matrix(options.matrix), options))
    experiment = make_experiment(matrix, options.only)
    benches = benches_of_file(experiment, matrix_path(options.matrix))  # refused before anything starts
    files = {
        cell.change.workload or "": bench.workload.file for cell, bench in zip(experiment.cells, benches, strict=True)
    }
    experiment = apart_by_data(experiment, benches)
    experiment = replace(experiment, own_files={word: file.sha256 for word, file in files.items() if file})
    skipped = skipped_cells(experiment)
    experiment = with_canary_here(experiment, skipped)
    blocks = experiment.matrix.blocks or blocks_for_one(experiment.tests_without(skipped))
    if options.plan:
        docker = Docker()
        request = matrix_request(experiment, blocks, skipped, options.seed, options.new, docker)
        data_s = foreseen_s(data_of_arms(benches_of_arms(experiment, skipped)), docker)
        return show_plan(request, RESULTS, data_s, options.as_json)
    need_baseline(experiment, skipped)
    need_comparison(experiment, skipped)
    result = run_experiment(experiment, blocks, skipped, options.seed, options.new, plan=True)
    known = known_noise(result)
    learn_from(result)
    return show_result(result, options.as_json, known)


def known_noise(result: ResultFolder) -> Known:
    """What this host's own noise is known to be for runs such as these, by their workloads."""
    return noise_of(part_of(result), result.records(), read_calibration())


def note_noise(result: ResultFolder, known: Known) -> None:
    """Enters what was known in the result: a report that is made later says the same."""
    result.note_calibration(noted(part_of(result), result.records(), known))


def learn_from(result: ResultFolder) -> None:
    """Adds the canary to what is known of this host."""
    part, records = result.manifest.matrix, result.records()
    kind = kind_of_canary(part, records) if part else None
    if part and kind:
        change_calibration(lambda known: known.grown(kind, canary_differences(part, records)))


def show_result(result: ResultFolder, as_json: bool, known: Known) -> int:
    """Prints the verdicts, and leaves the result's report. Raises SandboxError (exit 4) where no run was any good."""
    from sandbox.commands import report
    from sandbox.report.lost_runs import lost_runs
    from sandbox.report.processor_time import processor_data
    from sandbox.report.verdict_table import verdict_data, verdict_lines

    note_noise(result, known)
    manifest, part, runs = result.manifest, part_of(result), report.read_runs(result)
    records = [run.record for run in runs]
    if not any(run.good for run in runs):
        raise report.no_good_run(result, part, records)
    judged = report.judge(part, runs)
    written = report.write_matrix(result, manifest, runs, judged)
    if as_json:
        told = {**verdict_data(part, judged), "processor_time": processor_data(part, records)}
        print(json.dumps({**told, "result": str(result.path)}, indent=2))
    else:
        lost = lost_runs(part, records)
        files = [f"results/{path.parent.name}/{path.name}" for path in written]
        print("\n".join([*verdict_lines(part, judged, records), *lost, *files]))
    return int(ExitCode.OK)


def _adjusted(matrix: Matrix, options: MatrixOptions) -> Matrix:
    """The matrix with what was given on the command line. Raises SandboxError (exit 2) for a number that is none."""
    given = {"seconds": options.seconds, "warmup": options.warmup, "blocks": options.blocks}
    least = {"seconds": 1, "warmup": 0, "blocks": 1}
    changes = {name: value for name, value in given.items() if value is not None}
    for name, value in changes.items():
        if value < least[name]:
            word = name.upper()
            known = f"at least {least[name]}"
            raise SandboxError(f"{word}={value} cannot be used", known, f"try: make matrix {word}={least[name]}")
    return matrix.model_copy(update=changes)


def run_experiment(
    experiment: Experiment,
    blocks: int,
    skipped: Mapping[str, str],
    seed: int | None,
    afresh: bool,
    gate: Gate | None = None,
    plan: bool = False,
) -> ResultFolder:
    """Runs it on stacks of its own, with progress on standard error. Raises SandboxError (exit 130) on Ctrl-C.

    ``gate``: with a block before the first that is thrown away, not beyond the first failure of the environment, and
    with as many blocks more as it asks for.
    ``plan``: begins with all that PLAN=1 shows.
    """
    docker, line = Docker(), MatrixLine()
    request = matrix_request(experiment, blocks, skipped, seed, afresh, docker, gate)
    benches = benches_of_arms(experiment, skipped)
    data = data_of_arms(benches)
    foreseen = foresee(request, RESULTS, foreseen_s(data, docker))
    if plan:
        line.plan(experiment_lines(experiment, foreseen))
    else:
        line.line("; ".join([experiment.matrix.title, *foreseen_words(foreseen)]))
    prefix = f"matrix-{experiment.key[:6]}"
    maker = StackMaker(docker)
    stacks = Arms(prefix, stack_requests(experiment), maker.up, maker.down)
    wait = "another command runs the same matrix; waiting for it"
    try:
        with locked(f"matrix-{experiment.key}", lambda: line.line(wait), LOCK_PATIENCE_S), measuring(line.line):
            maker.begin_alike(data, benches, DataMaker(f"{prefix}-data", line, docker))
            return run_matrix(request, stacks, RESULTS, line)
    except KeyboardInterrupt:
        raise _interrupted(line) from None
    except SandboxError as error:
        if error.exit_code is ExitCode.INTERRUPTED:
            raise _interrupted(line) from None  # while a stack was starting, which tells only of itself
        if error.exit_code is ExitCode.ENVIRONMENT and line.runs:
            known = f"{error.known}; {line.done} of {line.runs} runs are saved"
            goes_on = "" if gate else " (it goes on from there)"
            after = f"{error.next_step}; then the same command again{goes_on}"
            raise SandboxError(error.what, known, after, ExitCode.ENVIRONMENT) from error
        raise
    finally:
        line.close()


def _interrupted(line: MatrixLine) -> SandboxError:
    return SandboxError(
        f"interrupted after {line.done} of {line.runs} runs" if line.runs else "interrupted before the first run",
        "every run that ended is saved, and every stack of the matrix is removed",
        "try: the same command again   (it goes on from there)",
        ExitCode.INTERRUPTED,
    )
