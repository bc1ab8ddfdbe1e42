"""A stack kept as a snapshot and restored: quick, with passwords of its own, as often as wanted
side by side.
"""

import json
import os
import random
import signal
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from integration.live import LiveStack, leftovers, run, sandbox
from integration.quiet import nobody_measures
from integration.turns import of_today
from sandbox.stack.locks import lock_folder, locked
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.keeps_snapshots]
PROFILES = ["mysql@9.7+replica1", "mariadb@11.8+replica1", "galera3@11.8", "gr3@9.7"]


def password_of(stack: LiveStack) -> str:
    """The application's password, as the client has it."""
    return run(["docker", "exec", stack.container("client1"), "cat", "/sandbox/app.cnf"]).stdout


def snapshots() -> list[dict[str, object]]:
    """What is on the store."""
    return list(json.loads(sandbox("snapshots", "--json").stdout)["snapshots"])


def up(profile: str, *options: str) -> tuple[LiveStack, str]:
    """A stack of a new name, and what `up` printed."""
    stack = LiveStack(f"t-{uuid.uuid4().hex[:6]}", profile)
    with ExitStack() as undone:
        undone.callback(sandbox, "down", "--name", stack.name)
        message = sandbox("up", "--name", stack.name, "--profile", profile, *options).stderr
        undone.pop_all()  # it is up, and whoever asked for it removes it
    return stack, message


def parameters(*long: str) -> list[ParameterSet]:
    """The profiles of every run, and of the others, which begin like this, the one whose turn it is
    in the long run.
    """
    rare = [each for each in PROFILES if each.startswith(long)]
    today = of_today(rare, days=len(rare))
    return [
        pytest.param(each, marks=pytest.mark.long if each in rare else ())
        for each in PROFILES
        if each in today or each not in rare
    ]


# A replica in every run, a cluster and a group in the long one.
WITHOUT_GROUP = pytest.mark.parametrize(
    "restored", parameters("mariadb", "galera", "gr3"), indirect=True
)


@pytest.fixture(scope="module", params=parameters("mariadb", "galera", "gr3"))
def restored(request: pytest.FixtureRequest) -> Iterator[tuple[str, str, list[LiveStack]]]:
    """The profile, the password of the stack that the snapshot is of, and two stacks restored from
    it.
    """
    profile = f"{request.param}"
    # A setting of its own: no other test's snapshot is taken for this one.
    mark = ("--set", f"max_connections={300 + PROFILES.index(profile)}")
    before = {each["key"] for each in snapshots()}
    stacks: list[LiveStack] = []
    try:
        with nobody_measures():
            first, message = up(profile, *mark, "--cold")
            stacks.append(first)
            with locked(project_name(first.name), lambda: None, 60):
                pass  # its snapshot is taken, and the base data directories are made
        assert "from a snapshot" not in message
        kept = [
            each for each in snapshots() if each["key"] not in before or each["profile"] == profile
        ]
        assert kept, "no snapshot was kept"
        password = password_of(first)
        sandbox("down", "--name", first.name)
        for _ in range(2):
            stack, message = up(profile, *mark)
            stacks.append(stack)
            assert "from a snapshot of" in message
        yield profile, password, stacks[1:]
    finally:
        for stack in stacks:
            sandbox("down", "--name", stack.name)
            assert not leftovers(f"sandbox.stack={project_name(stack.name)}")


@pytest.mark.long
@pytest.mark.skipif(
    not Path("/dev/loop-control").exists(), reason="this machine has no loop devices"
)
def test_a_snapshot_is_restored_into_disks_of_their_own() -> None:
    options = ("--disk", "xfs:2g")
    stacks: list[LiveStack] = []
    try:
        with nobody_measures():
            stacks.append(up("mysql@9.7", *options, "--cold")[0])
            with locked(project_name(stacks[0].name), lambda: None, 60):
                pass
        sandbox("down", "--name", stacks[0].name)
        stack, message = up("mysql@9.7", *options)
        stacks.append(stack)
        assert "from a snapshot of" in message
        assert stack.from_client("mysql1", "select 1").stdout.strip() == "1"
        kind = ["docker", "exec", stack.container("mysql1"), "stat", "-fc", "%T", "/var/lib/mysql"]
        assert run(kind).stdout.strip() == "xfs"
    finally:
        for each in stacks:
            sandbox("down", "--name", each.name)


def test_each_has_passwords_of_its_own(restored: tuple[str, str, list[LiveStack]]) -> None:
    _, password, stacks = restored
    assert len({password, *map(password_of, stacks)}) == 3
    for stack in stacks:
        for server in stack.servers:
            assert stack.from_client(server, "select 1").stdout.strip() == "1"


def test_no_receiver_begins_with_the_passwords_of_the_snapshot(
    restored: tuple[str, str, list[LiveStack]],
) -> None:
    _, _, stacks = restored
    for stack in stacks:
        for replica in [each for each in stack.servers if each.startswith("replica")]:
            logs = run(["docker", "logs", stack.container(replica)])
            assert "Access denied" not in logs.stdout + logs.stderr


