"""A server that follows nobody becomes a replica of the writer, where nothing is lost by it."""

import pytest

from sandbox.actions.rejoin import Rejoin
from unit.actions.scripted import Clock, ScriptedGroup, following, group, operation, refused, servers

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def promoted(family: str = "mysql", version: str = "8.4.3", held: str = f"{A}:1-9") -> ScriptedGroup:
    """The first replica is the writer, the second one follows it; the old writer is back."""
    stack = following(group(family, version), "replica1")
    stack.role_of = {stack.members[0].name: None, "replica1": "writer", "replica2": "reader"}
    old, variable = stack.members[0].name, "gtid_current_pos" if family == "mariadb" else "gtid_executed"
    stack.says["replica1", f"SELECT @@{variable}"] = {"held": f"{A}:1-10" if family == "mysql" else "0-2-60"}
    stack.says[old, f"SELECT @@{variable}"] = {"held": held}
    return stack


def test_the_old_writer_becomes_a_replica() -> None:
    stack = promoted()
    shown = iter([{}, {"Replica_IO_Running": "Connecting"}])
    stack.says["mysql1", "SHOW REPLICA STATUS"] = lambda: next(shown, {"Replica_IO_Running": "Yes"})
    assert Rejoin().perform(operation(stack)) == "rejoined: mysql1"
    (readonly, follow) = stack.given
    assert readonly == ("mysql1", "SET GLOBAL super_read_only=ON; SET GLOBAL read_only=ON")
    assert follow[0] == "mysql1" and "SOURCE_HOST='replica1'" in follow[1]


def test_mariadb_finds_another_history_at_the_source() -> None:
    stack = promoted("mariadb", "11.8.2-MariaDB", "0-1-50")
    shown = iter([dict[str, str](), {}])
    error = {"Last_IO_Error": "Got fatal error 1236"}
    stack.says["mariadb1", "SHOW ALL SLAVES STATUS"] = lambda: next(shown, error)
    assert refused(Rejoin(), operation(stack)).what == "mariadb1 cannot follow: Got fatal error 1236"


def test_it_is_refused_where_transactions_would_be_lost() -> None:
    stack = promoted(held=f"{A}:1-12")
    error = refused(Rejoin(), operation(stack))
    assert error.lines()[:2] == [f"mysql1 holds what replica1 lacks: {A}:11-12", "it must be rebuilt"]
    assert not stack.given


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
