"""Every workload of ours, and the user's own, for some seconds on a real server: figures, verdicts,
nothing left.
"""

import hashlib
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.stats

from integration.live import CHECKOUT, LiveStack, live_stack, sandbox
from sandbox.load.common.workload import DISTRIBUTIONS

pytestmark = pytest.mark.docker
PROFILE = "mysql@9.7"
SHORT = ("--seconds", "2", "--warmup", "0", "--threads", "4", "--json")
SMALL_TPCC = "warehouses=2 customers=60 items=500"

LUA = """
sysbench.cmdline.options = {mine = {"what to select", 0}}
function thread_init() connection = sysbench.sql.driver():connect() end
function prepare()
   connection = sysbench.sql.driver():connect()
   connection:query("CREATE TABLE mine (id INT PRIMARY KEY)")
   connection:query("INSERT INTO mine VALUES (7)")
end
function cleanup() sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS mine") end
function event() connection:query("SELECT id FROM mine WHERE id = " .. sysbench.opt.mine) end
"""

DRAWS = """
function thread_init() connection = sysbench.sql.driver():connect() end
function event()
   io.write(string.format("drawn %d\\n", sysbench.rand.default(1, 1000)))
   connection:query("DO 1")
end
"""

SQL = """
-- weight 9
-- name look
SELECT c FROM sbtest1 WHERE id = ${random 1 500};
-- weight 1
-- name change
BEGIN;
UPDATE sbtest1 SET k = k + 1 WHERE id = ${random 1 500};
UPDATE sbtest2 SET c = '${string 20}; 100%' WHERE id = ${random 1 500};
COMMIT;
"""


def bench(stack: LiveStack, workload: str, *options: str) -> dict[str, Any]:
    """The record of a short run, which is ok and has met no error."""
    record: dict[str, Any] = json.loads(
        sandbox("bench", "--name", stack.name, "--workload", workload, *SHORT, *options).stdout
    )
    assert record["status"] == "ok", record["reason"]
    assert record["metrics"]["tps"] > 0 and record["metrics"]["errors"] == 0
    assert {check["name"]: check["verdict"] for check in record["checks"]}[
        "load_alone"
    ] == "pass", record["checks"]
    return record


def share(record: dict[str, Any], kind: str) -> float:
    """Part of all transactions."""
    return float(
        record["metrics"]["by_kind"][kind]["transactions"] / record["metrics"]["transactions"]
    )


def test_tpcc_keeps_its_mix_and_its_conditions(stack: LiveStack) -> None:
    record = bench(stack, "tpcc", "--options", SMALL_TPCC, "--seconds", "3", "--warmup", "1")
    verdicts = {check["name"]: check["verdict"] for check in record["checks"]}
    assert [verdicts[f"tpcc_consistency_{number}"] for number in (1, 2, 3, 4)] == ["pass"] * 4
    assert share(record, "payment") == pytest.approx(0.435, abs=0.05)
    assert (
        record["workload"]["options"]["warehouses"] == 2
        and record["workload"]["rows_per_table"] is None
    )
    again = bench(
        stack, "tpcc", "--options", f"{SMALL_TPCC} growth_percent=10000", "--seconds", "1"
    )
    assert again["workload"]["preparation"]["reused"]
    stack.sql("mysql1", "UPDATE sbtest.tpcc_warehouse SET w_ytd = w_ytd + 1 WHERE w_id = 1")
    broken = ("--options", f"{SMALL_TPCC} growth_percent=10000", "--seconds", "1")
    done = sandbox(
        "bench", "--name", stack.name, "--workload", "tpcc", *SHORT, *broken, check=False
    )
    assert done.returncode == 1 and "tpcc_consistency_1" in json.loads(done.stdout)["reason"]


@pytest.mark.long
def test_tpcc_delivers_orders_as_soon_as_they_are_there(stack: LiveStack) -> None:
    """Newer than the snapshot of the delivery, since few orders are new when it begins."""
    few = "warehouses=1 customers=30 items=100 growth_percent=10000"
    assert bench(stack, "tpcc", "--options", few, "--seconds", "5")["metrics"]["errors"] == 0


