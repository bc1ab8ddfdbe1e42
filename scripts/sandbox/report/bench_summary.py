"""PURE: the report of a single bench: one run, so figures but no verdict."""

from collections.abc import Sequence

from sandbox.report.bench_table import ONE_RUN, bench_rows, bench_title
from sandbox.report.do_again import make_command
from sandbox.report.figure import Figure
from sandbox.report.lines import thinned
from sandbox.report.run_data import RunData
from sandbox.report.server_figures import bench_server_figure
from sandbox.report.svg import Line, Panel
from sandbox.results.record import Record

_SECONDS = {
    "tps": ("transactions", "1/s"),
    "qps": ("statements", "1/s"),
    "p95_ms": ("latency p95", "ms"),
    "conflicts_per_s": ("conflicts", "1/s"),
}


def bench_answer(record: Record) -> str:
    """``1,234.5 transactions per second with 8 threads; 95 % of them within 10.27 ms.``"""
    metrics = record.metrics
    if record.status != "ok" or metrics.tps is None:
        return f"{record.status}: {record.reason or 'reason unknown'}."
    within = f"; 95 % of them within {metrics.latency_p95_ms:,} ms" if metrics.latency_p95_ms is not None else ""
    return f"{metrics.tps:,} transactions per second with {record.workload.threads} threads{within}."


def bench_question(record: Record) -> str:
    """The question that a bench answers."""
    return f"What throughput does {record.profile} reach under {record.workload.name}?"


def bench_figures(run: RunData) -> list[Figure]:
    """The run second by second: the client side, then the servers."""
    panels = []
    for column, (title, unit) in _SECONDS.items():
        line = run.seconds.get(column, ())
        if len(line) > 1 and any(line):
            panels.append(Panel(title, [Line(thinned(line), 1)], "second of the run", unit, span=(1, len(line))))
    load = Figure("seconds", "second by second", "The client side during the measured window.", panels)
    return [figure for figure in (load, bench_server_figure(run)) if figure.panels]


def bench_again(record: Record, command: Sequence[str]) -> list[str]:
    """Commands that start the stack and repeat the bench as typed, with the seed that was drawn."""
    inputs = record.environment.inputs
    given = {"CPUS": inputs.cpus, "MEMORY": inputs.memory, "CNF": inputs.cnf_name, "INIT": inputs.init_name}
    up = {"NAME": record.stack, "PROFILE": record.profile, "SET": " ".join(inputs.assignments), **given}
    started = make_command(["sandbox", "up"], {name: value for name, value in up.items() if value})
    return [started, make_command(command, {"SEED": str(record.seed)})]


def bench_markdown(record: Record, command: Sequence[str]) -> str:
    """``summary.md`` of a bench."""
    rows = [f"| {name} | {value.replace('|', chr(92) + '|')} |" for name, value in bench_rows(record)]
    blocks = [
        f"# {bench_title(record)}",
        f"**{bench_question(record)}**",
        bench_answer(record),
        "\n".join(["| figure | |", "| --- | --- |", *rows]),
        ONE_RUN,
        "### How to reproduce it",
        "\n".join(["```sh", *bench_again(record, command), "```"]),
    ]
    return "\n\n".join(blocks) + "\n"
