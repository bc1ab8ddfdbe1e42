"""PURE: a bench's record, one run without a verdict: as a table for a terminal, in sentences, as Markdown."""

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console, Group, RenderableType
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from sandbox.record.metrics import PROCESSOR_TIME
from sandbox.record.record import Metrics, NodeRecord, Record
from sandbox.report.rendering import rendered
from sandbox.report.text import UNKNOWN, WIDTH, figure, make_command, tables_text

_STYLES = {"ok": "green", "failed": "red", "infra_error": "red", "interrupted": "yellow", "skipped": "yellow"}

ONE_RUN = "One run has no interval: its seconds are not replicates, and a comparison needs blocks of runs."


def bench_table(record: Record, folder: str) -> RenderableType:
    """What `make bench` prints at the end; ``folder``: the record's folder, as the user would type it."""
    note = ONE_RUN if record.metrics.tps is not None else None
    return record_table(record, bench_title(record), bench_rows(record), note, folder)


def record_table(
    record: Record, title: str, rows: Iterable[tuple[str, str]], note: str | None, folder: str
) -> RenderableType:
    """One run for a terminal: its title and status, a row for each figure, a note, its folder."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    head = Text.assemble(title, "  ", (record.status, _STYLES[record.status]))
    reason = [Text(record.reason, style=_STYLES[record.status])] if record.reason else []
    return Group(head, *reason, table, *([Text(note, style="dim")] if note else []), Text(folder, overflow="fold"))


def bench_text(record: Record, folder: str) -> str:
    """The same without colour, at most 100 columns wide."""
    return rendered_text(bench_table(record, folder))


def rendered_text(table: RenderableType) -> str:
    """A table without colour, at most 100 columns wide."""
    console = Console(width=WIDTH, color_system=None, force_terminal=False)
    with console.capture() as capture:
        console.print(table)
    return "".join(line.rstrip() + "\n" for line in capture.get().splitlines())


def bench_title(record: Record) -> str:
    """Workload, profile and entry point."""
    entry = record.workload.entry
    return f"{record.workload.name} on {record.profile} through {entry.via if entry else UNKNOWN}"


def bench_rows(record: Record) -> Iterator[tuple[str, str]]:
    """Every figure with its known spread, also by kind of transaction where there are several; then the checks."""
    metrics = record.metrics
    yield "load", _load(record)
    yield "data", _data(record)
    yield "tps", _with_spread(metrics)
    reads, writes = _figure(metrics.reads_per_s), _figure(metrics.writes_per_s)
    yield "qps", f"{_figure(metrics.qps)}  (reads {reads}, writes {writes})"
    yield "latency ms", _latency(metrics)
    kinds = metrics.by_kind or {}
    for name, kind in kinds.items() if len(kinds) > 1 else ():
        beside = "  (alongside the load)" if kind.background else ""
        yield f"  {name}", f"{_figure(kind.tps)} /s, p95 {_figure(kind.latency_p95_ms)} ms{beside}"
    if metrics.catch_up_s is not None:
        yield "catch-up", _catch_up(metrics)
    yield "conflicts", _conflicts(metrics)
    yield "errors", _counts(metrics.errors, metrics.errors_by_code)
    yield "reconnects", _figure(metrics.reconnects)
    yield from _processor_time(record)
    yield "answered by", _answered(record)
    yield "machine", _machine(record)
    for check in record.checks:
        if check.verdict != "pass":
            yield check.verdict, f"{check.name}: {check.detail}"
    passed = [check.name for check in record.checks if check.verdict == "pass"]
    yield "passed", ", ".join(passed) or "none"


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
        return f"{_figure(metrics.tps)}  (spread unknown: {metrics.points_1s or 0} one-second points)"
    return f"{_figure(metrics.tps)}  (standard deviation {_figure(metrics.tps_sd_1s)} over {metrics.points_1s} seconds)"


def _catch_up(metrics: Metrics) -> str:
    """``1,840 transactions/s: 20,000 in 10.9 s``, and the time of each replica where there are several."""
    each = metrics.catch_up_s_by_replica or {}
    several = f"  ({', '.join(f'{name} {_figure(took)} s' for name, took in each.items())})" if len(each) > 1 else ""
    done = f"{_figure(metrics.transactions)} in {_figure(metrics.catch_up_s)} s"
    return f"{_figure(metrics.catch_up_tps)} transactions/s: {done}{several}"


def _latency(metrics: Metrics) -> str:
    if metrics.latency_avg_ms is None:
        return UNKNOWN
    names = ("avg", "p50", "p95", "p99", "max")
    return ", ".join(f"{name} {_figure(getattr(metrics, f'latency_{name}_ms'))}" for name in names) + _known_to(metrics)


def _known_to(metrics: Metrics) -> str:
    """Precision of the percentiles: the width of a bucket, or the resolution where that is coarser."""
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


def _processor_time(record: Record) -> Iterator[tuple[str, str]]:
    """Per transaction by kind of node, then per node with its block I/O."""
    metrics, used = record.metrics, [node for node in record.nodes if node.cpu_s is not None]
    times = {name.partition("_")[0]: getattr(metrics, name) for name in PROCESSOR_TIME}
    times_text = [f"{kind} {figure(value)}" for kind, value in times.items() if value is not None]
    yield "CPU ms / tx", ", ".join(times_text) or UNKNOWN
    if used:
        yield "  by node", ", ".join(f"{node.name} {node.cpu_s:.2f} s{_block_io(node)}" for node in used)


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
    return ", ".join(f"{name} ({count:,} statements, {versions[name]})" for name, count in answered.items())


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
    known = (f"{name} {UNKNOWN if value is None else f'{value} %'}" for name, value in shares.items())
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
    within = f"; 95 % of them within {metrics.latency_p95_ms:,} ms" if metrics.latency_p95_ms is not None else ""
    return f"{metrics.tps:,} transactions per second with {record.workload.threads} threads{within}."


def bench_question(record: Record) -> str:
    """The question that a bench answers."""
    return f"What throughput does {record.profile} reach under {record.workload.name}?"


def bench_again(record: Record, command: Sequence[str]) -> list[str]:
    """Commands that start the stack and repeat the bench as typed, with the seed that was drawn."""
    inputs = record.environment.inputs
    given = {"CPUS": inputs.cpus, "MEMORY": inputs.memory, "DISK": inputs.disk}
    given |= {"CNF": inputs.cnf_name, "INIT": inputs.init_name}
    up = {"NAME": record.stack, "PROFILE": record.profile, "SET": " ".join(inputs.assignments), **given}
    started = make_command(["sandbox", "up"], {name: value for name, value in up.items() if value})
    return [started, make_command(command, {"SEED": str(record.seed)})]


def bench_markdown(record: Record, command: Sequence[str]) -> str:
    """``summary.md`` of a bench."""
    return rendered(
        "bench.md",
        title=bench_title(record),
        question=bench_question(record),
        answer=bench_answer(record),
        rows=list(bench_rows(record)),
        one_run=ONE_RUN,
        again=bench_again(record, command),
    )
