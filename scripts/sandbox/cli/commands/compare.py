"""compare: two results of different times, commits or machines, unpaired; reports that, and what
else differs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.find_result import find_result, levels_in, read_manifest, read_records
from sandbox.cli.common.options import Json, either, place
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.judge.calibration import noise_of
from sandbox.judge.compare import Verdict, judge_matrix, observations
from sandbox.judge.unpaired import ResultSide, compare_results, differences_between, matched
from sandbox.measure.machine import read_calibration
from sandbox.record.store import ResultFolder
from sandbox.report.comparison import comparison_document, unpaired_data

ABOUT = About(group="results", after="report", needs_engine=False)


def run(
    a: str | None, b: str | None, gate: bool = False, as_json: bool = False, results: Path = RESULTS
) -> int:
    """Prints how B differs from A; returns the exit code. Raises SandboxError (exit 2) if they have
    nothing in common.

    0 whatever the outcome, for it is an answer; with ``gate`` as in the smoke gate: 1 if anything
    is worse, else 3 if anything could not be judged.
    """
    if not a or not b:
        missing = "A" if not a else "B"
        known = (
            "A is the earlier result, B the later; each a name in results/, a part of one, latest,"
            " or a path"
        )
        raise SandboxError(
            f"compare needs {missing}=", known, "try: make compare A=<result> B=latest"
        )
    found = [find_result(name, results, "compare", key) for key, name in (("A", a), ("B", b))]
    if found[0].path == found[1].path:
        what = f"A and B are the same result, {found[0].path.name}"
        known = "nothing to compare; A is the earlier result, B the later"
        raise SandboxError(what, known, "try: make compare A=<older> B=latest")
    first, second = (read_side(each) for each in found)
    _need_something_in_common(first, second)
    compared = compare_results(first, second, read_calibration())
    differences = differences_between(first, second)
    everything = (first, second, compared, differences)
    show_document(as_json, unpaired_data(*everything), comparison_document(*everything))
    return int(gate_code(compared.verdicts) if gate else ExitCode.OK)


def read_side(result: ResultFolder) -> ResultSide:
    """A result as one side of a comparison; a matrix is first judged on its own, for its canary."""
    manifest = read_manifest(result)
    records, part = read_records(result), manifest.matrix
    runs = observations(records, result.series, part.depth if part else "restart")
    known = noise_of(part, records, read_calibration()) if part else {}
    judged = judge_matrix(part, records, result.series, known) if part else None
    return ResultSide(result.path.name, manifest, records, runs, judged)


def gate_code(verdicts: Sequence[Verdict]) -> ExitCode:
    """1 if anything is worse; 3 if something could not be judged, or nothing was; else 0."""
    words = {verdict.word for verdict in verdicts}
    if "worse" in words:
        return ExitCode.FAILED
    return ExitCode.OK if words and words <= {"better", "no difference"} else ExitCode.UNKNOWN


def _need_something_in_common(first: ResultSide, second: ResultSide) -> None:
    step = "try: make query SQL='select result, kind, matrix from results'"
    if first.manifest.kind != second.manifest.kind:
        known = f"A is a {first.manifest.kind}, B a {second.manifest.kind}"
        kinds = sorted((first.manifest.kind, second.manifest.kind))
        raise SandboxError(f"a {kinds[0]} and a {kinds[1]} cannot be compared", known, step)
    if not matched(first, second):
        what = (
            "no cell with the same levels in both"
            if first.manifest.matrix
            else "no workload in common"
        )
        raise SandboxError(what, f"A has {_contents(first)}; B has {_contents(second)}", step)
    if not {*first.metrics} & {*second.metrics}:
        known = f"A has {', '.join(first.metrics)}; B has {', '.join(second.metrics)}"
        raise SandboxError("no primary metric in common", known, step)


def _contents(side: ResultSide) -> str:
    return (
        "; ".join(f"{factor} {', '.join(levels)}" for factor, levels in levels_in(side).items())
        or "no run"
    )


def command(
    was: Annotated[str | None, place("A", "The earlier result.", completion.result)] = None,
    now: Annotated[str | None, place("B", "The later result.", completion.result)] = None,
    a: Annotated[
        str | None,
        typer.Option("--a", help="Result: a name in results/, a part of one, latest, a path."),
    ] = None,
    b: Annotated[str | None, typer.Option("--b", help="Result to compare with A.")] = None,
    gate: Annotated[
        bool, typer.Option("--gate", help="Exit with 1 if worse, 3 if it cannot be judged.")
    ] = False,
    json: Json = False,
) -> int:
    """Compare two results of different times, commits or machines, unpaired."""
    return run(either(was, a, "A"), either(now, b, "B"), gate, json)
