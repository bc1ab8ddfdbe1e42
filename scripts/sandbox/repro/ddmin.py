"""PURE: delta debugging: the parts of a failing case that cannot be left out one by one."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")


def ddmin(parts: Sequence[Part], shows: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """The fewest parts found that still show the bug; without any single one of them it is gone.

    ``shows``: whether these parts, in their order, show it; all of them do. Source: Zeller and
    Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, figure 1.
    """
    left = list(parts)
    if left and shows([]):
        return []
    pieces = 2
    while len(left) > 1:
        chunks = _split(left, pieces)
        smaller = next((chunk for chunk in chunks if shows(chunk)), None)
        if smaller is not None:
            left, pieces = smaller, 2
            continue
        rest = _first_complement(chunks, shows) if pieces > 2 else None
        if rest is not None:
            left, pieces = rest, max(pieces - 1, 2)
        elif pieces < len(left):
            pieces = min(2 * pieces, len(left))
        else:
            break
    return left


def _split(parts: Sequence[Part], pieces: int) -> list[list[Part]]:
    """As many runs of about the same length, none empty."""
    bounds = [round(number * len(parts) / pieces) for number in range(pieces + 1)]
    found = [list(parts[low:high]) for low, high in itertools.pairwise(bounds)]
    return [each for each in found if each]


def _first_complement(
    chunks: Sequence[Sequence[Part]], shows: Callable[[Sequence[Part]], bool]
) -> list[Part] | None:
    for number in range(len(chunks)):
        rest = [part for other, chunk in enumerate(chunks) if other != number for part in chunk]
        if shows(rest):
            return rest
    return None
