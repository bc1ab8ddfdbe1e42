"""PURE: what is said about a bench, one run without a verdict."""

from collections.abc import Iterator, Sequence

from rich.filesize import decimal

from sandbox.record.metrics import METRICS, PROCESSOR_TIME, in_group
from sandbox.record.record import Metrics, NodeRecord, Record
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import Document, Fact
from sandbox.report.result import check_facts, run_document
from sandbox.report.text import UNKNOWN, figure, tables_text

ONE_RUN = (
    "One run has no interval: its seconds are not replicates, and a comparison needs blocks of"
    " runs."
)

_TOGETHER = {
    "tps",
    "tps_sd_1s",
    "qps",
    "reads_per_s",
    "writes_per_s",
    *in_group("latency"),
    "catch_up_s",
    "catch_up_tps",
    "conflicts",
    "errors",
    "reconnects",
    *PROCESSOR_TIME,
}
"""Metrics that share a row, or stand with what explains them; each other one has its own row."""


def bench_document(
    run: RunData, figures: Sequence[Figure] = (), command: Sequence[str] = (), when: str = ""
) -> Document:
    """A bench. ``command``: as typed; ``when``: start and end, as text."""
    record = run.record
    said = (bench_title(record), bench_question(record), bench_answer(record))
    note = ONE_RUN if record.metrics.tps is not None else ""
    return run_document(run, said, bench_facts(record), note, figures, command, when)


def bench_title(record: Record) -> str:
    """Workload, profile and entry point."""
    entry = record.workload.entry
    return f"{record.workload.name} on {record.profile} through {entry.via if entry else UNKNOWN}"


def bench_facts(record: Record) -> Iterator[Fact]:
    """Every figure with its known spread, also by kind of transaction where there are several; then
    the checks.

    A figure of which nothing else is said needs no more than its row in the table of metrics.
    """
    metrics = record.metrics
    yield Fact("load", _load(record))
    yield Fact("data", _data(record))
    yield Fact("tps", _with_spread(metrics), metrics.tps)
    reads = _figure(metrics.reads_per_s)
    writes = _figure(metrics.writes_per_s)
    yield Fact("qps", f"{_figure(metrics.qps)}  (reads {reads}, writes {writes})", metrics.qps)
    yield Fact("latency ms", _latency(metrics), metrics.latency_p95_ms)
    yield from _kinds(metrics)
    if metrics.catch_up_s is not None:
        yield Fact("catch-up", _catch_up(metrics), metrics.catch_up_tps)
    yield Fact("conflicts", _conflicts(metrics), metrics.conflicts)
    yield Fact("errors", _counts(metrics.errors, metrics.errors_by_code), metrics.errors)
    yield Fact("reconnects", _figure(metrics.reconnects), metrics.reconnects)
    yield from _others(metrics)
    yield from _processor_time(record)
    yield Fact("answered by", _answered(record))
    yield Fact("machine", _machine(record))
    yield from check_facts(record)


def _kinds(metrics: Metrics) -> Iterator[Fact]:
    """Each kind of transaction, where there are several."""
    kinds = metrics.by_kind or {}
    if len(kinds) < 2:
        return
    for name, kind in kinds.items():
        beside = "  (alongside the load)" if kind.background else ""
        yield Fact(
            f"  {name}",
            f"{_figure(kind.tps)} /s, p95 {_figure(kind.latency_p95_ms)} ms{beside}",
            kind.tps,
        )


def _others(metrics: Metrics) -> Iterator[Fact]:
    """Each other figure that the load has, as the table of metrics names it."""
    for name, metric in METRICS.items():
        value = getattr(metrics, name)
        if value is not None and name not in _TOGETHER and "trial" not in metric.produced_by:
            unit = "" if metric.unit == "1/run" else f" {metric.unit}"
            yield Fact(metric.title, f"{value:,}{unit}", value)


def _load(record: Record) -> str:
    load = record.workload
    keys = f", {load.distribution}" if load.distribution else ""
    rate = f", target rate {load.rate_per_s} transactions/s" if load.rate_per_s else ""
    lasted = f"{load.seconds} s"
    if record.metrics.catch_up_s is not None:
        lasted = f"{record.metrics.measured_s or 0:.0f} s until all was applied,"
    seconds = f"{lasted} after {load.warmup_s} s of warm-up"
    return f"{load.threads} threads, {seconds}{keys}{rate}, seed {record.seed}"


def _data(record: Record) -> str:
    data = record.workload.preparation
    if data is None:
        return "none" if record.status == "ok" else UNKNOWN
    origin = "prepared by an earlier run" if data.reused else f"prepared in {data.seconds} s"
    return ", ".join(filter(None, (tables_text(data), data.details, origin)))


def _with_spread(metrics: Metrics) -> str:
    if metrics.tps is None:
        return UNKNOWN
    if metrics.tps_sd_1s is None:
        return (
            f"{_figure(metrics.tps)}  (spread unknown: {metrics.points_1s or 0} one-second points)"
        )
    return (
        f"{_figure(metrics.tps)}  (standard deviation {_figure(metrics.tps_sd_1s)} over"
        f" {metrics.points_1s} seconds)"
    )


