"""PURE: an axis: its range, linear or logarithmic scale, ticks and tick labels."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

LOG_FROM = 20.0
"""Ratio of largest to smallest value that makes an axis logarithmic: else all small values merge into one line."""


@dataclass(frozen=True, slots=True)
class Axis:
    """A range of numbers; ``place`` maps it to 0…1, clamped, so that nothing is drawn outside."""

    low: float
    high: float
    logarithmic: bool = False

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        low, high = self._scaled(self.low), self._scaled(self.high)
        return min(1.0, max(0.0, (self._scaled(max(value, self.low)) - low) / (high - low)))

    def ticks(self) -> list[float]:
        """Three to six round numbers inside the range (on a logarithmic axis 1, 2, 5 of each power of ten, thinned)."""
        return _log_ticks(self.low, self.high) if self.logarithmic else _linear_ticks(self.low, self.high)

    def _scaled(self, value: float) -> float:
        return math.log10(value) if self.logarithmic else value


def axis_of(values: Iterable[float], zero: bool = True, log_from: float = LOG_FROM) -> Axis:
    """The axis that holds all values, with some room above; starts at 0 with ``zero``, unless it is logarithmic."""
    seen = [value for value in values if math.isfinite(value)] or [0.0]
    low, high = min(seen), max(seen)
    above = [value for value in seen if value > 0]
    if above and len(above) == len(seen) and high > log_from * low:
        return Axis(low / 1.2, high * 1.2, logarithmic=True)
    if zero:
        low = min(0.0, low)
    if high - low <= 1e-6 * max(abs(low), abs(high)):  # equal, but for differences that no axis can show
        low, high = (0.0, 1.0) if high == 0 else (low - abs(low) / 10, high + abs(high) / 10)
    air = 0.06 * (high - low)
    return Axis(low if zero and low == 0 else low - air, high + air)


def _linear_ticks(low: float, high: float) -> list[float]:
    raw = (high - low) / 5
    power = 10 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    ticks = [float(f"{index * step:.12g}") for index in range(first, math.floor(high / step + 1e-9) + 1)]
    return [tick for tick in ticks if low <= tick <= high]


def _log_ticks(low: float, high: float) -> list[float]:
    ticks = list(_steps_of_decades(low, high))
    if len(ticks) <= 6:
        return ticks
    decades = [tick for tick in ticks if round(math.log10(tick), 9).is_integer()]
    kept = decades if len(decades) > 1 else ticks
    return kept[:: math.ceil(len(kept) / 6)]


def _steps_of_decades(low: float, high: float) -> Iterator[float]:
    for power in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1):
        for factor in (1, 2, 5):
            tick = factor * 10.0**power
            if low <= tick <= high:
                yield tick


def figure(value: float) -> str:
    """A number for a table: four digits, never in exponent notation."""
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


_LARGE = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))


def written(value: float) -> str:
    """A number for a tick: ``12k``, ``1.5M``, ``0.05``."""
    for size, letter in _LARGE:
        if abs(value) >= size:
            return f"{value / size:.4g}{letter}"
    return f"{value:.4g}"