def test_ingest_fills_tables_that_were_empty(stack: LiveStack) -> None:
    record = bench(stack, "ingest", "--tables", "2", "--options", "batch_rows=50")
    rows = sum(
        int(stack.sql("mysql1", f"SELECT COUNT(*) FROM sbtest.ingest_{number}"))
        for number in (1, 2)
    )
    assert rows == 50 * record["metrics"]["transactions"]
    indexes = (
        "SELECT COUNT(DISTINCT index_name) FROM information_schema.statistics WHERE table_name ="
        " 'ingest_1'"
    )
    assert stack.sql("mysql1", indexes) == "4"


@pytest.mark.long
def test_rows_inserted_in_bulk(stack: LiveStack) -> None:
    assert bench(stack, "bulk_insert", "--seconds", "1")["workload"]["preparation"]["tables"] == 4


def test_writers_have_what_was_acknowledged_to_them(stack: LiveStack) -> None:
    record = bench(stack, "writers", "--options", "ledger=on")
    rows = [
        int(stack.sql("mysql1", f"SELECT COUNT(*) FROM sbtest.writers_{number}"))
        for number in (1, 2, 3, 4)
    ]
    assert sum(rows) == record["metrics"]["transactions"] and min(rows) > 0
    kept = {each["name"]: each["verdict"] for each in record["checks"] if "writers" in each["name"]}
    assert kept == dict.fromkeys(("writers_lost", "writers_phantom", "writers_duplicate"), "pass")


def test_ddl_leaves_no_table_behind(stack: LiveStack) -> None:
    record = bench(stack, "ddl", "--options", "tables_per_thread=3")
    kinds = record["metrics"]["by_kind"]
    assert {"create", "alter", "drop"} <= set(kinds) and kinds["read"]["background"]
    left = "SELECT COUNT(*) FROM information_schema.tables WHERE table_name LIKE 'ddl\\_t%'"
    assert stack.sql("mysql1", left) == "0"


@pytest.mark.long
def test_a_storm_of_connections(stack: LiveStack) -> None:
    record = bench(stack, "connection-storm")
    assert record["metrics"]["connections"] == record["metrics"]["transactions"] + 4
    assert record["status_delta"]["mysql1"]["Connections"] >= record["metrics"]["connections"]
    assert record["status_delta"]["mysql1"]["Aborted_clients"] == 0


def test_serializable_transactions_meet_no_anomaly_and_others_lose_updates(
    stack: LiveStack,
) -> None:
    for workload in ("list-append", "bank"):
        options = "append=read-modify-write " if workload == "list-append" else ""
        record = bench(stack, workload, "--options", options + "isolation=SERIALIZABLE")
        assert {
            check["verdict"] for check in record["checks"] if check["name"].startswith("no_")
        } == {"pass"}
        assert record["metrics"]["lost_updates"] == record["metrics"]["stale_reads"] == 0
        record = bench(stack, workload, "--options", options + "isolation=READ-COMMITTED")
        assert record["metrics"]["lost_updates"] > 0 and record["metrics"]["stale_reads"] == 0


@pytest.mark.long
def test_a_healthy_cluster_reads_old_versions_and_in_the_end_all_nodes_agree() -> None:
    with live_stack("galera3@11.8") as cluster:
        record = bench(
            cluster, "list-append", "--options", "placement=all append=read-modify-write"
        )
    verdicts = {check["name"]: check["verdict"] for check in record["checks"]}
    assert record["metrics"]["stale_reads"] > 0 and verdicts["no_stale_reads"] == "pass"
    assert (
        verdicts["no_divergence"]
        == verdicts["no_aborted_reads"]
        == verdicts["no_non_monotonic_reads"]
        == "pass"
    )


def test_a_script_of_the_users_own(stack: LiveStack, tmp_path: Path) -> None:
    path = tmp_path / "mine.lua"
    path.write_text(LUA)
    record = bench(stack, str(path), "--options", "mine=7")
    assert record["workload"]["name"] == "mine.lua" and record["workload"]["options"]["mine"] == "7"
    assert record["workload"]["file_sha256"] == hashlib.sha256(LUA.encode()).hexdigest()
    assert not record["workload"]["preparation"]["reused"]
    assert bench(stack, str(path), "--seconds", "1")["workload"]["preparation"]["reused"]


