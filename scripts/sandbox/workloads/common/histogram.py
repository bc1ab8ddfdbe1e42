"""Latencies counted in buckets whose width grows with the value, as HdrHistogram does. Pure."""

from collections.abc import Iterable

_SUB_BUCKET_BITS = 7

PRECISION_PERCENT = 100 / (1 << _SUB_BUCKET_BITS)
"""Relative precision of a value."""

RESOLUTION_MS = 0.001
"""Buckets hold whole microseconds."""


def bucket_of(value_us: int) -> int:
    """Number of the bucket of a value: exact below 256 µs, then 128 buckets for each doubling."""
    shift = max(0, value_us.bit_length() - _SUB_BUCKET_BITS - 1)
    return (shift << _SUB_BUCKET_BITS) + (value_us >> shift)


def upper_us(bucket: int) -> int:
    """Largest value of a bucket, µs."""
    shift = max(0, (bucket >> _SUB_BUCKET_BITS) - 1)
    return (((bucket - (shift << _SUB_BUCKET_BITS)) + 1) << shift) - 1


class Histogram:
    """Counts by bucket; sum and maximum are exact."""

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.sum_us = 0
        self.max_us = 0

    def add(self, value_us: int) -> None:
        """Counts one value, µs."""
        bucket = bucket_of(value_us)
        self.counts[bucket] = self.counts.get(bucket, 0) + 1
        self.sum_us += value_us
        self.max_us = max(self.max_us, value_us)

    def merge(self, other: "Histogram") -> None:
        """Adds the counts of another one."""
        for bucket, count in other.counts.items():
            self.counts[bucket] = self.counts.get(bucket, 0) + count
        self.sum_us += other.sum_us
        self.max_us = max(self.max_us, other.max_us)

    @property
    def count(self) -> int:
        """Values counted."""
        return sum(self.counts.values())

    def percentile_us(self, percent: float) -> int | None:
        """Value at or below which ``percent`` of the values lie (nearest rank), µs; None without values."""
        wanted = max(1, int(self.count * percent / 100 + 0.5))
        seen = 0
        for bucket in sorted(self.counts):
            seen += self.counts[bucket]
            if seen >= wanted:
                return min(upper_us(bucket), self.max_us)
        return None

    def as_json(self) -> dict[str, object]:
        """``counts`` as pairs of bucket and count."""
        return {"counts": sorted(self.counts.items()), "sum_us": self.sum_us, "max_us": self.max_us}

    @classmethod
    def from_json(cls, counts: Iterable[tuple[int, int]], sum_us: int, max_us: int) -> "Histogram":
        """The histogram from the output of `as_json`."""
        made = cls()
        made.counts = {int(bucket): int(count) for bucket, count in counts}
        made.sum_us, made.max_us = sum_us, max_us
        return made
