"""What the load program prints becomes seconds and figures; what is missing stays missing."""

import json
from typing import Any

from sandbox.workloads.common.load_output import LoadOutput
from sandbox.workloads.in_client.connection import Sent
from sandbox.workloads.in_client.recorder import Recorder, Tally


def tally(**errors: int) -> Tally:
    """Ten reads of 1 to 10 ms, one fill, two conflicts."""
    recorder = Recorder()
    for number in range(1, 11):
        recorder.done("read", 1000 * number, True)
    recorder.done("fill", 500_000, False)
    recorder.sent(Sent(connections=2, reads=10, writes=3, others=4))
    recorder.conflict("1213")
    recorder.conflict("expected")
    for code, count in errors.items():
        for _ in range(count):
            recorder.error(code, "told")
    return recorder.take()


def feed(output: LoadOutput, *lines: Any) -> list[Any]:
    """Seconds of some lines."""
    return [output.feed(line if isinstance(line, str) else json.dumps(line)) for line in lines]


def test_a_second_is_told() -> None:
    output = LoadOutput("measure")
    (second,) = feed(output, tally().second_json(3, 8))
    assert (second.phase, second.second, second.threads) == ("measure", 3, 8)
    assert (second.tps, second.qps, second.reads_per_s, second.writes_per_s) == (10, 17, 10, 3)
    assert 10.0 <= second.p95_ms <= 10.08 and second.conflicts_per_s == 2 and second.errors == 0


def test_a_second_without_an_end_has_no_percentile() -> None:
    (second,) = feed(LoadOutput("measure"), Tally().second_json(1, 8))
    assert second.tps == 0 and second.p95_ms is None


def test_figures_leave_out_what_stands_beside_the_load() -> None:
    output = LoadOutput("measure")
    feed(output, tally().second_json(1, 8), Tally().second_json(2, 8), {"summary": tally().summary_json(2.0)})
    metrics = output.metrics()
    assert (metrics.tps, metrics.qps, metrics.transactions, metrics.queries) == (5.0, 8.5, 10, 17)
    assert metrics.latency_avg_ms == 5.5 and metrics.latency_max_ms == 10.0
    assert metrics.latency_p50_ms is not None and 5.0 <= metrics.latency_p50_ms <= 5.04
    assert metrics.conflicts == 2 and metrics.conflicts_by_code == {"1213": 1, "expected": 1}
    assert (metrics.errors, metrics.errors_by_code, metrics.connections) == (0, {}, 2)
    assert metrics.points_1s == 2 and metrics.tps_sd_1s == 7.07
    assert metrics.by_kind and metrics.by_kind["fill"].background and not metrics.by_kind["read"].background
    assert metrics.by_kind["fill"].latency_max_ms == 500.0


def test_errors_are_counted_by_code_and_the_first_is_told() -> None:
    output = LoadOutput("measure")
    (second, *_) = feed(
        output,
        tally(unknown=2).second_json(1, 8),
        {"error": "1290", "message": "read only"},
        {"error": "2013", "message": "gone"},
        {"summary": tally(unknown=2).summary_json(1.0)},
    )
    assert second.errors == 2
    assert output.first_error == "error 1290: read only"
    assert output.metrics().errors_by_code == {"unknown": 2}


def test_a_load_that_broke_off_has_no_figures() -> None:
    output = LoadOutput("measure")
    assert feed(output, "Traceback (most recent call last):", "ImportError: no pymysql", "") == [None] * 3
    metrics = output.metrics()
    assert metrics.tps is None and metrics.conflicts is None and metrics.latency_p95_ms is None
    assert output.last_strange == "ImportError: no pymysql" and output.summary is None
    feed(output, {"error": "1045", "message": "denied"}, {"summary": Tally().summary_json(0.0)})
    assert output.metrics().tps is None and output.metrics().errors_by_code == {"unknown": 1}
