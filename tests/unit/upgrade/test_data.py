"""Rows of tables on two servers."""

from sandbox.upgrade.data import (
    TableShape,
    checksum_of,
    collation_findings,
    data_findings,
    shapes_of,
)


def test_tables_of_columns() -> None:
    rows: list[list[object]] = [["a", "t", "x", None], ["a", "t", "y", "ci"], ["b", "t", "x", None]]
    assert shapes_of(rows) == [
        TableShape("a", "t", ("x", "y"), (None, "ci")),
        TableShape("b", "t", ("x",), (None,)),
    ]


def test_columns_with_another_collation() -> None:
    old = [TableShape("a", "t", ("x", "y", "z"), (None, "general", "bin"))]
    new = [TableShape("a", "t", ("x", "y", "z"), (None, "uca1400", "bin"))]
    (found,) = collation_findings(old, new)
    assert (found.on_from, found.on_to) == ("general", "uca1400")
    assert (found.note, found.matters) == ("columns: a.t.y", False)


def test_a_checksum_does_not_take_null_for_empty() -> None:
    sql = checksum_of(TableShape("a", "odd`name", ("x",)))
    assert sql.endswith("FROM `a`.`odd``name`")
    assert "coalesce(cast(`x` AS binary), '\\\\N')" in sql


def test_tables_that_differ() -> None:
    old = {"a.t": ("2", "77"), "a.u": ("1", "5"), "a.v": None}
    new = {"a.t": ("2", "78"), "a.u": ("1", "5"), "a.w": ("0", "0")}
    found = data_findings(old, new, "data", "after the log")
    assert [(each.on_from, each.on_to) for each in found] == [
        ("a.t: 2 rows, checksum 77", "a.t: 2 rows, checksum 78"),
        ("a.w: not there, or cannot be read", "a.w: 0 rows, checksum 0"),
    ]