def drawn(stack: LiveStack, path: Path, distribution: str) -> list[int]:
    """Keys of 1 to 1,000, at most 12,000, as the log of three seconds of load holds them."""
    path.write_text(DRAWS)
    record = bench(stack, str(path), "--dist", distribution, "--rate", "4000", "--seconds", "3")
    result, _, run = record["run_id"].partition("/")
    log = CHECKOUT / "results" / result / "runs" / run / "load.log"
    return [
        int(line.split()[1]) for line in log.read_text().splitlines() if line.startswith("drawn ")
    ]


@pytest.mark.long
@pytest.mark.parametrize("distribution", [name for name in DISTRIBUTIONS if name != "zipfian"])
def test_every_distribution_of_sysbench_can_be_drawn(
    stack: LiveStack, tmp_path: Path, distribution: str
) -> None:
    keys = drawn(stack, tmp_path / "draws.lua", distribution)
    assert len(keys) > 1000 and min(keys) >= 1 and max(keys) <= 1000
    even = scipy.stats.chisquare(np.histogram(keys, np.arange(1, 1002, 100))[0]).pvalue > 1e-4
    assert bool(even) is (distribution == "uniform")


@pytest.mark.long
def test_keys_by_zipfs_law(stack: LiveStack, tmp_path: Path) -> None:
    keys = drawn(stack, tmp_path / "draws.lua", "zipfian")
    weights = np.arange(1, 1001) ** -0.8
    edges = [1, 2, 3, 5, 10, 20, 50, 100, 200, 500, 1001]
    expected = [
        weights[low - 1 : high - 1].sum() / weights.sum() * len(keys)
        for low, high in pairwise(edges)
    ]
    assert scipy.stats.chisquare(np.histogram(keys, edges)[0], expected).pvalue > 1e-4
    record = bench(stack, "oltp_read_write", "--dist", "zipfian", "--rows", "1000")
    assert record["workload"]["distribution"] == "zipfian"


def test_statements_of_the_users_own(stack: LiveStack, tmp_path: Path) -> None:
    path = tmp_path / "mine.sql"
    path.write_text(SQL)
    record = bench(stack, str(path), "--options", "data=oltp", "--tables", "2", "--rows", "500")
    assert share(record, "look") == pytest.approx(0.9, abs=0.03)
    assert record["workload"]["file_sha256"] == hashlib.sha256(SQL.encode()).hexdigest()
    path.write_text("SELECT nothing FROM nowhere;")
    done = sandbox("bench", "--name", stack.name, "--workload", str(path), *SHORT, check=False)
    assert (
        done.returncode == 1 and json.loads(done.stdout)["metrics"]["errors_by_code"]["1146"] >= 1
    )


@pytest.mark.long
def test_a_procedure_of_the_users_own_may_return_rows(stack: LiveStack, tmp_path: Path) -> None:
    stack.sql(
        "mysql1",
        "CREATE PROCEDURE sbtest.listed() SELECT table_name FROM information_schema.tables LIMIT 5",
    )
    path = tmp_path / "mine.sql"
    path.write_text("CALL listed();")
    assert bench(stack, str(path))["metrics"]["by_kind"]["1_call"]["transactions"] > 0


@pytest.mark.long
@pytest.mark.parametrize("profile", ["mysql@9.7+replica1", "mariadb@11.8+replica1"])
def test_a_replica_catches_up_and_its_applier_runs_again(profile: str) -> None:
    with live_stack(profile) as replicated:
        command = ("bench", "--name", replicated.name, "--workload", "replica-catch-up", *SHORT)
        size = ("--tables", "1", "--rows", "2000", "--options", "transactions=2000 read_threads=2")
        record = json.loads(sandbox(*command, *size).stdout)
        metrics, checks = (
            record["metrics"],
            {check["name"]: check["verdict"] for check in record["checks"]},
        )
        assert record["status"] == "ok", record["reason"]
        assert metrics["transactions"] == 2000 and metrics["errors"] == 0
        assert metrics["catch_up_s_by_replica"] == {"replica1": metrics["catch_up_s"]}
        assert metrics["catch_up_tps"] == pytest.approx(2000 / metrics["catch_up_s"], rel=0.01)
        assert {checks["load_reached_server"], checks["load_alone"]} == {"pass"}, record["checks"]
        rows = "select sum(k) from sbtest.sbtest1"
        assert replicated.sql("replica1", rows) == replicated.sql(
            f"{record['nodes'][0]['name']}", rows
        )
