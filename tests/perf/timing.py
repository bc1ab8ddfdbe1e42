"""perf: the tool's own commands, run and timed as a person runs them."""

import subprocess
import sys
import time
from collections.abc import Callable

from sandbox.core.paths import CHECKOUT

SANDBOX = str(CHECKOUT / ".venv" / "bin" / "sandbox")
NAME = "perf"
"""Of the stack that figures are taken from."""


def tell(text: str) -> None:
    """A line of progress."""
    print(f"perf  {text}", file=sys.stderr, flush=True)


def timed(action: Callable[[], object]) -> float:
    """Seconds that it takes."""
    begin = time.monotonic()
    action()
    return time.monotonic() - begin


def sandbox(*argv: str, stdin: str | None = None, accepted: tuple[int, ...] = (0,)) -> str:
    """Standard output of a command. Raises CalledProcessError where it fails, with its errors in
    it.
    """
    done = subprocess.run(
        [SANDBOX, *argv], input=stdin, capture_output=True, text=True, check=False
    )
    if done.returncode not in accepted:
        sys.stderr.write(done.stderr)
        raise subprocess.CalledProcessError(done.returncode, argv)
    return done.stdout
