"""Defaults that are others, variables that are gone, and what meets them."""

from sandbox.upgrade.defaults import (
    ServerVariable,
    changed_defaults,
    names_variable,
    removed_variables,
    variables_of,
)
from sandbox.upgrade.replay import replay_of
from unit.upgrade.logged import logged

QUERIES = list(
    replay_of(
        logged(
            "begin",
            "create table t (a varchar(9))",
            "set session old_thing = 1",
            "select @@global.read_thing",
        )
    ).distinct.values()
)


def variables(**values: str) -> dict[str, ServerVariable]:
    return {name: ServerVariable(value, value) for name, value in values.items()}


def test_variables_of_an_answer() -> None:
    rows: list[list[object]] = [["a", "1", "0"], ["b", None, None]]
    assert variables_of(rows) == {
        "a": ServerVariable("1", "0"), "b": ServerVariable("", None),
    }  # fmt: skip


def test_changed_defaults_are_with_what_meets_them() -> None:
    old = variables(
        innodb_snapshot_isolation="OFF", collation_server="general", eq_range="1", datadir="/a",
        same="1", optimizer_switch="a=on,b=on,c=on",
    ) | {"unknown": ServerVariable("1", None)}  # fmt: skip
    new = variables(
        innodb_snapshot_isolation="ON", collation_server="uca1400", eq_range="2", datadir="/b",
        same="1", optimizer_switch="a=on,b=off,c=on,d=on", unknown="2",
    )  # fmt: skip
    found = {each.variable: each for each in changed_defaults(old, new, QUERIES)}
    assert list(found) == [
        "collation_server", "innodb_snapshot_isolation", "eq_range", "optimizer_switch",
    ]  # fmt: skip
    assert found["innodb_snapshot_isolation"].met == "1 distinct query: transactions"
    assert "1020" in (found["innodb_snapshot_isolation"].meaning or "")
    assert found["eq_range"].met is None and found["eq_range"].meaning is None
    assert found["optimizer_switch"].on_to == "b=off,d=on,…"


def test_a_variable_that_is_set_is_met() -> None:
    old, new = variables(old_thing="1"), variables(old_thing="2")
    (found,) = changed_defaults(old, new, QUERIES)
    assert found.met == "1 distinct query that set it or read it"


def test_removed_variables_are_with_who_names_them() -> None:
    old = variables(old_thing="1", file_thing="1", tx_isolation="1", kept="1")
    new = variables(kept="1", transaction_isolation="1")
    found = removed_variables(old, new, QUERIES, ["file_thing"])
    assert [(each.variable, each.named_by, each.instead) for each in found] == [
        ("file_thing", "the option file", None),
        ("old_thing", "the log", None),
        ("tx_isolation", None, "transaction_isolation"),
    ]


def test_a_variable_is_named_as_a_word_alone() -> None:
    assert names_variable("set @@session.sql_mode = ''", "sql_mode")
    assert names_variable("select @@sql_mode", "sql_mode")
    assert names_variable("set a = 1, sql_mode = ''", "sql_mode")
    assert not names_variable("select sql_mode from t", "sql_mode")
    assert not names_variable("set my_sql_mode = 1", "sql_mode")
