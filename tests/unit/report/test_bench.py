"""The table says what is known, says that the rest is unknown, and stays within 100 columns."""

import shlex
from typing import Any

import pytest

from sandbox.record.record import (
    CheckRecord,
    Environment,
    Inputs,
    KindMetrics,
    Metrics,
    PreparationRecord,
    Record,
)
from sandbox.report.bench import bench_answer, bench_document
from sandbox.report.charts.layout import RunData
from sandbox.report.render import markdown, terminal
from sandbox.report.result import run_again
from sandbox.report.text import WIDTH
from unit.record.samples import METRICS, sample_record


def shown(**changed: Any) -> str:
    """The table of a sample record with changes, each row in one line."""
    return terminal.text(bench_document(RunData(sample_record(**changed))))


def test_a_good_run() -> None:
    assert (
        shown()
        == "oltp_read_write on mysql@9.7+replica1 through writer  ok\n\nload         8 threads, 30"
        " s after 5 s of warm-up, uniform, seed 4711\ndata         4 tables of 100,000 rows,"
        " prepared in 12.3 s\ntps          1,234.5  (standard deviation 45.2 over 30"
        " seconds)\nqps          24,690.0  (reads 17,283.0, writes 4,938.0)\nlatency ms   avg"
        " 6.47, p50 5.99, p95 10.27, p99 14.46, max 158.83  (precision 1.82 %)\nconflicts    158"
        " (1213: 150, other: 8); 0.4 % of attempts, rolled back and retried as expected\nerrors "
        "      0\nreconnects   0\nCPU ms / tx  server 1.512, client 0.4321\n  by node    mysql1"
        " 28.00 s (read 0 bytes, written 3.4 MB), replica1 12.00 s (read 0 bytes, written\n     "
        "        3.4 MB)\nanswered by  mysql1 (740,990 statements, 9.7.4-2 (Debian))\nmachine   "
        "   4 x Test CPU, busy 98.0 %, steal unknown, stalled on CPU unknown, on I/O"
        " unknown\nskipped      settings_in_effect: the profile has no setting\npassed      "
        " load_reached_server\n\nOne run has no interval: its seconds are not replicates, and a"
        " comparison needs blocks of runs.\n"
    )


def test_a_catch_up_is_shown_with_its_length_and_each_replica() -> None:
    metrics = Metrics(
        transactions=20_000, measured_s=31.4, catch_up_s=10.5, catch_up_tps=1_904.76,
        catch_up_s_by_replica={"replica1": 10.5, "replica2": 8.25},
    )  # fmt: skip
    text = shown(metrics=metrics)
    assert (
        "catch-up     1,904.76 transactions/s: 20,000 in 10.5 s  (replica1 10.5 s, replica2 8.25 s)"
        in text
    )
    assert "8 threads, 31 s until all was applied, after 5 s of warm-up" in text
    record = sample_record(
        metrics=metrics.model_copy(update={"catch_up_s_by_replica": {"replica1": 10.5}})
    )
    assert (
        bench_answer(record)
        == "The slowest replica applied 1,904.76 transactions/s: 20,000 in 10.5 s."
    )


def test_missing_is_unknown_and_never_zero() -> None:
    text = shown(
        status="failed",
        reason="the load broke off",
        metrics=Metrics(),
        environment=Environment(),
        checks=[],
    )
    for row in ("tps", "qps", "latency ms", "conflicts", "errors", "reconnects", "machine"):
        line = next(line for line in text.splitlines() if line.startswith(row))
        assert "unknown" in line and not any(character.isdigit() for character in line), line
    assert "the load broke off" in text.splitlines()[1]
    assert "One run" not in text


def test_conflicts_stand_apart_from_errors() -> None:
    metrics = METRICS.model_copy(
        update={"errors": 3, "errors_by_code": {"2013": 3}, "conflicts_by_code": None}
    )
    text = shown(metrics=metrics)
    assert "errors       3 (2013: 3)" in text
    assert "conflicts    158 (codes unknown)" in text


