"""The version of this tool that measured: the commit of its checkout."""

import subprocess
from pathlib import Path

from sandbox.library import CHECKOUT

_PATIENCE_S = 5


def tool_commit(checkout: Path = CHECKOUT) -> str | None:
    """``9ada22637b1c``, or ``9ada22637b1c+`` where files were changed since; None where git is not there to tell."""
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
