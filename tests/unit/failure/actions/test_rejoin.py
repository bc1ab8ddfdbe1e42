"""A server that follows nobody becomes a replica of the writer, where nothing is lost by it."""

import pytest

from sandbox.failure.actions.rejoin import Rejoin
from unit.failure.actions.scripted import (
    Clock,
    ScriptedGroup,
    following,
    group,
    operation,
    refused,
    servers,
)

A, B = "3e11fa47-71ca-11e1-9e33-c80aa9429562", "4e11fa47-71ca-11e1-9e33-c80aa9429562"


def promoted(
    family: str = "mysql", version: str = "8.4.3", held: str = f"{A}:1-9"
) -> ScriptedGroup:
    """The first replica is the writer, the second one follows it; the old writer is back."""
    stack = following(group(family, version), "replica1")
    stack.role_of = {stack.members[0].name: None, "replica1": "writer", "replica2": "reader"}
    old, variable = (
        stack.members[0].name,
        "gtid_current_pos" if family == "mariadb" else "gtid_executed",
    )
    stack.says["replica1", f"SELECT @@{variable}"] = {
        "held": f"{A}:1-10" if family == "mysql" else "0-2-60"
    }
    stack.says[old, f"SELECT @@{variable}"] = {"held": held}
    return stack


def test_the_old_writer_becomes_a_replica() -> None:
    stack = promoted()
    shown = iter([{}, {"Replica_IO_Running": "Connecting"}])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, {"Replica_IO_Running": "Yes"})
    assert Rejoin().perform(operation(stack)) == "rejoined: mysql1"
    readonly, follow = stack.given
    assert readonly[0] == "mysql1" and readonly[1].endswith(
        "SET GLOBAL super_read_only=ON; SET GLOBAL read_only=ON"
    )
    assert follow[0] == "mysql1" and "SOURCE_HOST='replica1'" in follow[1]


@pytest.mark.parametrize(
    "failed",
    [
        {
            "Slave_IO_Running": "No",
            "Slave_SQL_Running": "Yes",
            "Last_IO_Error": "Got fatal error 1236",
        },
        {
            "Slave_IO_Running": "Yes",
            "Slave_SQL_Running": "No",
            "Last_SQL_Error": "Got fatal error 1236",
        },
    ],
)
def test_one_that_finds_another_history_at_the_source_forgets_it(failed: dict[str, str]) -> None:
    stack = promoted("mariadb", "11.8.2-MariaDB", "0-1-50")
    shown = iter([dict[str, str](), {}])
    stack.says["mariadb1", "SHOW ALL SLAVES STATUS"] = lambda: next(shown, failed)
    assert (
        refused(Rejoin(), operation(stack)).what == "mariadb1 cannot follow: Got fatal error 1236"
    )
    assert stack.given[-1] == ("mariadb1", "STOP SLAVE; RESET SLAVE ALL")


def test_one_that_cannot_reach_the_writer_yet_keeps_trying(clock: Clock) -> None:
    stack = promoted()
    trying = {"Replica_IO_Running": "Connecting", "Last_IO_Error": "error connecting to source"}
    shown = iter([dict[str, str]()])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, trying)
    assert (
        refused(Rejoin(), operation(stack)).what
        == "mysql1 does not follow yet: error connecting to source"
    )
    assert "RESET" not in stack.given[-1][1] and clock.now > 110


def test_one_that_gets_no_answer_of_the_writer_has_not_rejoined(clock: Clock) -> None:
    """The writer's host drops its packets: until the time-out the receiver connects, without an
    error.
    """
    stack = promoted()
    shown = iter([dict[str, str]()])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(
        shown, {"Replica_IO_Running": "Connecting"}
    )
    assert (
        refused(Rejoin(), operation(stack)).what == "mysql1 does not follow yet" and clock.now > 110
    )


def test_one_that_is_refused_keeps_no_other_from_the_writer() -> None:
    """And a replica of the refused one leaves it, if what it holds allows it."""
    stack = promoted(held=f"{A}:1-12")
    stack.says["replica2", "SELECT @@gtid_executed"] = {"held": f"{A}:1-8"}
    behind = iter([{"Source_Host": "mysql1", "Replica_IO_Running": "Yes"}] * 2)
    stack.says["replica2", "SHOW REPLICA STATUS"] = lambda: next(
        behind, {"Replica_IO_Running": "Yes"}
    )
    error = refused(Rejoin(), operation(stack))
    assert error.what == f"mysql1 holds what replica1 lacks: {A}:11-12"
    assert stack.given[-1][0] == "replica2" and "SOURCE_HOST='replica1'" in stack.given[-1][1]


def test_a_replica_that_failed_is_not_in_its_place() -> None:
    stack = promoted()
    failed = {
        "Source_Host": "replica1",
        "Replica_IO_Running": "No",
        "Last_IO_Error": "Got fatal error 1236",
    }
    shown = iter([failed])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, {"Replica_IO_Running": "Yes"})
    assert Rejoin().perform(operation(stack)) == "rejoined: mysql1"


@pytest.mark.parametrize(
    ("receiver", "said"),
    [("Connecting", "rejoined: mysql1"), ("Yes", "every server is in its place")],
)
def test_a_replica_whose_source_is_lost_follows_the_writer(receiver: str, said: str) -> None:
    """It was away while the others were given a new source; one that receives is a replica of a
    replica.
    """
    stack = promoted()
    shown = iter([{"Source_Host": "lost1", "Replica_IO_Running": receiver}])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, {"Replica_IO_Running": "Yes"})
    assert Rejoin().perform(operation(stack)) == said


def test_it_is_refused_where_transactions_would_be_lost() -> None:
    stack = promoted(held=f"{A}:1-12")
    error = refused(Rejoin(), operation(stack))
    assert error.lines()[:2] == [
        f"mysql1 holds what replica1 lacks: {A}:11-12",
        "it must be rebuilt",
    ]
    ((node, text),) = stack.given
    assert node == "mysql1" and text.endswith("SET GLOBAL read_only=ON"), "and nothing else"


def test_a_write_just_before_it_is_read_only_is_seen() -> None:
    stack = promoted()

    def write() -> dict[str, str]:
        stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-9,{B}:1"}
        return {}

    stack.says["mysql1", "SET SESSION lock_wait_timeout"] = write
    assert refused(Rejoin(), operation(stack)).what == f"mysql1 holds what replica1 lacks: {B}:1"


def test_it_waits_for_a_server_that_is_still_starting(clock: Clock) -> None:
    stack = promoted()
    stack.dead["mysql1"] = "exited (137)"

    def later() -> None:
        if clock.now >= 110:
            stack.dead.clear()

    clock.then = later
    shown = iter([dict[str, str]()])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, {"Replica_IO_Running": "Yes"})
    assert Rejoin().perform(operation(stack)) == "rejoined: mysql1"


def test_one_that_stays_away_is_left_out(clock: Clock) -> None:
    stack = promoted()
    stack.dead["mysql1"] = "exited (137)"
    assert Rejoin(wait_s=5).perform(operation(stack)) == "every server is in its place"
    assert clock.now == pytest.approx(105, abs=0.3)


def test_without_a_writer_there_is_nothing_to_join() -> None:
    stack = promoted()
    stack.role_of["replica1"] = "reader"
    assert refused(Rejoin(), operation(stack)).what == "there is no writer to rejoin"


def test_a_cluster_rejoins_by_itself() -> None:
    stack = ScriptedGroup(servers(topology="gr"), {})
    assert Rejoin().perform(operation(stack)) == "a member of a cluster rejoins by itself"
