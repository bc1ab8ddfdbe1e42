"""The steps of a repro on a stage that answers from a script."""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.record.repro import Warned
from sandbox.repro.step import StepError
from sandbox.repro.steps import act
from sandbox.stack.protocol import ExecResult
from unit.repro.fake_stage import Answer, FakeStage, done


def test_a_session_stays_at_its_place() -> None:
    stage = FakeStage({"select 1": {"rows": [[["1"]]]}})
    first = done(stage, {"s1 @replica1": "begin"})
    second = done(stage, {"s1": "select 1", "rows": 1})
    assert (first.node, second.node) == ("replica1", "replica1")
    assert stage.sessions.sent == [("s1", ("begin",)), ("s1", ("select 1",))]
    assert second.problem is None and second.rows == [[["1"]]]


def test_a_session_without_a_place_is_at_the_writer() -> None:
    stage = FakeStage()
    assert done(stage, {"s1": "begin"}).node == "mysql1"


def test_all_is_a_session_on_every_server_and_the_first_that_differs_is_told() -> None:
    answers = [{"rows": [[["1"]]]}, {"rows": [[["2"]]]}]
    stage = FakeStage({"select @@x": answers})
    record = done(stage, {"all": "select @@x", "rows": 1})
    assert [session for session, _ in stage.sessions.sent] == ["all@mysql1", "all@replica1"]
    assert (record.node, record.problem) == ("replica1", "(2)")


def test_a_statement_that_blocks_has_its_result_in_ends() -> None:
    stage = FakeStage({"update t": None})
    record = done(stage, {"s1": "update t", "blocks": True})
    assert (record.blocked, record.problem, record.ended_ms) == (True, None, None)
    with pytest.raises(StepError, match="'ends: s1' waits for its end"):
        done(stage, {"s1": "select 1"})
    stage.sessions.pending["s1"].ended_us = 2000
    stage.sessions.pending["s1"].error_code = 1205
    stage.sessions.pending["s1"].error = "Lock wait timeout"
    assert done(stage, {"ends": "s1", "error": 1205}).problem is None
    with pytest.raises(StepError, match="no statement under way"):
        done(stage, {"ends": "s1"})


def test_one_that_does_not_block_although_it_should() -> None:
    stage = FakeStage()
    record = done(stage, {"s1": "update t", "blocks": "1s"})
    assert (record.blocked, record.problem) == (False, "it does not wait")


def test_one_that_does_not_end_in_time() -> None:
    stage = FakeStage({"select sleep(9)": None})
    record = done(stage, {"s1": "select sleep(9)", "within": "100ms"})
    assert record.problem == "not ended after 0.1 s"


def test_a_prepared_statement_is_quoted() -> None:
    stage = FakeStage()
    done(stage, {"s1": r"select 'a\n'", "prepared": True})
    assert stage.sessions.sent == [
        ("s1", (r"PREPARE repro FROM 'select \'a\\n\''", "EXECUTE repro"))
    ]


def test_warnings_are_compared_where_they_are_wanted() -> None:
    warned = Warned(level="Warning", code=1287, text="deprecated")
    came: dict[str, object] = {"warnings": [warned]}
    stage = FakeStage({"select 1": came})
    assert done(stage, {"s1": "select 1", "warning": 1287}).problem is None
    assert done(stage, {"s1": "select 1", "warning": 1288}).problem == "without warning 1288"


def test_until_asks_again() -> None:
    answers: list[Answer] = [
        {"rows": [[["0"]]]},
        {"error_code": 2013, "error": "gone"},
        {"rows": [[["1"]]]},
    ]
    stage = FakeStage({"select n": answers})
    record = done(stage, {"until @replica1": "select n", "rows": 1})
    assert record.problem is None and len(stage.sessions.sent) == 3


def test_until_gives_up() -> None:
    stage = FakeStage({"select n": {"rows": [[["0"]]]}})
    record = done(stage, {"until": "select n", "rows": 1, "within": "1ms"})
    assert record.problem == "after 0.001 s still: (0)"


