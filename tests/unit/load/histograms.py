"""Histograms as `engine.lua` makes and prints them."""

from collections import Counter
from typing import Any


def bucket_of(value_us: int) -> int:
    """Number of the bucket of a value: exact below 256 µs, then 128 buckets for each doubling."""
    shift = max(0, value_us.bit_length() - 8)
    return (shift << 7) + (value_us >> shift)


def printed(*values_us: int) -> dict[str, Any]:
    """The histogram of some values as it is printed; ``counts`` as pairs of bucket and count."""
    counts = sorted(Counter(map(bucket_of, values_us)).items())
    return {"counts": counts, "sum_us": sum(values_us), "max_us": max(values_us, default=0)}
