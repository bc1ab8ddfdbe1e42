"""What an action acts on: who answers over the network, and how long it waits."""

import pytest

from sandbox.failure import action
from sandbox.failure.action import ActionRefusedError, Operation
from unit.failure.actions.scripted import Clock, group, operation
from unit.fake_stack import server


def test_a_server_answers_over_the_network() -> None:
    stack = group()
    given = operation(stack)
    assert given.answers(stack.members[0])
    stack.dead["mysql1"] = "exited (137)"
    assert not given.answers(stack.members[0])


@pytest.mark.parametrize(
    ("code", "answers"), [(1040, True), (3168, True), (2003, False), (2013, False)]
)
def test_an_error_of_the_server_is_an_answer(code: int, answers: bool) -> None:
    stack = group()
    stack.fail_sql["SELECT 1"] = (code, "no")
    assert operation(stack).answers(stack.members[0]) is answers


def test_a_node_without_an_address_is_not_asked() -> None:
    stack = group()
    stack.controls["mysql1"].at = None
    assert not operation(stack).answers(stack.members[0]) and not stack.asked


def test_a_question_that_hangs_is_no_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*_: object) -> None:
        raise TimeoutError("no answer within 32 s")

    monkeypatch.setattr(action, "ask", hang)
    stack = group()
    assert not operation(stack).answers(stack.members[0])


def test_it_waits_no_longer_than_the_limit(clock: Clock) -> None:
    assert not operation(group()).wait_for(lambda: False, 3)
    assert 103 < clock.now < 103.5


def test_it_gives_up_when_the_trial_ends(clock: Clock) -> None:
    given = operation(group())
    clock.then = given.ended.set
    with pytest.raises(ActionRefusedError, match="it was given up"):
        given.wait_for(lambda: False, 1e9)


def test_a_group_of_replicas_alone_is_single() -> None:
    assert (
        Operation(group(), "client1", [server("replica1", "replica", topology=None)], []).topology
        == "single"
    )
