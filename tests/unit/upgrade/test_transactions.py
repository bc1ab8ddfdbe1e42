"""Transactions by connection: each as a whole; which ones read without a lock, then write."""

import pytest

from sandbox.upgrade.transactions import (
    in_whole_transactions,
    read_then_writes,
    tables_of,
    transactions_in,
)
from unit.upgrade.logged import logged

READ = "select copies from book where id = 1"
WRITE = "update book set copies = copies - 1 where id = 1"


def test_interleaved_transactions_become_whole_ones() -> None:
    log = logged(
        (1, "begin"), (2, "start transaction"), (1, READ), (3, "select 1"), (2, READ),
        (1, WRITE), (2, WRITE), (2, "commit"), (1, "commit"), (2, "select 2"),
    )  # fmt: skip
    found = [(each.connection, each.text) for each in in_whole_transactions(log)]
    assert found == [
        (1, "begin"), (1, READ), (1, WRITE), (1, "commit"),
        (2, "start transaction"), (2, READ), (2, WRITE), (2, "commit"),
        (3, "select 1"), (2, "select 2"),
    ]  # fmt: skip


def test_a_definition_and_a_second_begin_end_a_transaction() -> None:
    log = logged("begin", READ, "create table t (a int)", WRITE, "begin", READ, "begin", "commit")
    sizes = [len(each.statements) for each in transactions_in(log)]
    assert sizes == [3, 1, 2, 2]


def test_autocommit_off_begins_by_itself() -> None:
    log = logged("set autocommit=0", READ, WRITE, "commit", READ, "set autocommit = 1", READ)
    first = transactions_in(log)[1]
    assert [each.text for each in first.statements] == [READ, WRITE, "commit"]
    assert [each.text for each in first.settings] == ["set autocommit=0"]
    assert len(read_then_writes(log)) == 1


def test_what_reads_then_writes_is_found_once_with_its_count() -> None:
    other = WRITE.replace("id = 1", "id = 7")
    log = logged(
        (1, "set names utf8mb4"), (1, "begin"), (1, READ), (1, WRITE), (1, "commit"),
        (2, "begin"), (2, READ), (2, other), (2, "rollback"),
    )  # fmt: skip
    (found,) = read_then_writes(log)
    assert found.count == 2
    assert [each.text for each in found.before] == ["begin", READ]
    assert [each.text for each in found.settings] == ["set names utf8mb4"]
    assert found.tried.text == found.other.text == WRITE
    assert found.schema == "library"


def test_the_shortest_stands_for_all_that_lock_in_the_same_way() -> None:
    log = logged(
        (1, "begin"), (1, "select 1 from reader"), (1, READ), (1, WRITE), (1, "commit"),
        (2, "begin"), (2, READ), (2, WRITE), (2, "commit"),
    )  # fmt: skip
    (found,) = read_then_writes(log)
    assert (found.count, [each.text for each in found.before]) == (2, ["begin", READ])


def test_a_locking_read_is_tried_with_the_write_that_follows() -> None:
    lock = f"{READ} for update"
    (found,) = read_then_writes(logged("begin", "select 1 from reader", lock, WRITE, "commit"))
    assert (found.tried.text, found.other.text) == (lock, WRITE)


@pytest.mark.parametrize(
    "statements",
    [
        ("begin", f"{READ} for update", WRITE, "commit"),  # no snapshot before the lock
        ("begin", READ, "insert into loan values (1)", "commit"),  # a row that nobody else has
        (READ, WRITE),  # each is a transaction of its own
        ("begin", "select 1", WRITE, "commit"),  # reads no table
    ],
)
def test_what_cannot_end_with_1020_is_not_tried(statements: tuple[str, ...]) -> None:
    assert read_then_writes(logged(*statements)) == []


def test_a_consistent_snapshot_needs_no_read() -> None:
    begin = "start transaction with consistent snapshot"
    assert len(read_then_writes(logged(begin, WRITE, "commit"))) == 1


@pytest.mark.parametrize(
    ("sql", "tables"),
    [
        ("update low_priority `Book` set a = 1", {"book"}),
        ("delete from shop.loan where id = 1", {"loan"}),
        ("select 1 from a x, b as y join c on 1 where d = 1", {"a", "b", "c"}),
        ("insert ignore into t (a) select a from s", {"t", "s"}),
    ],
)
def test_tables_of_a_statement(sql: str, tables: set[str]) -> None:
    assert tables_of(sql) == tables
