"""PURE: the versions that a repro says are affected: ranges by family, judged by a version as a
server reports it.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import zip_longest
from typing import Any

from sandbox.record.repro import Side

_RANGE = re.compile(
    r"(?P<sign><=|>=|<|>|=)?\s*(?P<low>\d+(?:\.\d+)*)(?:\s+-\s+(?P<high>\d+(?:\.\d+)*))?"
)
Affected = Mapping[Any, Sequence[str]]
"""Family → ranges, such as ``<10.11.16``, ``11.4.0 - 11.4.9`` or ``9.7``, which is all of 9.7."""


def numbers_of(version: str) -> tuple[int, ...]:
    """``10.11.18-MariaDB-log`` → (10, 11, 18). Raises ValueError where there is none."""
    found = re.match(r"(?:\d+:)?(\d+(?:\.\d+)*)", version)
    if found is None:
        raise ValueError(f"{version!r} is no version")
    return tuple(int(part) for part in found[1].split("."))


def check_range(text: str) -> None:
    """Raises ValueError for a text that is no range of versions."""
    found = _RANGE.fullmatch(text.strip())
    if found is None or (found["sign"] and found["high"]):
        raise ValueError(
            f"{text!r} is no range of versions: one is <10.11.16, >=11.4.0, 11.4.0 - 11.4.9 or 9.7"
        )


def is_in(version: str, text: str) -> bool:
    """Whether a version is in a range. A version that stands alone means every release of it."""
    found = _RANGE.fullmatch(text.strip())
    assert found  # noqa: S101  (checked when the file was read)
    own = numbers_of(version)
    low = numbers_of(found["low"])
    if found["high"]:
        high = numbers_of(found["high"])
        return _order(own, low) >= 0 and _order(own[: len(high)], high) <= 0
    match found["sign"]:
        case "<":
            return _order(own, low) < 0
        case "<=":
            return _order(own[: len(low)], low) <= 0
        case ">":
            return _order(own[: len(low)], low) > 0
        case ">=":
            return _order(own, low) >= 0
    return own[: len(low)] == low


def expected_side(affected: Affected, family: str, version: str) -> Side | None:
    """What is expected of a server; None where nothing is said of its family."""
    ranges = affected.get(family)
    if ranges is None:
        return None
    return "bug" if any(is_in(version, each) for each in ranges) else "fixed"


def _order(one: Sequence[int], other: Sequence[int]) -> int:
    """Negative where the first is lower: 10.11 and 10.11.0 are the same."""
    for mine, theirs in zip_longest(one, other, fillvalue=0):
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0
