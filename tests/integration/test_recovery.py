"""Every recovery case on every topology: nodes killed, containers made anew, volumes restored from
copies.
"""

import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from integration.live import LiveStack, live_stack, printed_file, run
from integration.test_topologies import TODAY, TOPOLOGIES, Topology
from integration.turns import of_today
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.long]
FEWER_NODES = (
    "mysql@9.7",
    "mysql@9.7+replica1",
    "mariadb@10.5",
    "mariadb@10.11",
    "mariadb@11.8+replica1",
)
"""Topologies of which there is one with a node more."""
SEVERAL_NODES = [each for each in TOPOLOGIES if each.profile not in FEWER_NODES]
RECOVERED = [
    each
    for each in of_today(SEVERAL_NODES, days=4)
    if each in TODAY or not (each.long or each.further)
]


class ByHand(LiveStack):
    """A stack that `docker compose` runs from the printed file, so that its containers can go and
    its volumes stay.
    """

    def __init__(self, file: Path, project: str, profile: str) -> None:
        super().__init__(project, profile)
        self.file = file

    def compose(self, *argv: str) -> None:
        """`docker compose` on this stack's file, under its project."""
        run(["docker", "compose", "-p", self.name, "-f", self.file, *argv])

    def volumes(self) -> list[str]:
        """Names of its volumes in the file, which are the same in a copy of it."""
        names = run(
            ["docker", "volume", "ls", "-q", "--filter", f"label=sandbox.stack={self.name}"]
        ).stdout.split()
        return [name.removeprefix(f"{self.name}_") for name in names]

    def copy_volumes(self, other: "ByHand", image: str) -> None:
        """Every file of every volume into the other stack's, owners kept."""
        for volume in self.volumes():
            mounts = ["-v", f"{self.name}_{volume}:/from:ro", "-v", f"{other.name}_{volume}:/to"]
            label = f"sandbox.stack={other.name}"
            copy = ["--entrypoint", "cp", image, "-a", "/from/.", "/to/"]
            run(["docker", "run", "--rm", "--label", label, *mounts, *copy])


