"""Buckets are as narrow as promised, and percentiles are those of the values."""

import json
import random

from hypothesis import given
from hypothesis import strategies as st

from sandbox.load.common.load_output import PRECISION_PERCENT, Histogram, upper_us
from unit.load.histograms import bucket_of, printed

LATENCIES = st.integers(0, 10**11)


@given(LATENCIES)
def test_a_value_lies_in_its_bucket_and_the_bucket_is_narrow(value: int) -> None:
    bucket = bucket_of(value)
    assert value <= upper_us(bucket) <= value * (1 + PRECISION_PERCENT / 100) + 1e-9
    assert bucket == 0 or upper_us(bucket - 1) < value


def test_small_values_are_exact() -> None:
    assert [upper_us(bucket_of(value)) for value in range(256)] == list(range(256))
    assert PRECISION_PERCENT == 0.78125


@given(st.lists(LATENCIES, min_size=1, max_size=200), st.sampled_from([50, 95, 99, 100]))
def test_a_percentile_is_the_value_of_its_rank(values: list[int], percent: float) -> None:
    histogram = Histogram(**printed(*values))
    exact = sorted(values)[max(1, int(len(values) * percent / 100 + 0.5)) - 1]
    estimate = histogram.percentile_us(percent)
    assert (
        estimate is not None and exact <= estimate <= exact * (1 + PRECISION_PERCENT / 100) + 1e-9
    )
    assert (histogram.count, histogram.sum_us, histogram.max_us) == (
        len(values),
        sum(values),
        max(values),
    )


def test_nothing_counted_has_no_percentile() -> None:
    assert Histogram().percentile_us(95) is None


def test_parts_add_up_and_survive_json() -> None:
    draw = random.Random(1)
    values = [draw.randint(0, 10**6) for _ in range(1000)]
    whole, parts = (
        Histogram(**printed(*values)),
        [Histogram(**printed(*values[place::2])) for place in range(2)],
    )
    shown = json.dumps(printed(*values[1::2]))
    parts[0].merge(Histogram(**json.loads(shown)))
    assert parts[0].counts == whole.counts and parts[0].latencies() == whole.latencies()
    assert (parts[0].sum_us, parts[0].max_us) == (whole.sum_us, whole.max_us)