def test_kinds_of_transaction_have_a_row_each() -> None:
    kinds = {
        "payment": KindMetrics(transactions=90, tps=3.0, latency_p95_ms=4.5),
        "read": KindMetrics(transactions=1, tps=0.1, latency_p95_ms=1.0, background=True),
    }
    text = shown(
        metrics=METRICS.model_copy(
            update={"by_kind": kinds, "conflicts_by_code": {"expected": 158}}
        )
    )
    assert "  payment    3.0 /s, p95 4.5 ms\n" in text
    assert "  read       0.1 /s, p95 1.0 ms  (alongside the load)\n" in text
    assert "conflicts    158 (expected: 158); 0.4 % of attempts, rolled back as expected\n" in text


def test_data_that_is_no_set_of_equal_tables() -> None:
    workload = sample_record().workload
    data = PreparationRecord(
        tables=9, rows_per_table=None, details="2 warehouses", reused=True, seconds=None
    )
    changed = {"preparation": data, "distribution": None, "tables": None, "rows_per_table": None}
    text = shown(workload=workload.model_copy(update=changed))
    assert "data         9 tables, 2 warehouses, prepared by an earlier run\n" in text
    assert "30 s after 5 s of warm-up, seed 4711\n" in text


def test_percentiles_below_the_resolution_are_not_oversold() -> None:
    metrics = METRICS.model_copy(update={"latency_p50_ms": 0.002})
    assert "(precision 50 %)" in shown(metrics=metrics)


def test_one_point_has_no_spread() -> None:
    metrics = METRICS.model_copy(update={"tps_sd_1s": None, "points_1s": 1})
    assert "(spread unknown: 1 one-second points)" in shown(metrics=metrics)


@pytest.mark.parametrize("status", ["ok", "failed", "infra_error", "interrupted", "skipped"])
def test_no_line_is_wider_than_the_limit(status: str) -> None:
    checks = [CheckRecord(name="nodes_alive", verdict="fail", detail="x" * 300)]
    profile = "galera3@11.8+haproxy+" + "+".join(["setting"] * 12)
    text = shown(status=status, reason="y " * 200, checks=checks, profile=profile)
    assert max(map(len, text.splitlines())) <= WIDTH


def test_any_record_can_be_shown() -> None:
    """What an interrupted run leaves has hardly anything in it."""
    record = sample_record(
        status="interrupted", metrics=Metrics(), nodes=[], checks=[], files={}, variables={}
    )
    workload = record.workload.model_copy(
        update={"preparation": None, "load_command": None, "entry": None}
    )
    shown_record = Record(**{**dict(record), "workload": workload})
    assert "data         unknown" in terminal.text(bench_document(RunData(shown_record)))


def test_a_bench_is_done_again_on_the_same_stack_with_the_same_seed() -> None:
    built = {"image": "mysql=my/build:1", "binary": "replica1=server.tar.xz"}
    assigned = ["sort_buffer_size=1M", "init_connect='SET a'"]
    inputs = Inputs(assignments=assigned, cpus="2", **built)
    record = sample_record(environment=Environment(inputs=inputs))
    up, bench = run_again(record, ["/x/cli.py", "bench", "--threads", "8"])
    assert up.startswith("make up NAME=default PROFILE=mysql@9.7+replica1 SET=")
    typed = dict(word.split("=", 1) for word in shlex.split(up)[2:])
    assert typed["SET"] == "sort_buffer_size=1M init_connect='SET a'" and typed["CPUS"] == "2"
    assert (typed["IMAGE"], typed["BINARY"]) == ("mysql=my/build:1", "replica1=server.tar.xz")
    assert bench == "make bench THREADS=8 SEED=4711"
    assert run_again(record, ["sandbox", "bench", "--seed=7"])[1] == "make bench SEED=7"


def test_the_summary_of_a_bench_is_markdown() -> None:
    page = markdown.text(bench_document(RunData(sample_record()), command=["sandbox", "bench"]))
    assert page.startswith("# oltp_read_write on mysql@9.7+replica1 through writer\n")
    rows = [line for line in page.splitlines() if line.startswith("|")]
    assert {row.replace("\\|", "").count("|") for row in rows} == {
        3
    } and "make bench SEED=4711" in page
