"""Real output of sysbench 1.0.20 is read right; the captured files say in their names how they came
about.
"""

from itertools import pairwise

import pytest

from sandbox.load.common.load_output import (
    HISTOGRAM_PRECISION_PERCENT,
    SysbenchOutput,
    parse_second,
    percentile,
)
from unit.fake_stack import captured


def read(*lines: str) -> SysbenchOutput:
    """The output of a run."""
    output = SysbenchOutput("measure")
    for line in lines:
        output.feed(line)
    return output


def test_a_second_is_read() -> None:
    line = (
        "[ 12s ] thds: 8 tps: 341.40 qps: 10917.91 (r/w/o: 8377.35/1597.21/943.35)"
        " lat (ms,95%): 59.99 err/s: 252.56 reconn/s: 0.00"
    )
    second = parse_second(line, "measure", 3)
    assert second is not None
    assert (second.second, second.threads, second.tps, second.qps) == (12, 8, 341.4, 10917.91)
    assert (second.reads_per_s, second.writes_per_s, second.p95_ms) == (8377.35, 1597.21, 59.99)
    assert (second.conflicts_per_s, second.reconnects_per_s, second.errors, second.phase) == (
        252.56,
        0.0,
        3,
        "measure",
    )


@pytest.mark.parametrize("line", ["[ 1s ] queue length: 0, concurrency: 0", "Threads started!", ""])
def test_other_lines_are_no_seconds(line: str) -> None:
    assert parse_second(line, "measure", 0) is None


def test_every_second_of_a_run_is_found() -> None:
    seconds = [parse_second(line, "measure", 0) for line in captured("rate")]
    assert [second.second for second in seconds if second] == [1, 2, 3]


def test_the_summary_is_read() -> None:
    output = read(*captured("conflicts-mariadb-11.8"))
    metrics, seconds = output.metrics(), 5.0447
    assert (metrics.reads_per_s, metrics.writes_per_s) == (
        round(36694 / seconds, 2),
        round(6865 / seconds, 2),
    )
    assert (metrics.tps, metrics.qps, metrics.queries) == (
        round(1463 / seconds, 2),
        round(47643 / seconds, 2),
        47643,
    )
    assert (metrics.transactions, metrics.conflicts, metrics.reconnects) == (1463, 1158, 0)
    assert (metrics.measured_s, metrics.latency_avg_ms, metrics.latency_max_ms) == (
        seconds,
        27.42,
        158.83,
    )
    assert sum(count for _, count in output.buckets) == 1463


def test_conflicts_have_codes_where_the_script_counts_them() -> None:
    lines = captured("conflicts-mariadb-11.8")
    assert read(*lines).metrics().conflicts_by_code is None
    counted = read(
        "conflicts of code 1213: 1100",
        *lines,
        "conflicts of code 1020: 50",
        "conflicts of code 1213: 8",
    )
    assert counted.metrics().conflicts_by_code == {"1213": 1108, "1020": 50}


@pytest.mark.parametrize(
    ("name", "printed"),
    [("conflicts-mariadb-11.8", 71.83), ("conflicts-mysql-9.7", 92.42), ("rate", 0.54)],
)
def test_our_percentile_is_the_one_that_sysbench_prints(name: str, printed: float) -> None:
    own = read(*captured(name)).metrics().latency_p95_ms
    assert own is not None and round(own, 2) == printed


def test_percentiles_rise_and_end_in_the_last_bucket() -> None:
    buckets = [(1.0, 50), (2.0, 45), (4.0, 5)]
    assert [percentile(buckets, percent) for percent in (50, 95, 99, 100)] == [1.0, 2.0, 4.0, 4.0]
    assert percentile([], 95) is None


def test_precision_is_the_ratio_of_neighbouring_buckets() -> None:
    values = [value for value, _ in read(*captured("conflicts-mariadb-11.8")).buckets]
    narrowest = min(100 * (after / before - 1) for before, after in pairwise(values))
    assert narrowest == pytest.approx(HISTOGRAM_PRECISION_PERCENT, abs=0.05)


def test_a_script_that_sent_no_statement_has_no_summary() -> None:
    general = [
        "    total time:                          2.0012s",
        "    total number of events:              4000",
    ]
    latency = [
        "         avg:                                    0.01",
        "         max:                                    0.90",
    ]
    output = read(*general, *latency)
    assert not output.is_whole and output.figures() == {}


def test_a_run_without_a_summary_has_none() -> None:
    output = read(*captured("killed-server"))
    assert not output.is_whole and output.figures() == {}


@pytest.mark.parametrize(
    ("name", "by_code", "first"),
    [
        ("killed-server", {"2013": 4}, "Lost connection"),
        ("read-only", {"1290": 2}, "--read-only"),
        ("refused", {"1045": 2}, "error 1045"),
        ("conflicts-mysql-9.7", {}, None),
    ],
)
def test_errors_are_counted_by_code(name: str, by_code: dict[str, int], first: str | None) -> None:
    output = read(*captured(name))
    assert output.errors_by_code() == by_code
    assert (output.first_error is None) if first is None else first in str(output.first_error)


def test_an_error_without_a_code_still_counts() -> None:
    output = read("FATAL: Cannot find benchmark 'oltp_read_wirte': no such built-in test")
    assert output.errors_by_code() == {"unknown": 1}


def test_a_repeated_message_of_no_error_counts_nothing() -> None:
    output = read("Creating table", "(last message repeated 3 times)")
    assert output.errors_by_code() == {} and output.first_error is None
