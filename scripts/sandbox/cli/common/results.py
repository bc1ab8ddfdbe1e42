"""Results that a user names, by a name in results/, a part of one, ``latest`` or a path: found and
read, with a word on what is broken.
"""

import sys
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.judge.calibration import noise_of
from sandbox.judge.compare import observations
from sandbox.judge.matrix import judge_matrix
from sandbox.judge.unpaired import ResultSide
from sandbox.measure.machine import read_calibration
from sandbox.record.manifest import Manifest
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder, all_results

_MOST_SHOWN = 3
"""Broken files that are named."""


def find_result(
    given: str | None, results: Path, command: str, variable: str = "RESULT"
) -> ResultFolder:
    """The result folder that a user named; ``latest`` by default, which is the newest as long as
    none has ended.

    Raises SandboxError (exit 2) if there is none, or if several match.
    """
    name = given or "latest"
    folder = next(
        (path for path in (results / name, Path(name)) if (path / "manifest.json").is_file()), None
    )
    if folder is None:
        names = [each.path.name for each in all_results(results)]
        meant = names[-1:] if name == "latest" else [each for each in names if name in each]
        if len(meant) != 1:
            raise _unknown(name, names, meant, f"try: make {command} {variable}=latest")
        folder = results / meant[0]
    return ResultFolder(folder.resolve())


def read_manifest(result: ResultFolder) -> Manifest:
    """The manifest of a result. Raises SandboxError (exit 2) for one that is missing, broken or of
    another version.
    """
    try:
        return result.manifest
    except (OSError, ValueError) as problem:  # a ValidationError is a ValueError
        raise unreadable(
            f"{result.path / 'manifest.json'} is not a valid manifest", problem
        ) from problem


def unreadable(what: str, problem: Exception) -> SandboxError:
    """The error (exit 2) for a file of a result; of an invalid one it names the first field that
    is.
    """
    reason = str(problem).splitlines()[0]
    if isinstance(problem, ValidationError):
        first = problem.errors()[0]
        reason = ": ".join(filter(None, (".".join(map(str, first["loc"])), first["msg"])))
    return SandboxError(what, reason, "try: make list WHAT=results")


def read_records(result: ResultFolder) -> list[Record]:
    """The records of a result; reports on standard error every one that was skipped."""
    records, broken = result.readable_records()
    for run, reason in broken.items():
        print(f"skipped  {result.path.name}/runs/{run}/record.json: {reason}", file=sys.stderr)
    return records


def side_of(result: ResultFolder, manifest: Manifest) -> ResultSide:
    """A result as a side of a comparison, by its records alone."""
    records = read_records(result)
    return ResultSide(
        result.path.name, manifest, records, observations(records, lambda _: (), "restart"), None
    )


def judged_side(result: ResultFolder) -> ResultSide:
    """A result as one side of a comparison; a matrix is first judged on its own, for its canary."""
    manifest = read_manifest(result)
    records, part = read_records(result), manifest.matrix
    runs = observations(records, result.series, part.depth if part else "restart")
    known = noise_of(part, records, read_calibration()) if part else {}
    judged = judge_matrix(part, records, result.series, known) if part else None
    return ResultSide(result.path.name, manifest, records, runs, judged)


def levels_in(side: ResultSide) -> dict[str, list[str]]:
    """Factor → the levels of the result's cells, in their order."""
    found: dict[str, dict[str, None]] = {}
    for levels in side.cells.values():
        for factor, level in levels.items():
            found.setdefault(factor, {})[level] = None
    return {factor: list(levels) for factor, levels in found.items()}


def metrics_in(given: str | None, step: str) -> list[str]:
    """``tps,latency_p99_ms`` as names. Raises SandboxError (exit 2) with the next step for an
    unknown one.
    """
    names = [name.strip() for name in (given or "").split(",") if name.strip()]
    for name in names:
        if name not in METRICS:
            raise SandboxError(f"there is no metric '{name}'", did_you_mean(name, METRICS), step)
    return names


def print_broken(broken: Mapping[str, str]) -> None:
    """Prints the first few broken files and their reasons on standard error."""
    for path, reason in list(broken.items())[:_MOST_SHOWN]:
        print(f"skipped  {path}: {' '.join(reason.split())[:200]}", file=sys.stderr)
    if len(broken) > _MOST_SHOWN:
        print(f"skipped  and {len(broken) - _MOST_SHOWN} more", file=sys.stderr)


def _unknown(name: str, names: list[str], meant: list[str], step: str) -> SandboxError:
    if not names:
        what = "no results yet" if name == "latest" else f"there is no result '{name}'"
        return SandboxError(what, "results/ is empty", "try: make bench")
    if meant:
        newest = ", ".join(meant[-3:])
        return SandboxError(f"'{name}' matches {len(meant)} results", f"the newest: {newest}", step)
    known = did_you_mean(name, names)
    if known.startswith("known:"):
        known = f"the newest: {', '.join(names[-3:])}"
    return SandboxError(f"there is no result '{name}'", known, step)
