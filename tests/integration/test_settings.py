"""Every setting that runs here, proved by its own query on the live servers."""

from pathlib import Path
from typing import Any

import pytest

from integration.live import live_stack

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]

PROFILES = [
    "mysql@9.7+threadpool+rewriter+doublewrite-off+file-per-table-off+perf-schema-off+relaxed",
    "mariadb@11.8+threadpool+doublewrite-off+file-per-table-off+perf-schema-off+durable",
]
FURTHER_PROFILES = [
    "mysql@9.7+binlog-off+durable+doublewrite-detect-only+doublewrite-files",
    "mariadb@10.5+threadpool+doublewrite-off+file-per-table-off+relaxed",
    "mariadb@11.8+binlog-off+adjustable-clock",
    "galera3@11.8+server-timeouts+threadpool+flow-control-off",
    "gr3@9.7+server-timeouts+rewriter+flow-control-off+adjustable-clock",
]


@pytest.mark.parametrize(
    "profile",
    [*PROFILES, *(pytest.param(each, marks=pytest.mark.long) for each in FURTHER_PROFILES)],
)
def test_settings_are_in_effect(profile: str) -> None:
    with live_stack(profile) as stack:
        proofs = [proof for node in stack.data() for proof in node["proofs"]]
        assert {proof["setting"] for proof in proofs} == set(profile.split("+")[1:])
        assert [proof for proof in proofs if not proof["in_effect"]] == []


def test_one_node_is_as_it_was_asked_for(tmp_path: Path) -> None:
    file = tmp_path / "own.cnf"
    file.write_text("[mysqld]\nsync_binlog = 3\n")
    with live_stack(
        "mariadb@11.8+replica1+replica1:threadpool",
        "--set",
        "max_connections=77 replica:max_connections=78 replica1:optimizer_switch=mrr=on",
        "--cpus",
        "1 replica1:0.5",
        "--cnf",
        f"replica1:{file}",
    ) as stack:
        question = "select concat_ws(' ', @@max_connections, @@thread_handling, @@sync_binlog)"
        assert stack.sql("mariadb1", question) == "77 one-thread-per-connection 0"
        assert stack.sql("replica1", question) == "78 pool-of-threads 3"
        switches = stack.sql("replica1", "select @@optimizer_switch").split(",")
        assert {"mrr=on", "index_merge=on"} <= set(switches)
        nodes: list[dict[str, Any]] = stack.data()
        proofs = {proof["setting"]: node["name"] for node in nodes for proof in node["proofs"]}
        assert proofs == {"threadpool": "replica1", "replica-CNF": "replica1"}
