"""Emergency promotion: who takes the place of a writer that is gone, and when it is refused."""

import pytest

from sandbox.core.errors import MachineError
from sandbox.failure.actions.promote import Promote
from unit.failure.actions.scripted import (
    Clock,
    ScriptedGroup,
    following,
    group,
    operation,
    refused,
    servers,
)

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"


def test_the_most_advanced_replica_is_promoted() -> None:
    stack = following(group(), replica1=f"{A}:1-90", replica2=f"{A}:1-99")
    stack.dead["mysql1"] = "exited (137)"
    assert Promote().perform(operation(stack, ["mysql1"])) == "replica2 promoted"
    assert [(node, text.partition(";")[0]) for node, text in stack.given] == [
        ("replica1", "STOP REPLICA IO_THREAD"),
        ("replica2", "STOP REPLICA IO_THREAD"),
        ("replica2", "STOP REPLICA"),
        ("replica2", "SET GLOBAL super_read_only=OFF"),
        ("replica1", "STOP REPLICA"),
    ]
    assert (
        "SOURCE_HOST='replica2'" in stack.given[-1][1]
        and "SOURCE_PASSWORD='pw'" in stack.given[-1][1]
    )


def test_of_equals_the_first() -> None:
    stack = following(
        group("mariadb", "11.8.2-MariaDB"), "mariadb1", replica1="0-1-50", replica2="0-1-50"
    )
    stack.dead["mariadb1"] = "exited (137)"
    assert Promote().perform(operation(stack, ["mariadb1"])) == "replica1 promoted"
    assert "MASTER_HOST='replica1'" in stack.given[-1][1]


def test_it_applies_what_it_has_received_first() -> None:
    stack = following(group(replicas=1))
    stack.dead["mysql1"] = "exited (137)"
    stack.says["replica1", "SHOW REPLICA STATUS"] = {
        "Source_Host": "mysql1",
        "Retrieved_Gtid_Set": f"{A}:1-9",
    }
    stack.says["replica1", "SELECT WAIT_FOR"] = {"waited": "1"}
    assert "has not applied all" in refused(Promote(), operation(stack, ["mysql1"])).what
    given = [text for _, text in stack.given]
    assert given == ["STOP REPLICA IO_THREAD", "START REPLICA IO_THREAD"], (
        "it took no writes, and is a replica still"
    )


def test_where_one_does_not_answer_any_more_the_others_stay_replicas() -> None:
    stack = following(group("mariadb", "11.8.2-MariaDB"), "mariadb1")
    stack.dead["mariadb1"] = "exited (137)"
    for verb in ("STOP", "START"):
        stack.says["replica1", f"{verb} SLAVE IO_THREAD"] = MachineError(
            "replica1 does not answer", "-", "try: make ps"
        )
    with pytest.raises(MachineError, match="replica1 does not answer"):
        Promote().perform(operation(stack, ["mariadb1"]))
    assert stack.given[-1] == ("replica2", "START SLAVE IO_THREAD")


def test_where_the_chosen_one_cannot_take_over_all_receive_again() -> None:
    stack = following(group("mariadb", "11.8.2-MariaDB"), "mariadb1")
    stack.dead["mariadb1"] = "exited (137)"
    stack.says["replica1", "STOP SLAVE; RESET"] = MachineError(
        "replica1 does not answer", "-", "try: make ps"
    )
    with pytest.raises(MachineError, match="replica1 does not answer"):
        Promote().perform(operation(stack, ["mariadb1"]))
    assert [(node, "START SLAVE IO_THREAD") for node in ("replica1", "replica2")] == stack.given[
        -2:
    ]


def test_one_that_cannot_follow_the_new_writer_keeps_no_other_from_it() -> None:
    stack = following(group(replicas=3), replica1=f"{A}:1-9")
    stack.dead["mysql1"] = "exited (137)"
    stack.says["replica2", "STOP REPLICA; CHANGE"] = MachineError(
        "replica2 does not answer", "-", "try: make ps"
    )
    with pytest.raises(MachineError, match="replica2 does not answer"):
        Promote().perform(operation(stack, ["mysql1"]))
    assert stack.given[-1][0] == "replica3" and "SOURCE_HOST='replica1'" in stack.given[-1][1]
    assert not [text for _, text in stack.given if text.startswith("START")], (
        "none follows the old writer again"
    )


def test_it_waits_until_the_writer_has_been_silent_for_a_while(clock: Clock) -> None:
    stack = following(group())
    began: list[float] = []

    def later() -> None:
        if clock.now >= 102 and not began:
            stack.dead["mysql1"] = "exited (137)"
            began.append(clock.now)

    clock.then = later
    Promote(after_s=3).perform(operation(stack, ["mysql1"]))
    assert clock.now - began[0] == pytest.approx(3, abs=0.11)


def test_a_writer_that_answers_again_begins_anew(clock: Clock) -> None:
    stack = following(group())

    def blink() -> None:
        silent = clock.now < 102 or clock.now >= 103
        stack.dead = {"mysql1": "paused"} if silent else {}

    blink()
    clock.then = blink
    Promote(after_s=2.5).perform(operation(stack, ["mysql1"]))
    assert clock.now == pytest.approx(105.5, abs=0.25)


def test_it_is_refused_while_the_old_writer_answers(clock: Clock) -> None:
    stack = following(group())
    error = refused(Promote(), operation(stack, ["mysql1"]))
    assert error.what == "the old writer answers: mysql1" and clock.now > 160 and not stack.given


def test_a_long_silence_has_its_time_besides_the_wait_for_its_beginning(clock: Clock) -> None:
    stack = following(group())

    def end() -> None:
        stack.dead = {"mysql1": "exited (137)"} if clock.now >= 150 else {}

    clock.then = end
    Promote(after_s=60).perform(operation(stack, ["mysql1"]))
    assert clock.now == pytest.approx(210, abs=0.25)


def test_a_promoted_writer_is_replaced_too() -> None:
    stack = following(group(), "replica1", replica2=f"{A}:1-9")
    stack.says["mysql1", "SHOW REPLICA STATUS"] = {"Source_Host": "replica1"}
    stack.says["mysql1", "SELECT @@gtid_executed"] = {"held": f"{A}:1-10"}
    stack.dead["replica1"] = "exited (137)"
    assert Promote().perform(operation(stack, ["replica1"])) == "mysql1 promoted"


def test_without_a_target_the_first_server_is_the_old_writer() -> None:
    stack = following(group(), replica1=f"{A}:1")
    stack.dead["mysql1"] = "exited (137)"
    assert Promote().perform(operation(stack)) == "replica1 promoted"


def test_it_is_refused_without_a_replica() -> None:
    stack = group(replicas=1)  # it follows nobody
    stack.dead["mysql1"] = "exited (137)"
    error = refused(Promote(), operation(stack, ["mysql1"]))
    assert error.lines()[:2] == ["there is no replica to promote", "that answer: replica1"]
    stack.dead["replica1"] = "exited (1)"
    assert refused(Promote(), operation(stack, ["mysql1"])).known == "that answer: none"


@pytest.mark.parametrize("topology", ["galera", "gr"])
def test_a_cluster_elects_its_writer_itself(topology: str) -> None:
    stack = ScriptedGroup(servers(topology=topology), {})
    assert (
        Promote().perform(operation(stack)) == "nothing to do: a cluster elects its writer itself"
    )
