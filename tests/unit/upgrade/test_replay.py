"""What pt-upgrade gets: each statement with its number and its time; what is left out, and why."""

import pytest

from sandbox.upgrade.log_file import LoggedStatement
from sandbox.upgrade.replay import last_read, reason_not_to_run, replay_of, slow_log_of
from unit.upgrade.logged import logged


def test_statements_stand_with_their_number_at_their_time() -> None:
    statements = [
        LoggedStatement(1, "select *\nfrom book -- all", 31, "library", 1796030100.5),
        LoggedStatement(2, "select 2", 31, "library", 1796030100.9),
        LoggedStatement(3, "select 3", None, None, None),
    ]
    text = slow_log_of(replay_of(statements), 5)
    assert [line for line in text.splitlines() if not line.startswith("#")] == [
        "/*0*/ set names utf8mb4;",
        "/*0*/ set session sql_mode = @@global.sql_mode;",
        "use library;",
        "/*0*/ set timestamp = 1796030100;",
        "use library;",
        "/*1*/ select * from book;",
        "use library;",
        "/*2*/ select 2;",
        "/*3*/ select 3;",
    ]
    assert text.count("# User@Host: replay[replay] @ localhost []  Id: 31\n") == 3


def test_the_last_statement_that_was_read() -> None:
    text = slow_log_of(replay_of(logged("select 1", "select 2")), 5)
    assert [last_read(text, events) for events in (0, 3, 4, 6, 99)] == [None, None, 1, 2, 2]


def test_a_file_without_times_runs_at_one_time() -> None:
    text = slow_log_of(replay_of([LoggedStatement(1, "select now()")]), 7)
    assert "/*0*/ set timestamp = 7;\n" in text


@pytest.mark.parametrize(
    ("sql", "why"),
    [
        ("SHUTDOWN", "ends the server"),
        ("stop slave", "sets up replication"),
        ("lock tables t write", "locks tables, against pt-upgrade itself"),
        ("select 1 into outfile '/tmp/a'", "writes a file on the server"),
        ("select 1; select 2", "is several statements at once"),
        ("select 'a;\n# b'", "has a line in a string that would end it in a slow log"),
    ],
)
def test_what_is_left_out(sql: str, why: str) -> None:
    assert reason_not_to_run(sql) == why
    replay = replay_of(logged("select 1", sql))
    assert [each.text for each in replay.statements] == ["select 1"]
    assert replay.left_out == {why: 1}


@pytest.mark.parametrize(
    "sql",
    [
        "start transaction",
        "create procedure p() begin select 1; end",
        "select 'a;b'",
        "replace into t values (1)",
    ],
)
def test_what_is_run(sql: str) -> None:
    assert reason_not_to_run(sql) is None


def test_distinct_queries_have_their_count() -> None:
    replay = replay_of(logged("select 1", "select  2", "select a"))
    found = [(each.text, each.count, each.first.number) for each in replay.distinct.values()]
    assert found == [("select 1", 2, 1), ("select a", 1, 3)]
