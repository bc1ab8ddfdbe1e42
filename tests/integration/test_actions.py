"""What operators do, on real servers: nodes join again, versions change, a lost majority is given
up.
"""

import time

import pytest

from integration.live import BREAKS_REPLICAS, LiveStack, live_stack, run, sandbox
from integration.turns import of_today

pytestmark = [pytest.mark.docker, pytest.mark.own_stack, pytest.mark.long]


def versions(stack: LiveStack) -> set[str]:
    """Of all servers, to two numbers."""
    return {".".join(stack.sql(node, "select @@version").split(".")[:2]) for node in stack.servers}


JOINS: list[tuple[str, tuple[str, ...]]] = [
    ("galera3", ()),
    ("galera3@10.11", ("--set", "wsrep_sst_method=rsync")),
    ("gr3@9.7", ()),
    ("gr3@9.7+clone", ()),
    ("mariadb@11.8+replica1", ()),
]
UPGRADES = ["galera3@10.5", "mariadb@10.5+replica1"]
"""Each of these takes minutes: they come in turns."""


@pytest.mark.parametrize(("profile", "options"), of_today(JOINS, days=5))
def test_a_node_joins_without_data_and_with_its_data(
    profile: str, options: tuple[str, ...]
) -> None:
    with live_stack(profile, *options) as stack:
        for fault in ("join-empty", "join-kept"):
            # Beside another stack on two cores a member hardly catches up with the usual 100 writes
            # a second.
            record = stack.trial_without_loss("--fault", fault, "--rate", "20")
            assert record["metrics"]["join_ms"] > 0
            (step,) = record["trial"]["steps"]
            if fault == "join-empty" and "clone" in profile:
                query = "select state from performance_schema.clone_status"
                assert stack.sql(step["nodes"][0], query) == "Completed"


@pytest.mark.parametrize("profile", of_today(UPGRADES, days=4))
def test_a_rolling_upgrade_step_by_step(profile: str) -> None:
    with live_stack(profile) as stack:
        before = stack.containers()
        for version in ("10.11", "11.8"):
            stack.trial_without_loss("--fault", "rolling-upgrade", "--options", f"to={version}")
            assert versions(stack) == {version}
        assert {
            node for node, (_, each) in stack.containers().items() if each == before[node][1]
        } == {"client1"}
        sandbox("restart", "--name", stack.name, "--node", stack.servers[0])
        refused = sandbox("up", "--name", stack.name, "--profile", profile, check=False)
        assert (
            refused.returncode == 2 and "some of its servers were upgraded since" in refused.stderr
        )


@pytest.mark.parametrize("profile", of_today(["galera3", "gr3@9.7"], days=2))
def test_a_lost_majority_is_given_up_and_joins_again(profile: str) -> None:
    with live_stack(profile) as stack:
        record = stack.trial_without_loss("--fault", "lost-majority", "--rate", "20")
        loss, forced = record["trial"]["steps"]
        assert len(loss["nodes"]) == 2 and not forced["refused"]
        assert (
            forced["began_ms"] < loss["began_ms"] + record["metrics"]["rto_ms"] < loss["healed_ms"]
        )
        assert record["trial"]["ledger"]["lost"]["count"] == 0
        if profile.startswith("gr"):
            both_secondaries_out(stack)


def both_secondaries_out(stack: LiveStack) -> None:
    """MySQL Bug#102586 leaves a group of one."""
    (primary,) = stack.writers()
    stack.sql(primary, BREAKS_REPLICAS)
    refused = sandbox("heal", "-n", stack.name, check=False)
    assert refused.returncode == 4
    what, others, _ = refused.stderr.splitlines()[-3:]
    assert "error 1032" in what + others and "do not come back by themselves" in others
    repaired = sandbox("heal", "-n", stack.name, "--repair").stdout
    assert repaired.count(f"its data is a clone of {primary}'s") == 2
    assert {node["server_state"] for node in stack.data() if node["kind"] == "database"} == {
        "ONLINE"
    }


def test_galera_restarts_inside_a_partition_and_beside_a_paused_node() -> None:
    """Its forming folder is cut by no partition, and a paused node keeps its lock in it: neither is
    an own cluster.
    """
    with live_stack("galera3") as stack:
        for fault in ("partition", "hang"):
            sandbox("fault", "-n", stack.name, "--fault", fault, "--target", "galera3")
            try:
                restarted_beside(stack)
                if fault == "partition":
                    restarted_inside(stack, "galera3")
            finally:
                sandbox("heal", "-n", stack.name)
            stack.start()
            assert {
                stack.sql(node, "select count(*) from sbtest.marks") for node in stack.servers
            } == {"1"}
            stack.sql("galera1", "drop table sbtest.marks")


_SIZE = (
    "select variable_value from information_schema.global_status where variable_name ="
    ' "wsrep_cluster_size"'
)


def restarted_beside(stack: LiveStack) -> None:
    """A member of the majority joins it again; only the majority takes writes."""
    stack.sql_until("galera1", _SIZE, "2")
    run(["docker", "restart", "-t", "30", stack.container("galera2")])
    stack.sql_until("galera2", _SIZE, "2", seconds=120)
    stack.sql("galera1", "create table sbtest.marks (id int primary key)")
    stack.sql("galera1", "insert into sbtest.marks values (1)")
    assert stack.role("galera1") == stack.role("galera2") == "writer"


def restarted_inside(stack: LiveStack, node: str) -> None:
    """The one that is cut off sees in the folder that the others live: it waits for them, and takes
    no writes.

    Its server alone is restarted: with its container, the rules that cut it off would be gone.
    """
    container = stack.container(node)
    run(["docker", "kill", "-s", "USR1", container])
    gone = "pid=$(cat /sandbox/server.pid); while kill -0 $pid 2>/dev/null; do sleep 0.1; done"
    run(["docker", "exec", "--user", "0", container, "sh", "-c", gone])
    run(["docker", "kill", "-s", "USR2", container])
    end = time.monotonic() + 20
    while time.monotonic() < end:
        asked = run(["docker", "exec", container, "sh", "/sandbox/probe", "role"], check=False)
        assert asked.stdout.strip() != "writer", "it is a cluster of its own"
        time.sleep(1)
