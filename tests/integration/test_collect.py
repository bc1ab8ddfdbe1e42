"""The evidence of real servers: who blocks whom, stacks of threads, no password; and of servers
that hang.
"""

import json
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from integration.live import LiveStack, live_stack, run, sandbox
from sandbox.collect.archive import read_archive

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
SERVER_PID = "/sandbox/server.pid"


@pytest.fixture(scope="module")
def stack() -> Iterator[LiveStack]:
    """A cluster behind a proxy."""
    with live_stack("galera3+haproxy") as found:
        found.sql("galera1", "create table sbtest.t (id int primary key, v int)")
        found.sql("galera1", "insert into sbtest.t values (1, 0)")
        yield found


def collected(
    stack: LiveStack, folder: Path, *words: str
) -> tuple[dict[str, str], dict[str, str], float]:
    """Files of the archive, what could not be had, seconds; no password is in it."""
    out = folder / "evidence.tar.zst"
    data: dict[str, Any] = json.loads(
        sandbox("collect", "--name", stack.name, "--out", str(out), "--json", *words).stdout
    )
    found = {path.removeprefix("evidence/"): content for path, content in read_archive(out)}
    client = stack.container("client1")
    passwords = run(["docker", "exec", client, "cat", "/sandbox/passwords"]).stdout.split()
    assert len(passwords) == 6
    for path, content in found.items():
        assert not [each for each in passwords if each.encode() in content], path
    assert "by node" not in data and found["README.txt"]
    texts = {path: content.decode("utf-8", "replace") for path, content in found.items()}
    return texts, data["missing"], data["seconds"]


@contextmanager
def session(stack: LiveStack, node: str, statements: str) -> Iterator[None]:
    """A connection of root that runs statements meanwhile."""
    argv = ["mariadb", "--defaults-file=/sandbox/root.cnf", "-h", node, "sbtest", "-e", statements]
    process = subprocess.Popen(["docker", "exec", stack.container("client1"), *argv])
    try:
        yield
    finally:
        process.wait(120)


def rows(text: str) -> list[dict[str, str]]:
    """The rows of a table."""
    names, *lines = text.splitlines()
    return [dict(zip(names.split("\t"), line.split("\t"), strict=True)) for line in lines]


def test_the_evidence_of_a_cluster_says_who_blocks_whom(stack: LiveStack, tmp_path: Path) -> None:
    holds = "begin; update t set v = 1 where id = 1; select sleep(40); rollback"
    waits = "set innodb_lock_wait_timeout = 100; update t set v = 2 where id = 1"
    waiting = "select count(*) from information_schema.innodb_lock_waits"
    with session(stack, "galera1", holds), session(stack, "galera1", waits):
        stack.sql_until("galera1", waiting, "1")
        files, missing, seconds = collected(stack, tmp_path)
    assert seconds < 40, "20 s where nothing runs beside it"
    (row,) = rows(files["galera1/row-lock-waits.tsv"])
    assert row["waiting_statement"] == "update t set v = 2 where id = 1"
    assert row["blocking"] != row["waiting"] and row["lock_table"] == "`sbtest`.`t`"
    for node in ("galera1", "galera2", "galera3"):
        assert "INNODB MONITOR OUTPUT" in files[f"{node}/innodb-status.txt"]
        assert "wsrep_cluster_status\tPrimary" in files[f"{node}/wsrep-status.tsv"]
        assert len(rows(files[f"{node}/variables.tsv"])) > 500
        stacks = files[f"{node}/stacks.txt"]
        assert stacks.count("TID ") > 10 and "poll" in stacks and "mysqld_main" in stacks
        assert "WSREP" in files[f"{node}/log.txt"]
        assert not [path for path in missing if path == node]
    assert "svname" in files["haproxy1/stats.csv"]
    assert "listen rw" in files["haproxy1/configuration.txt"]
    assert "services:" in files["compose.yaml"] and "galera3" in files["plan.txt"]
    assert json.loads(files["stack.json"])["roles"]["galera1"] == "writer"
    assert not [node for node in stack.containers() if node.endswith("-within")]


def test_servers_that_hang_still_give_what_they_can(stack: LiveStack, tmp_path: Path) -> None:
    def process_state() -> str:
        read = f"cut -d' ' -f3 /proc/$(cat {SERVER_PID})/stat"
        return run(["docker", "exec", stack.container("galera3"), "sh", "-c", read]).stdout.strip()

    def signal_server(name: str) -> None:
        send = f"kill -{name} $(cat {SERVER_PID})"
        run(["docker", "exec", stack.container("galera3"), "sh", "-c", send])

    stack.pause("galera2")
    signal_server("STOP")
    try:
        began = time.monotonic()
        files, missing, _ = collected(stack, tmp_path)
        assert time.monotonic() - began < 45
        assert process_state() == "T", "who looks at a stopped server must not let it go on"
    finally:
        signal_server("CONT")
        stack.unpause("galera2")
    # Frozen by the engine: what the kernel and the engine say.
    assert "frozen" in missing["galera2/stacks.txt"] and "frozen" in missing["galera2/status.tsv"]
    assert "WSREP" in files["galera2/log.txt"] and "mariadbd" in files["galera2/threads.txt"]
    # Stopped: its threads can be looked at, it answers nobody.
    assert "mysqld_main" in files["galera3/stacks.txt"]
    assert missing["galera3/processlist.tsv"]
    # The one that is left answers, although it takes no writes.
    assert "wsrep_cluster_status\tnon-Primary" in files["galera1/wsrep-status.tsv"]
    assert "sbtest" in files["galera1/processlist.tsv"] or files["galera1/processlist.tsv"]
    sandbox("heal", "--name", stack.name)
    assert stack.writers()


@pytest.mark.long
def test_a_group_its_router_and_a_core(tmp_path: Path) -> None:
    with live_stack("gr3@9.7+router") as stack:
        files, missing, _ = collected(stack, tmp_path, "--nodes", "gr1,router1", "--core")
        assert files["gr1/group-members.txt"].count("MEMBER_STATE: ONLINE") == 3
        assert "mysqld_main" in files["gr1/stacks.txt"]
        assert "[routing:" in files["router1/configuration.txt"]
        (core,) = (path for path in files if path.startswith("gr1/core.mysqld."))
        assert files[core].startswith("\x7fELF")
        assert not [path for path in missing if path.startswith("gr1/core")]
        stack.wait_until(lambda: len(stack.writers()) == 1)
