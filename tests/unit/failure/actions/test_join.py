"""A node leaves and joins again, and is started again whatever happens; never with the only data
there is.
"""

from collections.abc import Mapping
from dataclasses import replace

import pytest

from sandbox.core.errors import MachineError
from sandbox.failure.actions.join import Join
from sandbox.stack.protocol import ReadyAnswer
from unit.failure.actions.scripted import Clock, ScriptedGroup, following, group, operation, refused
from unit.fake_stack import server


def cluster(topology: str = "galera") -> ScriptedGroup:
    members = [server(f"{topology}{n}", component=topology, topology=topology) for n in (1, 2, 3)]
    return ScriptedGroup(members, {node.name: "writer" for node in members})


def test_with_its_data_after_a_while(clock: Clock) -> None:
    stack = cluster()
    stack.unready = [set(), {"galera2"}, {"galera1", "galera2"}, set()]
    given = operation(stack, ["galera2"])
    said = Join(away_s=20, grace_s=30).perform(given)
    assert stack.heard == ["stop galera2 30", "start galera2"]
    assert said == "joined again: galera2 with its data in 0.4 s"
    ((took_s, still_open),) = given.joined_s
    assert took_s == pytest.approx(0.4) and not still_open, (
        "two looks; the time away does not count"
    )
    assert clock.now == pytest.approx(120.6, abs=0.3)


def test_without_data() -> None:
    stack = cluster("gr")
    said = Join(data="empty").perform(operation(stack, ["gr3"]))
    assert stack.heard == ["stop gr3 60", "empty gr3", "start gr3"] and not stack.given
    assert said == "joined again: gr3 without data in 0.0 s"


def test_several_one_after_the_other() -> None:
    stack = cluster()
    given = operation(stack, ["galera1", "galera3"])
    Join(data="empty", away_s=0).perform(given)
    assert [each.split()[1] for each in stack.heard] == ["galera1"] * 3 + ["galera3"] * 3
    assert len(given.joined_s) == 2


def test_one_that_was_not_ready_before_is_waited_for_all_the_same() -> None:
    stack = cluster()
    stack.unready = [{"galera2"}]
    given = operation(stack, ["galera2"])
    error = refused(Join(ready_limit_s=3), given)
    assert error.lines()[:2] == ["it stopped after galera2", "not ready within 3 s: galera2"]
    assert given.joined_s == [(3, True)], "at least so long"


def test_the_others_are_not_asked_before_it_answers_itself(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    stack, asked = cluster(), list[float]()
    control, ready = stack.controls["galera2"], stack.readiness
    control.at = None

    def readiness() -> Mapping[str, ReadyAnswer]:
        asked.append(clock.now)
        return ready()

    def comes_back() -> None:
        control.at = "172.18.0.2" if clock.now > 105 else None

    monkeypatch.setattr(stack, "readiness", readiness)
    clock.then = comes_back
    Join(away_s=0).perform(operation(stack, ["galera2"]))
    assert [now > 105 for now in asked] == [False, True], "before it leaves, and once it is there"


def test_one_that_ends_instead_is_not_waited_for(clock: Clock) -> None:
    stack = cluster()
    stack.unready, stack.dead = [set(), {"galera2"}], {"galera2": "exited (134)"}
    given = operation(stack, ["galera2"])
    error = refused(Join(away_s=0), given)
    assert given.joined_s == [(600, True)], "nobody would have started it"
    assert error.lines()[:2] == [
        "galera2 ended instead of joining",
        "it is exited (134); its log has no error",
    ]
    assert clock.now < 110, "and not ten minutes"


@pytest.mark.parametrize(("fails", "heard"), [("stop", ["stop"]), ("empty", ["stop", "empty"])])
def test_it_is_started_again_however_it_left(fails: str, heard: list[str]) -> None:
    stack = cluster()
    stack.controls["galera2"].fails = fails
    with pytest.raises(MachineError):
        Join(data="empty").perform(operation(stack, ["galera2"]))
    assert [each.split()[0] for each in stack.heard] == [*heard, "start"]


def test_it_is_started_when_the_trial_ends(clock: Clock) -> None:
    stack = cluster()
    given = operation(stack, ["galera2"])
    clock.then = given.ended.set
    assert refused(Join(away_s=100), given).what == "it was given up"
    assert stack.heard[-1] == "start galera2" and clock.now < 101


def test_a_new_replica_follows_who_is_the_writer_now() -> None:
    stack = following(group())
    stack.role_of = {"mysql1": "reader", "replica1": "writer", "replica2": "reader"}
    Join(data="empty", away_s=0).perform(operation(stack, ["replica2"]))
    assert [node for node, _ in stack.given] == ["replica2"]
    assert "SOURCE_HOST='replica1'" in stack.given[0][1]


def test_one_that_follows_the_writer_from_the_start_is_left_alone() -> None:
    stack = following(group())
    Join(data="empty", away_s=0).perform(operation(stack, ["replica2"]))
    assert not stack.given


def test_a_replica_behind_a_cluster_begins_with_its_source() -> None:
    stack = cluster("gr")
    stack.members.insert(3, server("replica1", "replica", topology="single"))
    stack.controls["replica1"] = replace(stack.controls["gr1"], name="replica1")
    Join(data="empty", away_s=0).perform(operation(stack, ["replica1"]))
    assert not stack.given


def test_a_source_cannot_begin_with_nothing() -> None:
    stack = following(group())
    stack.role_of = {"mysql1": "reader", "replica1": "writer", "replica2": "reader"}
    error = refused(Join(data="empty"), operation(stack, ["mysql1"]))
    assert error.what == "mysql1 cannot join without data" and not stack.heard
    assert error.known.startswith("it is the profile's first source")


def test_nor_can_the_writer_whatever_it_was_at_first() -> None:
    stack = following(group())
    stack.role_of = {"mysql1": "reader", "replica1": "writer", "replica2": "reader"}
    error = refused(Join(data="empty"), operation(stack, ["replica2", "replica1"]))
    assert error.what == "replica1 cannot join without data" and not stack.heard
    assert error.known.startswith("it is the writer")


def test_a_replica_keeps_its_data_where_no_writer_is_left() -> None:
    stack = following(group())
    stack.role_of = {"mysql1": None, "replica1": "reader", "replica2": "reader"}
    error = refused(Join(data="empty"), operation(stack, ["replica2"]))
    assert error.what == "replica2 would lose all data of the group" and not stack.heard


def test_the_first_source_need_not_answer_once_another_server_is_the_writer() -> None:
    stack = following(group())
    stack.role_of = {"mysql1": None, "replica1": "writer", "replica2": "reader"}
    stack.dead = {"mysql1": "exited (137)"}
    Join(data="empty", away_s=0).perform(operation(stack, ["replica2"]))
    assert "empty replica2" in stack.heard


def test_the_last_data_is_not_removed() -> None:
    stack = cluster()
    stack.dead = {"galera1": "exited (137)", "galera3": "exited (137)"}
    error = refused(Join(data="empty"), operation(stack, ["galera2"]))
    assert error.lines()[:2] == [
        "galera2 would lose all data of the group",
        "no other server that has it answers",
    ]
    everybody = refused(Join(data="empty"), operation(cluster(), ["galera1", "galera2", "galera3"]))
    assert "would lose all data" in everybody.what and not stack.heard


def test_a_proxy_is_no_server() -> None:
    assert refused(Join(), operation(cluster(), ["haproxy1"])).known == "its target: haproxy1"
