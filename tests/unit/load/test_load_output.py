"""What the engine prints becomes seconds and figures; what is missing stays missing."""

import json
from typing import Any

from sandbox.load.common.load_output import EngineOutput
from unit.load.histograms import printed


def second(number: int, **changed: Any) -> dict[str, Any]:
    """A second with nothing in it, but for the changes."""
    counts = dict.fromkeys(
        ("transactions", "connections", "reads", "writes", "others", "errors"), 0
    )
    return {"second": number, "threads": 8, "p95_us": None, "conflicts": {}, **counts, **changed}


def busy(number: int, **changed: Any) -> dict[str, Any]:
    """Ten reads, two conflicts."""
    counts = {"transactions": 10, "reads": 10, "writes": 3, "others": 4, "p95_us": 10_047}
    return second(number, **{**counts, "conflicts": {"1213": 1, "expected": 1}, **changed})


def summary(seconds: float, **changed: Any) -> dict[str, Any]:
    """Ten reads of 1 to 10 ms, one fill, two conflicts."""
    kinds = {"read": printed(*range(1000, 11_000, 1000)), "fill": printed(500_000)}
    counts = {"connections": 2, "reads": 10, "writes": 3, "others": 4}
    found = {
        "conflicts": {"1213": 1, "expected": 1},
        "errors": {},
        "background": ["fill"],
        "kinds": kinds,
    }
    return {"summary": {"seconds": seconds, **counts, **found, **changed}}


def feed(output: EngineOutput, *lines: Any) -> list[Any]:
    """Seconds of some lines."""
    return [output.feed(line if isinstance(line, str) else json.dumps(line)) for line in lines]


def test_a_second_is_reported() -> None:
    (found,) = feed(EngineOutput("measure"), busy(3))
    assert (found.phase, found.second, found.threads) == ("measure", 3, 8)
    assert (found.tps, found.qps, found.reads_per_s, found.writes_per_s) == (10, 17, 10, 3)
    assert found.p95_ms == 10.047 and found.conflicts_per_s == 2 and found.errors == 0


def test_a_second_without_an_end_has_no_percentile() -> None:
    (found,) = feed(EngineOutput("measure"), second(1))
    assert found.tps == 0 and found.p95_ms is None


def test_figures_leave_out_what_accompanies_the_load() -> None:
    output = EngineOutput("measure")
    feed(output, busy(1), second(2), summary(2.0))
    metrics = output.metrics()
    assert (metrics.tps, metrics.qps, metrics.transactions, metrics.queries) == (5.0, 8.5, 10, 17)
    assert metrics.latency_avg_ms == 5.5 and metrics.latency_max_ms == 10.0
    assert metrics.latency_p50_ms is not None and 5.0 <= metrics.latency_p50_ms <= 5.04
    assert metrics.conflicts == 2 and metrics.conflicts_by_code == {"1213": 1, "expected": 1}
    assert (metrics.errors, metrics.errors_by_code, metrics.connections) == (0, {}, 2)
    assert metrics.points_1s == 2 and metrics.tps_sd_1s == 7.07
    assert (
        metrics.by_kind
        and metrics.by_kind["fill"].background
        and not metrics.by_kind["read"].background
    )
    assert metrics.by_kind["fill"].latency_max_ms == 500.0


def test_errors_are_counted_by_code_and_the_first_is_named() -> None:
    output = EngineOutput("measure")
    (found, *_) = feed(
        output,
        busy(1, errors=2),
        {"error": "1290", "message": "read only"},
        {"error": "2013", "message": "gone"},
        summary(1.0, errors={"1290": 1, "2013": 1}),
    )
    assert found.errors == 2
    assert output.first_error == "error 1290: read only"
    assert output.metrics().errors_by_code == {"1290": 1, "2013": 1}


def test_a_load_that_broke_off_has_no_figures() -> None:
    output = EngineOutput("measure")
    assert feed(output, "Initializing worker threads...", "FATAL: no such module", "") == [None] * 3
    metrics = output.metrics()
    assert metrics.tps is None and metrics.conflicts is None and metrics.latency_p95_ms is None
    assert output.last_foreign == "FATAL: no such module" and output.summary is None
    feed(output, {"error": "1045", "message": "denied"}, summary(0.0, kinds={}))
    assert output.metrics().tps is None and output.metrics().errors_by_code == {"unknown": 1}
