"""history: all results of one matrix, bench or trial over time, and where they changed for good."""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.find_result import levels_in, metrics_in, side_of
from sandbox.cli.common.options import Json, chosen
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.paths import RESULTS
from sandbox.judge.past_results import history_of, subject
from sandbox.judge.unpaired import ResultSide
from sandbox.matrix.selection import only_pieces
from sandbox.measure.machine import read_calibration
from sandbox.record.manifest import Manifest, ResultKind
from sandbox.record.store import readable_results
from sandbox.report.history import history_data, history_document

ABOUT = About(group="results", after="compare", needs_engine=False)


def run(
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
    manifests = readable_results(results, partial(print, file=sys.stderr))
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
    history = history_of(
        sides, metrics or newest.metrics, _wanted(only, newest), read_calibration()
    )
    show_document(as_json, history_data(history), history_document(history))
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


def command(
    matrix: Annotated[
        str | None, chosen("Results of this matrix (that of the newest result).", completion.matrix)
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Benches of this profile.")] = None,
    workload: Annotated[
        str | None, chosen("Benches with this workload.", completion.workload)
    ] = None,
    metric: Annotated[
        str | None, typer.Option(help="Metrics, such as tps,latency_p99_ms (the primary ones).")
    ] = None,
    only: Annotated[str | None, typer.Option(help="Levels to show: 'threads=1,64'.")] = None,
    json: Json = False,
) -> int:
    """Show one matrix or bench over time, and where it changed for good."""
    return run(matrix, profile, workload, metric, only, json)
