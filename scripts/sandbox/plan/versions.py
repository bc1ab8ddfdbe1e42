"""Comparing server versions."""

import re
from functools import cache

_NUMBER = re.compile(r"\d+")


@cache
def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a version, for ordering: ``8.0.36-28`` → (8, 0, 36, 28)."""
    return tuple(int(number) for number in _NUMBER.findall(version))


@cache
def at_least(version: str, since: str) -> bool:
    """Whether ``version`` is ``since`` or newer, compared over as many numbers as both give.

    ``8.4`` is at least ``8.4.3``: a series without a patch number means its newest release.
    """
    have, want = version_key(version), version_key(since)
    length = min(len(have), len(want))
    return have[:length] >= want[:length]


def belongs_to(version: str, series: str) -> bool:
    """Whether an exact version is in a series: ``8.0.36-28`` belongs to ``8.0``, ``v2.53.4`` to ``2.53``."""
    version = version.removeprefix("v")
    return version == series or version.startswith((f"{series}.", f"{series}-"))
