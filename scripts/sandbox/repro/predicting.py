"""PURE: how long further tries of a repro will take, by what those before them took."""

import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from sandbox.record.manifest import ReprosPart, StartPart

# Measured on a two-core machine; whatever was measured here, in this search or before it, counts
# instead.
UP_S = 5.0
FIRST_S = 1.0
"""The first repeat on a stack has to prove its settings, and to start the sessions' program."""
REPEAT_S = 0.3
IMAGE_S = 90.0
BASE_S = 8.0
_NOTHING_S = 1.0
"""A look whether an image or a base directory is here takes less than this."""


@dataclass(frozen=True, slots=True)
class StartNeeds:
    """What a stack needs before it starts: an image pulled or built, first starts of servers."""

    image: bool = False
    base: bool = False


@dataclass
class Pace:
    """What tries took. ``starts``: of stacks that started so far, or for an earlier result."""

    starts: Sequence[StartPart] = ()
    repeat_s: float | None = None
    """A repeat on a stack that is up; None: none was made yet."""
    _beside_s: list[float] = field(default_factory=list)
    """By try of this search, what it took beside its repeats, images and first starts."""

    def note(self, took_s: float, repeats: int, start: StartPart | None) -> None:
        """Notes a try that is over, made from its stack's ``start`` on."""
        made_s = 0.0
        if start is not None:
            made_s = start.images_s + start.base_s
        own_s = repeats * (self.repeat_s or 0.0)
        self._beside_s.append(max(0.0, took_s - made_s - own_s))

    def try_s(self, repeats: float, needs: StartNeeds) -> float:
        """Seconds of a try with so many repeats."""
        repeat_s = REPEAT_S if self.repeat_s is None else self.repeat_s
        seconds = self._start_s() + repeats * repeat_s
        if needs.image:
            seconds += _median((each.images_s for each in self.starts), IMAGE_S)
        if needs.base:
            seconds += _median((each.base_s for each in self.starts), BASE_S)
        return seconds

    def _start_s(self) -> float:
        # The first one had nobody's stack to make room for, and is not like those that follow.
        later = self._beside_s[1:] or self._beside_s
        if later:
            return statistics.mean(later)
        return _median((each.up_s for each in self.starts), UP_S) + FIRST_S


def pace_of(parts: Iterable[ReprosPart]) -> Pace:
    """The pace of earlier results of the same repro."""
    known = list(parts)
    repeats_s = [each.repeat_s for each in known if each.repeat_s is not None]
    starts = [start for each in known for start in each.starts]
    return Pace(starts, statistics.median(repeats_s) if repeats_s else None)


def _median(seconds: Iterable[float], otherwise: float) -> float:
    """Of those where something was done."""
    done = [each for each in seconds if each > _NOTHING_S]
    return statistics.median(done) if done else otherwise
