"""The version of this tool: the commit of its checkout, or its version number where it is installed."""

import subprocess
from pathlib import Path

from sandbox import __version__
from sandbox.places import CHECKOUT, IN_CHECKOUT

_PATIENCE_S = 5


def tool_commit(checkout: Path = CHECKOUT) -> str | None:
    """``9ada22637b1c``, or ``9ada22637b1c+`` with uncommitted changes; None where git does not answer."""
    if not IN_CHECKOUT:
        return __version__
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_PATIENCE_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None
