"""PURE: delta debugging: the parts of a failing case that cannot be left out one by one."""

import itertools
from collections.abc import Callable, Sequence
from typing import TypeVar

Part = TypeVar("Part")
_MOST_ALONE = 4
"""As long as there are no more pieces, each is tried alone."""


def ddmin(parts: Sequence[Part], shows: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """The fewest parts found that still show the bug; without any single one of them it is gone.

    ``shows``: whether these parts, in their order, show it; all of them do. Source: Zeller and
    Hildebrandt, "Simplifying and Isolating Failure-Inducing Input", 2002, figure 1; but for pieces
    smaller than a quarter the tries with one piece alone, which ten steps of a repro hardly ever
    survive, are left out: what is left is the same, 1-minimal.
    """
    left = list(parts)
    if left and shows([]):
        return []
    pieces = 2
    while len(left) > 1:
        chunks = _split(left, pieces)
        alone = chunks if pieces <= _MOST_ALONE else []
        smaller = next((chunk for chunk in alone if shows(chunk)), None)
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


def one_by_one(parts: Sequence[Part], shows: Callable[[Sequence[Part]], bool]) -> list[Part]:
    """The same for parts of which `ddmin` has left out what it could, when something else has
    become smaller since: each is tried alone, until none can be left out.
    """
    left = list(parts)
    place = 0
    kept = 0
    while kept < len(left):
        place %= len(left)
        rest = [*left[:place], *left[place + 1 :]]
        if shows(rest):
            left = rest
            kept = 0
        else:
            place += 1
            kept += 1
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
