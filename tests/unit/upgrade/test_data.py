"""Rows of tables on two servers."""

from sandbox.upgrade.data import TableShape, checksum_of, data_findings, shapes_of


def test_tables_of_columns() -> None:
    rows = [["a", "t", "x"], ["a", "t", "y"], ["b", "t", "x"]]
    assert shapes_of(rows) == [TableShape("a", "t", ("x", "y")), TableShape("b", "t", ("x",))]


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