def write(stack: LiveStack, number: int) -> None:
    """A table of one row, made anew."""
    stack.sql(stack.writers()[0], "drop table if exists sbtest.mine")
    stack.sql(
        stack.writers()[0], f"create table sbtest.mine (id int primary key) select {number} as id"
    )


def test_each_takes_a_write_everywhere_by_itself(
    restored: tuple[str, str, list[LiveStack]],
) -> None:
    _, _, stacks = restored
    for number, stack in enumerate(stacks):
        write(stack, number)
    for number, stack in enumerate(stacks):
        for server in stack.servers:
            stack.sql_until(server, "select id from sbtest.mine", str(number))


@WITHOUT_GROUP
def test_a_restored_server_comes_back_after_a_kill(
    restored: tuple[str, str, list[LiveStack]],
) -> None:
    _, _, stacks = restored
    stack = stacks[0]
    write(stack, 7)
    stack.sql_until(stack.servers[-1], "select id from sbtest.mine", "7")
    stack.kill(stack.servers[-1])
    stack.start()
    assert stack.from_client(stack.servers[-1], "select id from sbtest.mine").stdout.strip() == "7"


@pytest.mark.long
def test_a_restored_stack_takes_a_node_without_data(
    restored: tuple[str, str, list[LiveStack]],
) -> None:
    """Its servers renew their passwords as they start, which an empty data directory would not
    survive.
    """
    _, _, stacks = restored
    stacks[1].trial_without_loss("--fault", "join-empty", "--rate", "20")


def test_servers_have_identities_of_their_own(restored: tuple[str, str, list[LiveStack]]) -> None:
    profile, _, stacks = restored
    if profile.startswith(("mysql", "gr")):
        found = [
            stack.sql(server, "select @@server_uuid")
            for stack in stacks
            for server in stack.servers
        ]
        assert len(set(found)) == len(found)


@WITHOUT_GROUP
def test_a_new_plan_begins_from_the_directories_of_its_images(
    restored: tuple[str, str, list[LiveStack]],
) -> None:
    profile, password, stacks = restored
    # Never set before on this machine: an earlier run's snapshot of the same plan would be restored
    # instead.
    stack, message = up(profile, "--set", f"net_write_timeout={random.randrange(100, 1_000_000)}")
    try:
        assert "from the initialised data directory of sandbox/" in message
        with locked(project_name(stack.name), lambda: None, 60):
            pass  # its own snapshot is taken
        assert password_of(stack) not in {password, *map(password_of, stacks)}
        if not profile.startswith(("mariadb", "galera")):
            identities = [stack.sql(server, "select @@server_uuid") for server in stack.servers]
            assert len(set(identities)) == len(identities)
        write(stack, 5)
        for server in stack.servers:
            stack.sql_until(server, "select id from sbtest.mine", "5")
        assert_no_state_transfer(stack)
        stack.kill(stack.servers[-1])
        stack.start()
        assert (
            stack.from_client(stack.servers[-1], "select id from sbtest.mine").stdout.strip() == "5"
        )
    finally:
        sandbox("down", "--name", stack.name)


def assert_no_state_transfer(stack: LiveStack) -> None:
    """No member of a Galera cluster took its data from another."""
    for server in stack.servers:
        log = run(["sh", "-c", 'docker logs "$1" 2>&1', "log", stack.container(server)]).stdout
        assert "State transfer required" not in log


def test_down_does_not_wait_for_a_snapshot() -> None:
    stack, _ = up("mysql@9.7", "--cold", "--set", "max_connections=299")
    begin = time.monotonic()
    sandbox("down", "--name", stack.name)
    assert time.monotonic() - begin < 20
    assert not leftovers(f"sandbox.stack={project_name(stack.name)}")
    assert "max_connections" not in str(snapshots())


@pytest.mark.parametrize(
    ("statement", "kept"),
    [("select version()", True), ("create table sbtest.mine (id int primary key)", False)],
)
def test_a_statement_waits_for_no_snapshot_and_what_it_writes_is_in_none(
    statement: str, kept: bool
) -> None:
    with nobody_measures():
        stack, _ = up(
            "mariadb@11.8", "--set", f"net_write_timeout={random.randrange(100, 1_000_000)}"
        )
        try:
            project = project_name(stack.name)
            keeper = int((lock_folder() / f"{project}.lock").read_text().split()[1])
            os.kill(keeper, signal.SIGSTOP)
            sandbox("sql", "--name", stack.name, "--execute", statement)
            os.kill(keeper, signal.SIGCONT)
            with locked(project, lambda: None, 60):
                pass  # the snapshot is taken, or dropped
            (shown,) = json.loads(sandbox("ps", "--name", stack.name, "--json").stdout)["stacks"]
            assert (shown["plan"] in {each["key"] for each in snapshots()}) is kept
        finally:
            sandbox("down", "--name", stack.name)
