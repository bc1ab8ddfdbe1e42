"""The user's calibrations on disk: one file in the cache, shared by all checkouts, like the engine."""

import os
from collections.abc import Callable
from pathlib import Path

from pydantic import ValidationError

from sandbox.results.calibration import Calibration
from sandbox.results.store import write_atomically
from sandbox.stack.locks import locked


def calibration_path() -> Path:
    """``~/.cache/sandbox/calibration.json``."""
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(cache) / "sandbox" / "calibration.json"


def read_calibration() -> Calibration:
    """The known calibrations; empty where the file is missing or invalid, since it is only a cache."""
    try:
        return Calibration.model_validate_json(calibration_path().read_text(encoding="utf-8"))
    except (OSError, ValidationError):
        return Calibration()


def change_calibration(change: Callable[[Calibration], Calibration]) -> Calibration:
    """Reads, changes and writes the file, one command at a time. Raises OSError where it cannot be written."""
    with locked("calibration", lambda: None):
        changed = change(read_calibration())
        calibration_path().parent.mkdir(parents=True, exist_ok=True)
        write_atomically(calibration_path(), changed.model_dump_json(indent=1) + "\n")
        return changed
