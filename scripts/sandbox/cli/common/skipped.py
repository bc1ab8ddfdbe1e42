"""How a command reports what it skipped of the results."""

import sys
from collections.abc import Mapping

_MOST_SHOWN = 3


def print_broken(broken: Mapping[str, str]) -> None:
    """Prints the first few broken files and their reasons on standard error."""
    for path, reason in list(broken.items())[:_MOST_SHOWN]:
        print(f"skipped  {path}: {' '.join(reason.split())[:200]}", file=sys.stderr)
    if len(broken) > _MOST_SHOWN:
        print(f"skipped  and {len(broken) - _MOST_SHOWN} more", file=sys.stderr)
