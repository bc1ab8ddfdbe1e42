"""A load on every member: which of them was away when, and that its threads are told when it is
back.
"""

import time
from pathlib import Path

import pytest

from sandbox.load.common import sysbench_load as members_module
from sandbox.load.common.load_output import SysbenchOutput
from sandbox.load.common.sysbench_load import Members, watched_members
from sandbox.load.common.workload import Event, MemberChange, Session
from sandbox.load.sysbench import Sysbench
from sandbox.record.record import Absence
from unit.fake_stack import FakeStack, captured, server
from unit.load.test_sysbench import members_of, session_of

GONE = "error 1047 (WSREP has not yet prepared node for application use)"
LOST = [f"member mysql2 lost at 4.21 s: {GONE}", f"member mysql2 lost at 4.30 s: {GONE}"]
BACK = "member mysql2 back at 9.53 s"


def everywhere(stack: FakeStack, events: list[Event] | None = None) -> Session:
    """A session on three members."""
    stack.members = [
        *(server(f"mysql{n}", topology="galera") for n in (1, 2, 3)),
        *stack.members[-1:],
    ]
    stack.role_of = {"mysql1": "writer", "mysql2": None, "mysql3": "writer"}
    return session_of(stack, events, entry=members_of(stack))


def test_the_first_thread_that_lost_it_and_the_first_that_has_it_again_count() -> None:
    events: list[Event] = []
    members = Members(everywhere(FakeStack(), events))
    for line in [*LOST, BACK, "member mysql2 back at 9.60 s", "Threads started!"]:
        members.feed(line)
    members.close()
    assert members.absences == (Absence(member="mysql2", from_s=4.21, until_s=9.53, error=GONE),)
    changes = [(each.member, each.is_lost) for each in events if isinstance(each, MemberChange)]
    assert changes == [("mysql2", True), ("mysql2", False)]
    assert "the load goes on at the others" in str(getattr(events[0], "text", ""))


def test_one_that_stays_away_has_no_end() -> None:
    members = Members(everywhere(FakeStack()))
    members.feed(LOST[0])
    members.close()
    assert members.absences[0].until_s is None


def test_its_threads_are_told_once_it_takes_writes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members_module, "LOOK_S", 0.01)
    stack = FakeStack()
    members = Members(everywhere(stack))

    def told() -> list[list[str]]:
        return [argv[4:] for argv in stack.ran if "mv " in argv[2]]

    def wait_for(count: int) -> None:
        end = time.monotonic() + 5
        while len(told()) < count and time.monotonic() < end:
            time.sleep(0.01)
        assert len(told()) == count

    members.feed(LOST[0])
    time.sleep(0.05)
    assert not told(), "it is no writer yet"
    stack.role_of = {**stack.role_of, "mysql2": "writer"}
    wait_for(1)
    members.feed(BACK)
    members.feed("member mysql2 lost at 20.00 s: error 2013 (Lost connection)")
    wait_for(2)
    time.sleep(0.05)
    members.close()
    assert told() == [["mysql2", "1"], ["mysql2", "2"]], "once for each time that it was away"
    assert len(members.absences) == 2


def test_a_load_with_one_entry_point_watches_nobody() -> None:
    stack = FakeStack()
    with watched_members(session_of(stack)) as members:
        assert members is None
    assert not stack.ran


def test_a_load_that_lost_a_member_and_went_on_has_figures_and_no_failure(tmp_path: Path) -> None:
    lost = f"FATAL: mysql_stmt_execute() returned {GONE} for query 'BEGIN'"
    lines = captured("conflicts-mysql-9.7")
    stack = FakeStack(load_lines=[*lines[:8], lost, LOST[0], *lines[8:]])
    session = everywhere(stack)
    outcome = Sysbench(script="oltp_write_only").load(session, "measure", tmp_path / "load.log")
    assert outcome.failure is None and outcome.metrics.tps == 268.03
    assert outcome.metrics.errors_by_code == {"1047": 1}
    assert [each.member for each in outcome.absences] == ["mysql2"]


def test_an_error_is_a_failure_where_nobody_was_lost() -> None:
    output = SysbenchOutput("measure")
    lost = f"FATAL: mysql_stmt_execute() returned {GONE} for query 'BEGIN'"
    for line in [lost, *captured("conflicts-mysql-9.7")]:
        output.feed(line)
    assert output.failure(0) is not None
    output.goes_on = True
    assert output.failure(0) is None