@pytest.fixture(scope="module", params=RECOVERED, ids=lambda topology: topology.profile)
def topology(request: pytest.FixtureRequest) -> Topology:
    """One topology after the other; a single server's cases are those of the other suite."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def stack(topology: Topology, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ByHand]:
    """The topology, started from its file alone."""
    file = printed_file(tmp_path_factory.mktemp("stack"), topology.profile)
    live = ByHand(file, f"recovery-{os.getpid()}", topology.profile)
    try:
        live.compose("up", "-d")
        live.start()
        yield live
    finally:
        live.compose("down", "-v")


def survives(stack: ByHand, *killed: str) -> None:
    """Killed under load and started: every acknowledged row is everywhere."""
    ledger = stack.ledger()
    ledger.wait_for(50)
    stack.kill(*killed)
    stack.start()
    ledger.wait_for(50)
    ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


def test_any_one_node_is_killed_and_started(stack: ByHand) -> None:
    for node in stack.servers:
        survives(stack, node)


def test_any_two_nodes_are_killed_and_started(stack: ByHand, topology: Topology) -> None:
    """Of a further version or variant one pair a day, each in its turn."""
    pairs = list(itertools.combinations(stack.servers, 2))
    for pair in of_today(pairs, days=len(pairs)) if topology.further else pairs:
        survives(stack, *pair)


def test_all_are_killed_and_started_twice(stack: ByHand) -> None:
    for _ in range(2):
        survives(stack, *stack.servers)


def test_a_node_that_stays_away_does_not_stop_the_others(stack: ByHand) -> None:
    if len(stack.names("database")) < 3:
        pytest.skip("a majority takes three members")
    away, *_ = stack.writers()
    ledger = stack.ledger()
    ledger.wait_for(50)
    stack.kill(away)
    ledger.wait_for(50)
    stack.start()
    ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


def test_containers_made_anew_find_their_volumes(stack: ByHand) -> None:
    ledger = stack.ledger()
    ledger.wait_for(50)
    ledger.stop()
    stack.compose("down")
    stack.compose("up", "-d")
    stack.start()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


@pytest.mark.parametrize("hold", ["stop", "pause"])
def test_a_copy_of_the_volumes_becomes_a_stack(stack: ByHand, hold: str) -> None:
    """Copied while stopped, and while paused under load."""
    image = next(str(node["image"]) for node in stack.data() if node["name"] == "client1")
    copy = ByHand(stack.file, f"{stack.name}-{hold}", stack.profile)
    ledger = stack.ledger()
    ledger.wait_for(50)
    if hold == "stop":
        ledger.stop()
    before = list(ledger.acknowledged)
    try:
        copy.compose("create")
        if hold == "stop":
            stack.compose("stop")
        else:
            stack.pause(*stack.servers)
        stack.copy_volumes(copy, image)
        if hold == "stop":
            stack.compose("start")
        else:
            stack.unpause(*stack.servers)
        copy.start()
        copy.assert_everywhere(before)
    finally:
        copy.compose("down", "-v")
    stack.start()
    if hold != "stop":
        ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


def test_members_that_join_in_the_same_instant_are_both_taken() -> None:
    """As the forming script joins: whoever is turned away is taken only five seconds later."""
    join = "source <(sed '/^while :; do/,$d' /sandbox/forming); start 'joining beside another'"
    starting = (
        'select count(*) from performance_schema.threads where processlist_info like "start group%"'
    )
    with live_stack("gr3@9.7") as stack, ThreadPoolExecutor() as beside:
        joiners = {
            node: stack.container(node) for node in stack.servers if node not in stack.writers()
        }
        for _ in range(10):
            for node in joiners:
                stack.sql_until(node, starting, "0")
                stack.sql(node, "stop group_replication")
            list(
                beside.map(
                    lambda container: run(["docker", "exec", container, "bash", "-c", join]),
                    joiners.values(),
                )
            )
        for node, container in joiners.items():
            log = run(["sh", "-c", 'docker logs "$1" 2>&1', "log", container]).stdout
            assert log.count("Plugin 'group_replication' is starting") > 10
            assert "Error connecting to all peers" not in log
            seeds = stack.sql(node, "select @@global.group_replication_group_seeds")
            assert seeds == ",".join(f"{member}:13061" for member in stack.servers), "as configured"


def test_a_galera_node_that_holds_more_than_the_survivors_takes_their_data() -> None:
    """It died with a transaction that they never ordered; with that, the provider would abort it on
    its return.
    """
    with live_stack("galera3@10.11") as stack:
        stack.sql(
            "galera2",
            "create table sbtest.mine (id int primary key); insert into sbtest.mine values (1)",
        )
        stack.kill("galera2", "galera3")
        on_its_volumes(stack, "galera2", Path(__file__).with_name("galera_one_more.sh").read_text())
        stack.start()
        for node in stack.servers:
            stack.sql_until(node, "select group_concat(id) from sbtest.mine", "1")
        log = run(["sh", "-c", 'docker logs "$1" 2>&1', "log", stack.container("galera2")]).stdout
        assert "what only this node has is given up" in log
        assert "SST succeeded" in log


def test_members_with_a_torn_relay_log_come_back() -> None:
    """The disk of a host that lost its power ends where it was flushed last: inside a
    transaction.
    """
    torn = """printf 'what was not flushed' >>"$(ls /var/lib/mysql/*-group_replication_applier.0* | tail -n 1)\""""  # noqa: E501
    with live_stack("gr3@9.7") as stack:
        stack.kill(*stack.servers)
        for node in stack.servers[1:]:
            on_its_volumes(stack, node, torn)
        stack.start()
        (writer,) = stack.writers()
        stack.sql(
            writer,
            "create table sbtest.after (id int primary key); insert into sbtest.after values (1)",
        )
        for node in stack.servers:
            stack.sql_until(node, "select group_concat(id) from sbtest.after", "1")
        for node in stack.servers[1:]:
            log = run(["sh", "-c", 'docker logs "$1" 2>&1', "log", stack.container(node)]).stdout
            assert "dropping a relay log that cannot be read to its end" in log


def on_its_volumes(stack: LiveStack, node: str, script: str) -> None:
    """Runs a script in a container of the node's image, with the volumes of the node, which was
    killed.
    """
    image = next(f"{each['image']}" for each in stack.data() if each["name"] == node)
    shell = ["--entrypoint", "bash", image, "-c", script]
    label = f"sandbox.stack={project_name(stack.name)}"
    run(
        [
            "docker",
            "run",
            "--rm",
            "--network=none",
            "--label",
            label,
            "--volumes-from",
            stack.container(node),
            *shell,
        ]
    )
