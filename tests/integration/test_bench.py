"""One measurement on real servers: the record is complete, and a run that is none says so."""

import json
from pathlib import Path

import pytest

from integration.live import LiveStack, sandbox

pytestmark = pytest.mark.docker
PROFILE = "galera3+haproxy"
"""A cluster behind a proxy, as in the README."""
QUICK = (
    "--seconds",
    "2",
    "--warmup",
    "1",
    "--tables",
    "2",
    "--rows",
    "2000",
    "--threads",
    "4",
    "--json",
)


def bench(stack: LiveStack, *options: str) -> dict:  # type: ignore[type-arg]
    """The record of one quick run."""
    return json.loads(sandbox("bench", "--name", stack.name, *QUICK, *options).stdout)  # type: ignore[no-any-return]


def test_a_run_leaves_a_complete_record(stack: LiveStack) -> None:
    record = bench(stack, "--workload", "oltp_read_write")
    assert record["status"] == "ok", record["reason"]
    assert (
        record["metrics"]["tps"] > 0
        and record["metrics"]["latency_p99_ms"] >= record["metrics"]["latency_p50_ms"]
    )
    assert not record["metrics"]["errors_by_code"]
    assert {node["name"] for node in record["nodes"]} >= {
        "galera1",
        "galera2",
        "galera3",
        "haproxy1",
        "client1",
    }
    assert all(
        node["server_version"] for node in record["nodes"] if node["name"].startswith("galera")
    )
    assert (
        set(record["status_delta"]) == set(record["variables"]) == {"galera1", "galera2", "galera3"}
    )
    for name in record["files"].values():
        paths = name if isinstance(name, list) else [name]
        assert all((Path("results/latest/runs/bench.1") / path).exists() for path in paths), name


def test_the_data_is_prepared_once_and_reused(stack: LiveStack) -> None:
    bench(stack, "--workload", "oltp_read_only")
    created = stack.sql(
        "galera1", "select create_time from information_schema.tables where table_name='sbtest1'"
    )
    bench(stack, "--workload", "oltp_read_only")
    assert (
        stack.sql(
            "galera1",
            "select create_time from information_schema.tables where table_name='sbtest1'",
        )
        == created
    )


def test_the_ids_have_no_gaps_on_a_server_that_counts_in_steps(stack: LiveStack) -> None:
    """Else most statements of the load would find no row, and a cluster would do less work than a
    single server.
    """
    bench(stack, "--workload", "oltp_read_only")
    assert int(stack.sql("galera1", "select @@auto_increment_increment")) == 3
    assert stack.sql(
        "galera1", "select min(id), max(id), count(*) from sbtest.sbtest1"
    ).split() == [
        "1",
        "2000",
        "2000",
    ]


FURTHER_WORKLOADS = (
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)


@pytest.mark.parametrize(
    "workload",
    [
        "oltp_point_select",
        "oltp_write_only",
        *(pytest.param(each, marks=pytest.mark.long) for each in FURTHER_WORKLOADS),
    ],
)
def test_every_sysbench_workload_runs(stack: LiveStack, workload: str) -> None:
    record = bench(stack, "--workload", workload, "--seconds", "1", "--warmup", "0")
    assert record["status"] == "ok", record["reason"]
    assert record["metrics"]["qps"] > 0


def test_via_chooses_the_server_that_answers(stack: LiveStack) -> None:
    record = bench(stack, "--workload", "oltp_point_select", "--via", "galera2", "--seconds", "2")
    assert set(record["workload"]["entry"]["answered"]) == {"galera2"}


def test_an_unknown_workload_is_refused_with_a_hint(stack: LiveStack) -> None:
    done = sandbox("bench", "--name", stack.name, "--workload", "oltp_read_wirte", check=False)
    assert done.returncode == 2 and "oltp_read_write" in done.stderr
    assert len(done.stderr.strip().splitlines()) == 3


def test_no_secret_in_anything_that_was_saved(stack: LiveStack) -> None:
    import subprocess

    root = subprocess.run(
        ["docker", "exec", stack.container("galera1"), "cat", "/sandbox/root-password"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    saved = [path for path in Path("results/latest").resolve().rglob("*") if path.is_file()]
    assert saved
    assert not [path for path in saved if root in path.read_text(errors="replace")]
