"""When a thread's next transaction is due: at once, or as arrivals of a given rate. Pure except for the given clock."""

import random
from collections.abc import Callable

Clock = Callable[[], float]


class Pace:
    """Arrivals of a thread: exponential gaps, so that all threads together form a Poisson process of the rate."""

    def __init__(self, rate_per_s: float | None, began: float, seed: str) -> None:
        self._rate = rate_per_s
        self._due = began
        self._random = random.Random(seed)  # noqa: S311  (arrival times, no secret)

    def next_due(self, now: float) -> float:
        """When the next transaction should start; its latency counts from then, including a wait behind a slow one."""
        if self._rate is None:
            return now
        self._due += self._random.expovariate(self._rate)
        return self._due
