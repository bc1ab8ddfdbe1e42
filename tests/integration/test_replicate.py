"""Replication between groups on real servers: `REPLICATE=`, and Compose with the file alone."""

import json
import subprocess
import time
import uuid
from pathlib import Path

import pytest

from integration.live import LiveStack, live_stack, run, sandbox
from integration.turns import of_today

pytestmark = pytest.mark.docker
TAKEN_OVER = [
    ("mariadb@11.8+galera3@11.8", "mariadb1>galera1", "galera"),
    ("mysql@9.7+gr3@9.7", "mysql1>gr1", "gr"),
    (
        "mariadb@11.8+mariadb@11.8+galera3@11.8",
        "mariadb1>galera1 mariadb2>galera1:channel=b",
        "galera",
    ),
]
"""Profile, links, and the cluster of which a member runs one."""
ROW = "create table sbtest.r (id int primary key, at timestamp(6) default current_timestamp(6))"


def links_of(stack: LiveStack, node: str) -> list[str]:
    """What `ps` says that a server replicates from, of another group."""
    (found,) = [each for each in stack.data() if each["name"] == node]
    return list(found["replicates"])


def test_a_ring_of_two_has_each_others_rows_also_after_a_stop() -> None:
    links = "mariadb1>mariadb2 mariadb2>mariadb1"
    with live_stack("mariadb@11.8+mariadb@11.8", "--replicate", links) as stack:
        stack.sql("mariadb1", f"{ROW}; insert into sbtest.r (id) values (1)")
        stack.sql_until("mariadb2", "select count(*) from sbtest.r", "1")
        stack.sql("mariadb2", "insert into sbtest.r (id) values (2)")
        stack.sql_until("mariadb1", "select count(*) from sbtest.r", "2")
        assert links_of(stack, "mariadb1") == ["replicates from mariadb2"]
        sandbox("stop", "--name", stack.name)
        sandbox("start", "--name", stack.name)
        stack.sql("mariadb1", "insert into sbtest.r (id) values (3)")
        stack.sql_until("mariadb2", "select count(*) from sbtest.r", "3")


@pytest.mark.long
def test_two_sources_into_one_by_channels_of_which_one_is_delayed() -> None:
    links = "mysql1>mysql3 mysql2>mysql3:channel=late,delay=4s"
    with live_stack("mysql@9.7+mysql@9.7+mysql@9.7", "--replicate", links) as stack:
        stack.sql("mysql1", "create table sbtest.a (id int primary key)")
        stack.sql("mysql2", f"{ROW}; insert into sbtest.r (id) values (1)")
        stack.sql_until("mysql3", "select count(*) from sbtest.a", "0")
        stack.sql_until("mysql3", "select count(*) from sbtest.r", "1")
        seen = "select timestampdiff(microsecond, max(at), now(6)) / 1e6 from sbtest.r"
        delay_s = float(stack.sql("mysql3", seen))
        assert delay_s >= 4, "the delayed channel applies no earlier than its delay"
        late, first = links_of(stack, "mysql3")
        assert "delayed by 4 s" in late and "channel mysql1" in first


@pytest.mark.long
def test_a_chain_behind_galera_follows_another_member_and_keeps_its_delay() -> None:
    links = "galera1>mariadb1 mariadb1>mariadb2:delay=3s"
    profile = "galera3@11.8+mariadb@11.8+mariadb@11.8"
    with live_stack(profile, "--replicate", links) as stack:
        stack.sql("galera2", f"{ROW}; insert into sbtest.r (id) values (1)")
        stack.sql_until("mariadb2", "select count(*) from sbtest.r", "1")
        sandbox("fault", "--name", stack.name, "--fault", "host-loss", "--target", "galera1")
        stack.sql_until("galera2", "select 1", "1")
        stack.sql("galera2", "insert into sbtest.r (id) values (2)")
        stack.sql_until("mariadb1", "select count(*) from sbtest.r", "2")
        assert links_of(stack, "mariadb1") == ["replicates from galera2"]


@pytest.mark.long
def test_a_server_behind_a_group_follows_its_new_primary() -> None:
    with live_stack("gr3@9.7+mysql@9.7", "--replicate", "gr1>mysql1") as stack:
        (writer,) = [node for node in stack.writers() if node.startswith("gr")]
        stack.sql(writer, f"{ROW}; insert into sbtest.r (id) values (1)")
        stack.sql_until("mysql1", "select count(*) from sbtest.r", "1")
        record = stack.trial("--fault", "host-loss", "--target", "writer", "--via", writer)
        assert record["nodes"]
        (now,) = [node for node in stack.writers() if node.startswith("gr")]
        stack.sql(now, "insert into sbtest.r (id) values (2)")
        stack.sql_until("mysql1", "select count(*) from sbtest.r", "2")


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "links", "members"),
    of_today(TAKEN_OVER, days=3),
)
def test_another_member_of_a_cluster_takes_the_link_over(
    profile: str, links: str, members: str
) -> None:
    with live_stack(profile, "--replicate", links) as stack:
        source = links.partition(">")[0]
        stack.sql(source, f"{ROW}; insert into sbtest.r (id) values (1)")
        stack.sql_until(f"{members}2", "select count(*) from sbtest.r", "1")
        sandbox("fault", "--name", stack.name, "--fault", "host-loss", "--target", f"{members}1")
        stack.sql(source, "insert into sbtest.r (id) values (2)")
        stack.sql_until(f"{members}2", "select count(*) from sbtest.r", "2")
        sandbox("heal", "--name", stack.name)
        stack.sql_until(f"{members}1", "select count(*) from sbtest.r", "2")


@pytest.mark.long
def test_mysql_feeds_mariadb_and_compose_forms_it_with_the_file_alone(tmp_path: Path) -> None:
    name = f"t-{uuid.uuid4().hex[:6]}"
    links = ("--replicate", "mysql1>mariadb1")
    text = sandbox("config", "mysql@9.7+mariadb@11.8", "--name", name, *links).stdout
    file = tmp_path / "compose.yaml"
    file.write_text(text)
    compose = ["docker", "compose", "--file", str(file)]
    try:
        run([*compose, "up", "--detach", "--wait"])
        stack = LiveStack(name, "mysql@9.7+mariadb@11.8")
        stack.sql("mysql1", f"{ROW}; insert into sbtest.r (id) values (1)")
        begin = time.monotonic()
        stack.sql_until("mariadb1", "select count(*) from sbtest.r", "1")
        assert time.monotonic() - begin < 60
    finally:
        subprocess.run([*compose, "down", "--volumes"], check=False, capture_output=True)


def test_a_link_that_cannot_work_starts_nothing() -> None:
    name = f"t-{uuid.uuid4().hex[:6]}"
    links = ("--replicate", "mariadb1>mysql1")
    done = sandbox("up", "mysql@9.7+mariadb@11.8", "--name", name, *links, check=False)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 3
    stacks = json.loads(sandbox("ps", "--json").stdout)["stacks"]
    assert name not in [each["name"] for each in stacks]
