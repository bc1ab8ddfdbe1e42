"""Finds a result: by its name in results/, the start or a part of it, ``latest``, or the path of any folder."""

from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from sandbox.errors import SandboxError, did_you_mean
from sandbox.results.manifest import Manifest
from sandbox.results.store import ResultFolder, all_results

LATEST = "latest"


def find_result(given: str | None, results: Path, command: str, variable: str = "RESULT") -> ResultFolder:
    """The result folder that a user named; ``latest`` by default. Raises SandboxError (exit 2) if there is none."""
    name = given or LATEST
    folder = _folder(name, results)
    if folder is None:
        names = [each.path.name for each in all_results(results)]
        meant = [each for each in names if name in each]
        if len(meant) != 1:
            raise _unknown(name, names, meant, f"try: make {command} {variable}=latest")
        folder = results / meant[0]
    return ResultFolder(folder.resolve())


def read_manifest(result: ResultFolder) -> Manifest:
    """The manifest of a result. Raises SandboxError (exit 2) for an invalid one."""
    try:
        return result.manifest
    except (OSError, ValidationError) as problem:
        what = f"{result.path / 'manifest.json'} is not a valid manifest"
        raise SandboxError(what, str(problem).splitlines()[0], "try: make list WHAT=results") from None


def print_skipped(result: ResultFolder, broken: dict[str, str], show: Callable[[str], None]) -> None:
    """Reports every record that was skipped."""
    for run, reason in broken.items():
        show(f"skipped  {result.path.name}/runs/{run}/record.json: {reason}")


def _folder(name: str, results: Path) -> Path | None:
    for path in (results / name, Path(name)):
        if (path / "manifest.json").is_file():
            return path
    return None


def _unknown(name: str, names: list[str], meant: list[str], step: str) -> SandboxError:
    if not names:
        return SandboxError(f"there is no result '{name}'", "no results yet", "try: make bench   (or make matrix)")
    if meant:
        newest = ", ".join(meant[-3:])
        return SandboxError(f"'{name}' matches {len(meant)} results", f"the newest: {newest}", step)
    known = did_you_mean(name, names)
    if known.startswith("known:"):
        known = f"the newest: {', '.join(names[-3:])}"
    return SandboxError(f"there is no result '{name}'", known, step)
