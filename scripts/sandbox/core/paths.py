"""Where files are: those that ship with the tool, the user's own profiles, results; and how one is
written whole or not at all.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError

_SOURCE = Path(__file__).resolve().parents[3]
IN_CHECKOUT = (_SOURCE / "scripts" / "bootstrap").is_file()
"""Whether the tool runs from a checkout; else it was installed from a wheel."""
CHECKOUT = _SOURCE if IN_CHECKOUT else Path(__file__).resolve().parents[1] / "shipped"
"""The folder with compose/, images/ and profiles/: the checkout, or the copy inside the installed
package.
"""


def checkout_around(here: Path) -> Path | None:
    """The checkout that a folder is in, if any."""
    return next(
        (each for each in (here, *here.parents) if (each / "images" / "catalog.yaml").is_file()),
        None,
    )


def results_folder(here: Path) -> Path:
    """``results/`` of the checkout that runs, or that ``here`` is in; else of ``here`` itself."""
    return ((CHECKOUT if IN_CHECKOUT else checkout_around(here)) or here) / "results"


def _current_folder() -> Path:
    """The current folder, as a path that stays valid; the home folder if the current one was
    removed.
    """
    try:
        return Path.cwd()
    except OSError:
        return Path.home()


HERE = _current_folder()
RESULTS = results_folder(HERE)
LOCK_FILE = (CHECKOUT if IN_CHECKOUT else HERE) / "images" / "lock.yaml"
"""The file that `make lock` writes: in a checkout a tracked file, else next to the user's
profiles.
"""


def profile_folders(kind: str, here: Path = HERE) -> list[Path]:
    """``profiles/<kind>`` of the tool, then the user's own in the current folder, which in a
    checkout has none.
    """
    shipped, own = CHECKOUT / "profiles" / kind, here / "profiles" / kind
    return [shipped] if checkout_around(here) else [shipped, own]


def broken_file(path: Path, what: str, reason: str) -> SandboxError:
    """The error for a file that cannot be used: exit 2 for the user's own, exit 5 for one that
    ships with the tool.
    """
    if path.is_relative_to(CHECKOUT):
        return SandboxError(
            what, reason, "try: make test-unit   (after fixing the file)", ExitCode.INTERNAL
        )
    return SandboxError(what, reason, "try: make list WHAT=workloads   (after fixing the file)")


def yaml_files(folders: list[Path]) -> Mapping[str, Path]:
    """Name → file. Raises SandboxError (exit 2) if two folders have a file with the same name."""
    found: dict[str, Path] = {}
    for path in (path for folder in folders for path in sorted(folder.glob("*.yaml"))):
        if path.stem in found:
            step = f"try: mv {path} {path.with_stem('my-' + path.stem)}"
            raise SandboxError(
                f"{path} has the name of {found[path.stem]}", "a name means one file", step
            )
        found[path.stem] = path
    return found


def write_atomically(path: Path, text: str) -> None:
    """Writes a file so that a reader, a crash or a kill sees all of it or none; flushed to disk.
    Raises OSError.
    """
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        with temporary.open("w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Makes what was created, replaced or removed in a folder outlive a loss of power. Raises
    OSError.
    """
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
