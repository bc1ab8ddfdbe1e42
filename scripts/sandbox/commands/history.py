"""history: all results of one matrix or bench over time, and where they changed for good."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from sandbox.commands.common import completion
from sandbox.commands.common.find_result import levels_in, metrics_in, side_of
from sandbox.commands.common.options import Json
from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.experiment.selection import only_pieces
from sandbox.places import RESULTS
from sandbox.report.across_time import history_data, history_lines
from sandbox.results.history import history_of, subject
from sandbox.results.manifest import Manifest
from sandbox.results.store import readable_results
from sandbox.results.unpaired import ResultSide
from sandbox.run.machine import read_calibration

HELP = ("results", 3)


@dataclass(frozen=True)
class HistoryOptions:
    """The options of `history` as typed; None: as in the newest result."""

    matrix: str | None = None
    profile: str | None = None
    workload: str | None = None
    metric: str | None = None
    only: str | None = None
    as_json: bool = False


def run(options: HistoryOptions, results: Path = RESULTS) -> int:
    """Prints the history; returns the exit code. Raises SandboxError (exit 2) if there is no such result."""
    metrics = metrics_in(options.metric, "try: make history METRIC=tps")
    sides = _sides(options, results)
    newest = sides[-1]
    history = history_of(sides, metrics or newest.metrics, _wanted(options.only, newest), read_calibration())
    print(json.dumps(history_data(history), indent=2) if options.as_json else "\n".join(history_lines(history)))
    return int(ExitCode.OK)


def _sides(options: HistoryOptions, results: Path) -> Sequence[ResultSide]:
    """Results of the subject asked for, by default that of the newest result; oldest first."""
    manifests = readable_results(results, partial(print, file=sys.stderr))
    found = [(folder, manifest) for folder, manifest in manifests if _is_meant(manifest, options)]
    sides = [side_of(folder, manifest) for folder, manifest in found]
    named = options.workload
    sides = [each for each in sides if each.records and (not named or named == each.records[0].workload.name)]
    if not sides:
        raise _nothing([manifest for _, manifest in manifests], options)
    meant = subject(sides[0])
    return [side for side in reversed(sides) if subject(side) == meant]


def _is_meant(manifest: Manifest, options: HistoryOptions) -> bool:
    """Whether the manifest matches; the workload of a bench is checked with its records."""
    if options.matrix:
        return manifest.matrix is not None and manifest.matrix.name == Path(options.matrix).stem
    if options.workload and manifest.kind != "bench":
        return False
    return not options.profile or manifest.profile == options.profile


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
                raise SandboxError(f"ONLY: factor {factor} has no level '{level}'", known, "try: make history")
            wanted.setdefault(factor, []).append(level)
    return wanted


def _nothing(manifests: Sequence[Manifest], options: HistoryOptions) -> SandboxError:
    names = {each.matrix.name for each in manifests if each.matrix}
    if options.matrix:
        known = did_you_mean(options.matrix, names) if names else "no results of any matrix yet"
        step = f"try: make matrix MATRIX={options.matrix}"
        return SandboxError(f"there is no result of the matrix '{options.matrix}'", known, step)
    profiles = {each.profile for each in manifests if not each.matrix}
    known = f"benches of: {', '.join(sorted(profiles))}" if profiles else "no results yet"
    return SandboxError("there is no such result", known, "try: make bench   (or make matrix)")


def command(
    matrix: Annotated[
        str | None,
        typer.Option(help="Results of this matrix (that of the newest result).", autocompletion=completion.matrix),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="Benches of this profile.")] = None,
    workload: Annotated[
        str | None, typer.Option(help="Benches with this workload.", autocompletion=completion.workload)
    ] = None,
    metric: Annotated[str | None, typer.Option(help="Metrics, such as tps,latency_p99_ms (the primary ones).")] = None,
    only: Annotated[str | None, typer.Option(help="Levels to show: 'threads=1,64'.")] = None,
    json: Json = False,
) -> int:
    """Show one matrix or bench over time, and where it changed for good."""
    return run(HistoryOptions(matrix, profile, workload, metric, only, json))