@pytest.mark.parametrize(
    ("text", "fault", "node", "length_s"),
    [
        ("hang", "hang", "mysql1", None),
        ("hang replica1", "hang", "replica1", None),
        ("partition reader for 10s", "partition", "replica1", 10.0),
        ("hang for 500ms", "hang", "mysql1", 0.5),
    ],
)
def test_break_names_fault_target_and_length(
    text: str, fault: str, node: str, length_s: float | None
) -> None:
    stage = FakeStage()
    done(stage, {"break": text})
    ((request, length),) = stage.injected
    assert (request.fault, list(request.nodes), length) == (fault, [node], length_s)


def test_a_fault_that_is_not_in_effect_is_a_problem() -> None:
    stage = FakeStage()
    stage.missing = {"mysql1": "it still answers"}
    record = done(stage, {"break": "hang"})
    assert record.problem == "not in effect on mysql1: it still answers"


def test_heal_ends_what_was_broken_and_nothing_else() -> None:
    stage = FakeStage()
    with pytest.raises(StepError, match="there is no fault hang to heal"):
        done(stage, {"heal": "hang"})
    done(stage, {"break": "hang"})
    done(stage, {"heal": "all"})
    assert stage.healed == ["hang", None]


def test_a_shell_line_has_an_exit_code() -> None:
    stage = FakeStage()
    assert done(stage, {"shell": "ls"}).problem is None
    stage.stack.result = ExecResult(2, "", "ls: no such file")
    assert done(stage, {"shell @mysql1": "ls x"}).problem == "exit code 2: ls: no such file"
    assert done(stage, {"shell": "ls x", "exit": 2}).problem is None
    assert [node for node, _ in stage.stack.ran] == ["client1", "mysql1", "client1"]


def test_half_of_a_statement_waits_until_its_session_is_cut() -> None:
    stage = FakeStage({"select 1": None})
    record = done(stage, {"s1": "select 1", "half_sent": True, "blocks": True})
    assert stage.sessions.half == ["select 1"] and record.text == "s1: select 1 (half of it)"
    assert done(stage, {"cut": "s1"}).node == "mysql1"
    assert stage.sessions.was_cut == ["s1"] and not stage.sessions.pending


def test_only_a_session_that_is_there_can_be_cut() -> None:
    with pytest.raises(StepError, match="there is no session s1 before this step"):
        done(FakeStage(), {"cut": "s1"})


def counted(*values: int | None) -> FakeStage:
    """A stage whose counter n has these values in turn."""
    answers = [{"rows": [[["n", str(value)]] if value is not None else []]} for value in values]
    return FakeStage({"SHOW GLOBAL STATUS LIKE 'n'": answers})


def test_a_counter_rises_since_it_was_read_last() -> None:
    stage = counted(7, 7, 8, 8)
    assert done(stage, {"counter @mysql1": "n"}).rows == [[["n", "7"]], [["0"]]]
    risen = done(stage, {"counter": "n", "rises": 1})
    assert (risen.problem, risen.rows[-1]) == (None, [["1"]])
    assert done(stage, {"counter": "n", "rises": 0}).problem is None


def test_a_counter_that_rises_by_something_else_is_a_problem() -> None:
    stage = counted(7, 9)
    done(stage, {"counter": "n"})
    record = done(stage, {"counter": "n", "rises": 1, "within": 0})
    assert (record.problem, record.rows[-1]) == ("it has risen by 2", [["2"]])


def test_a_rise_is_of_one_server_and_needs_a_first_reading() -> None:
    stage = counted(7, 8)
    done(stage, {"counter @mysql1": "n"})
    with pytest.raises(StepError, match="no step before this one has read n of replica1"):
        done(stage, {"counter @replica1": "n", "rises": 1})


def test_a_counter_that_there_is_none_of_is_told() -> None:
    with pytest.raises(StepError, match="n is no number of mysql1: not there"):
        done(counted(None), {"counter": "n"})


def test_an_action_with_a_name_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    class Failing:
        def perform(self, _operation: object) -> str:
            raise SandboxError("mysql1 is not back", "within 600 s", "try: make ps")

    monkeypatch.setattr(act, "action_named", lambda *_: Failing())
    with pytest.raises(StepError, match="mysql1 is not back: within 600 s"):
        done(FakeStage(), {"act": "join mysql1"})
    record = done(FakeStage(), {"act": "join mysql1", "name": "join"})
    assert (record.problem, record.error_code) == ("mysql1 is not back: within 600 s", 0)
    assert record.error == record.problem
