"""Results of different times: two of them compared, and the history of all of one subject."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from sandbox.cli.common.results import (
    find_result,
    judged_side,
    levels_in,
    metrics_in,
    read_manifest,
    read_records,
    side_of,
)
from sandbox.cli.common.showing import show_document
from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.paths import RESULTS
from sandbox.judge.compare import Verdict
from sandbox.judge.past_results import history_of, subject
from sandbox.judge.repros import changes_between, gate_of, rows_of
from sandbox.judge.unpaired import ResultSide, compare_results, matched
from sandbox.judge.variants import differences_between
from sandbox.matrix.selection import only_pieces
from sandbox.measure.machine import read_calibration
from sandbox.record.manifest import Manifest, ResultKind
from sandbox.record.store import ResultFolder, readable_results
from sandbox.report.over_time import (
    comparison_document,
    history_data,
    history_document,
    unpaired_data,
)
from sandbox.report.render import json as json_of
from sandbox.report.repro import compared_document


def compare(
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
    if all(read_manifest(each).kind == "repro" for each in found):
        return _compare_repros(found[0], found[1], gate, as_json)
    first, second = (judged_side(each) for each in found)
    _need_something_in_common(first, second)
    compared = compare_results(first, second, read_calibration())
    differences = differences_between(first, second)
    everything = (first, second, compared, differences)
    show_document(as_json, unpaired_data(*everything), comparison_document(*everything))
    return int(gate_code(compared.verdicts) if gate else ExitCode.OK)


def _compare_repros(first: ResultFolder, second: ResultFolder, gate: bool, as_json: bool) -> int:
    changes = changes_between(rows_of(read_records(first)), rows_of(read_records(second)))
    document = compared_document(first.path.name, second.path.name, changes)
    show_document(as_json, json_of.data(document), document)
    return int(gate_of(changes) if gate else ExitCode.OK)


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


def history(
    matrix: str | None = None,
    profile: str | None = None,
    workload: str | None = None,
    metric: str | None = None,
    only: str | None = None,
    as_json: bool = False,
    results: Path = RESULTS,
) -> int:
    """Prints the history of what was asked for, else of what the newest result is one of; returns
    the exit code.

    Raises SandboxError (exit 2) if there is no such result.
    """
    metrics = metrics_in(metric, "try: make history METRIC=tps")
    known = readable_results(results, partial(print, file=sys.stderr))
    # A repro has no metric that could change; two of its results are compared.
    manifests = [each for each in known if each[1].kind != "repro"]
    found = [side_of(*each) for each in manifests if _is_meant(each[1], matrix, profile, workload)]
    found = [
        each
        for each in found
        if each.records and workload in (None, "", each.records[0].workload.name)
    ]
    if not found:
        raise _nothing([manifest for _, manifest in manifests], matrix)
    newest = found[0]
    sides = [each for each in reversed(found) if subject(each) == subject(newest)]
    wanted = _wanted(only, newest)
    found_out = history_of(sides, metrics or newest.metrics, wanted, read_calibration())
    show_document(as_json, history_data(found_out), history_document(found_out))
    return int(ExitCode.OK)


def _is_meant(
    manifest: Manifest, matrix: str | None, profile: str | None, workload: str | None
) -> bool:
    """Whether the manifest matches; the workload of a bench or a trial is checked with its
    records.
    """
    if matrix:
        return manifest.matrix is not None and manifest.matrix.name == Path(matrix).stem
    if workload and manifest.kind == "matrix":
        return False
    return not profile or manifest.profile == profile


def _wanted(only: str | None, newest: ResultSide) -> dict[str, list[str]]:
    """``threads=1,64 server=mysql`` → levels by factor."""
    factors = levels_in(newest)
    wanted: dict[str, list[str]] = {}
    for factor, typed_levels in only_pieces(only, "try: make history ONLY='threads=1,64'"):
        if factor not in factors:
            known = did_you_mean(factor, factors)
            raise SandboxError(f"ONLY: there is no factor '{factor}'", known, "try: make history")
        for level in (typed_levels or "").split(","):
            if level not in factors[factor]:
                known = did_you_mean(level, factors[factor])
                raise SandboxError(
                    f"ONLY: factor {factor} has no level '{level}'", known, "try: make history"
                )
            wanted.setdefault(factor, []).append(level)
    return wanted


def _nothing(manifests: Sequence[Manifest], matrix: str | None) -> SandboxError:
    names = {each.matrix.name for each in manifests if each.matrix}
    if matrix:
        known = did_you_mean(matrix, names) if names else "no results of any matrix yet"
        step = f"try: make matrix MATRIX={matrix}"
        return SandboxError(f"there is no result of the matrix '{matrix}'", known, step)
    known = "; ".join(
        filter(
            None,
            (_profiles(manifests, "bench", "benches"), _profiles(manifests, "trial", "trials")),
        )
    )
    return SandboxError(
        "there is no such result", known or "no results yet", "try: make bench   (or make matrix)"
    )


def _profiles(manifests: Sequence[Manifest], kind: ResultKind, kinds: str) -> str:
    """``benches of: galera3, mysql``; empty where there is none."""
    profiles = {each.profile for each in manifests if each.kind == kind}
    return f"{kinds} of: {', '.join(sorted(profiles))}" if profiles else ""