def _catch_up(metrics: Metrics) -> str:
    """``1,840 transactions/s: 20,000 in 10.9 s``, and the time of each replica where there are
    several.
    """
    each = metrics.catch_up_s_by_replica or {}
    several = (
        f"  ({', '.join(f'{name} {_figure(took)} s' for name, took in each.items())})"
        if len(each) > 1
        else ""
    )
    done = f"{_figure(metrics.transactions)} in {_figure(metrics.catch_up_s)} s"
    return f"{_figure(metrics.catch_up_tps)} transactions/s: {done}{several}"


def _latency(metrics: Metrics) -> str:
    if metrics.latency_avg_ms is None:
        return UNKNOWN
    known = []
    for name in in_group("latency"):
        title = METRICS[name].title.removeprefix("latency ")
        known.append(f"{title} {_figure(getattr(metrics, name))}")
    return ", ".join(known) + _known_to(metrics)


def _known_to(metrics: Metrics) -> str:
    """Precision of the percentiles: the width of a bucket, or the resolution where that is
    coarser.
    """
    precision, resolution = metrics.latency_precision_percent, metrics.latency_resolution_ms
    median = metrics.latency_p50_ms
    if precision is None or not resolution or not median:
        return ""
    return f"  (precision {figure(max(precision, 100 * resolution / median), digits=3)} %)"


def _conflicts(metrics: Metrics) -> str:
    counts = _counts(metrics.conflicts, metrics.conflicts_by_code)
    if not metrics.conflicts:
        return counts
    share = 100 * metrics.conflicts / (metrics.conflicts + (metrics.transactions or 0))
    retried = "" if "expected" in (metrics.conflicts_by_code or {}) else " and retried"
    return f"{counts}; {share:.1f} % of attempts, rolled back{retried} as expected"


def _counts(total: int | None, by_code: dict[str, int] | None) -> str:
    if total is None:
        return UNKNOWN
    if not total:
        return "0"
    if by_code is None:
        return f"{total:,} (codes unknown)"
    return f"{total:,} ({', '.join(f'{code}: {count:,}' for code, count in by_code.items())})"


def _processor_time(record: Record) -> Iterator[Fact]:
    """Per transaction by kind of node, then per node with its block I/O."""
    metrics = record.metrics
    used = [node for node in record.nodes if node.cpu_s is not None]
    times = {name.partition("_")[0]: getattr(metrics, name) for name in PROCESSOR_TIME}
    times_text = [f"{kind} {figure(value)}" for kind, value in times.items() if value is not None]
    yield Fact("CPU ms / tx", ", ".join(times_text) or UNKNOWN, metrics.server_cpu_ms_per_tx)
    if used:
        each = (f"{node.name} {node.cpu_s:.2f} s{_block_io(node)}" for node in used)
        yield Fact("  by node", ", ".join(each))


def _block_io(node: NodeRecord) -> str:
    if node.read_bytes is None or node.written_bytes is None:
        return ""
    return f" (read {decimal(node.read_bytes)}, written {decimal(node.written_bytes)})"


def _answered(record: Record) -> str:
    entry = record.workload.entry
    answered = entry.answered if entry else None
    if not answered:
        return UNKNOWN
    versions = {node.name: node.server_version for node in record.nodes}
    return ", ".join(
        f"{name} ({count:,} statements, {versions[name]})" for name, count in answered.items()
    )


def _machine(record: Record) -> str:
    machine, during = record.environment, record.environment.during
    if machine.cpu_model is None:
        return UNKNOWN
    shares = {
        "busy": during.cpu_busy_percent,
        "steal": during.steal_percent,
        "stalled on CPU": during.pressure_cpu_some_percent,
        "on I/O": during.pressure_io_some_percent,
    }
    known = (
        f"{name} {UNKNOWN if value is None else f'{value} %'}" for name, value in shares.items()
    )
    return ", ".join([f"{machine.cpus or UNKNOWN} x {machine.cpu_model}", *known])


def _figure(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:,}"


def bench_answer(record: Record) -> str:
    """``1,234.5 transactions per second with 8 threads; 95 % of them within 10.27 ms.``"""
    metrics = record.metrics
    if record.status == "ok" and metrics.catch_up_s is not None:
        return f"The slowest replica applied {_catch_up(metrics)}."
    if record.status != "ok" or metrics.tps is None:
        return f"{record.status}: {record.reason or 'reason unknown'}."
    within = (
        f"; 95 % of them within {metrics.latency_p95_ms:,} ms"
        if metrics.latency_p95_ms is not None
        else ""
    )
    return (
        f"{metrics.tps:,} transactions per second with {record.workload.threads} threads{within}."
    )


def bench_question(record: Record) -> str:
    """The question that a bench answers."""
    return f"What throughput does {record.profile} reach under {record.workload.name}?"
