"""What the program that compares rows asks, and what it makes of the answers."""

from collections import Counter
from typing import Any

import pytest

from sandbox.consistency.in_client.compare_rows import (
    Findings,
    compared,
    different_counts,
    different_keys,
)
from sandbox.consistency.in_client.compare_sql import (
    Chunk,
    SqlColumn,
    SqlTable,
    as_bytes,
    beyond,
    beyond_values,
    can_be_chunked,
    common_key,
    key_of,
    row_crc,
    text_of,
    typed,
)


def column(name: str = "id", type_: str = "int", **given: Any) -> SqlColumn:
    about = {"nullable": False, "charset": None, "collation": None, **given}
    return SqlColumn(name, type_, **about)


@pytest.mark.parametrize(
    ("indexes", "key"),
    [
        ([], ()),
        ([("PRIMARY", "a", None, ""), ("PRIMARY", "b", None, "")], ("a", "b")),
        ([("u", "a", None, "YES"), ("v", "b", None, "")], ("b",)),
        ([("u", "a", 10, "")], ()),  # a prefix: two rows may have it
        ([("u", None, None, "")], ()),  # an expression
    ],
)
def test_the_key_is_the_first_index_that_tells_every_row_apart(indexes: Any, key: Any) -> None:
    assert key_of(indexes) == key


def test_a_range_of_a_key_of_two_columns_is_one_that_an_index_finds() -> None:
    assert beyond(("a", "b"), ">") == "((`a` > %s) OR (`a` = %s AND `b` > %s))"
    assert beyond(("a", "b"), "<=") == "((`a` < %s) OR (`a` = %s AND `b` <= %s))"
    assert beyond_values((7, 9)) == [7, 7, 9]


def test_chunks_leave_no_row_out() -> None:
    assert Chunk(("id",)).where == ("TRUE", [])
    assert Chunk(("id",), None, (5,)).where == ("((`id` <= %s))", [5])
    assert Chunk(("id",), (5,), (9,)).where == ("((`id` > %s)) AND ((`id` <= %s))", [5, 9])
    assert Chunk(("id",), (9,)).where == ("((`id` > %s))", [9])


def test_a_row_is_compared_by_its_bytes_in_utf8_and_null_is_not_empty() -> None:
    name = column("n`", "varchar", nullable=True, charset="latin1")
    assert as_bytes(name) == "CAST(CONVERT(`n``` USING utf8mb4) AS BINARY)"
    assert row_crc([column(), name]) == (
        "CRC32(CONCAT_WS('#', CAST(`id` AS BINARY),"
        " CAST(CONVERT(`n``` USING utf8mb4) AS BINARY), CONCAT(ISNULL(`n```))))"
    )
    assert as_bytes(column("j", "json")) == "CAST(CAST(`j` AS CHAR) AS BINARY)"
    assert as_bytes(column("g", "multipoint")) == "ST_AsBinary(`g`)"


def test_large_numbers_of_a_key_are_sent_as_numbers() -> None:
    assert typed(column(type_="bigint"), "9007199254740993") == 9007199254740993
    assert typed(column(type_="varchar"), "12") == "12"


def test_a_table_has_ranges_only_where_its_order_is_the_same_everywhere() -> None:
    one = SqlTable((column(),), ("id",))
    assert can_be_chunked([one, one])
    assert not can_be_chunked([SqlTable((column(),), ())])
    assert not can_be_chunked([SqlTable((column(type_="enum"),), ("id",))])
    german = SqlTable((column("c", "varchar", collation="utf8mb4_german2_ci"),), ("c",))
    binary = SqlTable((column("c", "varchar", collation="utf8mb4_bin"),), ("c",))
    assert not can_be_chunked([german, binary])
    assert common_key([german, binary]) == ("c",)
    assert common_key([german, one]) == ()


def test_keys_that_differ_come_in_their_order() -> None:
    here = {("2",): 5, ("10",): 6, ("a",): 1}
    there = {("2",): 7, ("a",): 1, ("11",): 3}
    assert different_keys({"a": here, "b": there}) == [("2",), ("10",), ("11",)]


def test_rows_without_a_key_are_counted() -> None:
    found = different_counts({"a": Counter([("1",), ("1",), ("2",)]), "b": Counter([("1",)])})
    assert found == [("1", {"a": 2, "b": 1}), ("2", {"a": 1, "b": 0})]


def test_differences_beyond_the_most_are_counted() -> None:
    found = Findings(most=1)
    found.add(("shop", "t"), what="x")
    found.add(("shop", "t"), what="y")
    assert found.differences == [{"table": "shop.t", "what": "x"}]
    assert found.more == 1


def test_cells_that_are_no_text() -> None:
    assert text_of(b"\xff\x00") == "0xff00"
    assert text_of(b"abc") == "abc"
    assert text_of(None) is None


def test_servers_that_do_not_answer_leave_nothing_to_compare() -> None:
    server = {
        "name": "db1",
        "host": "127.0.0.1",
        "port": 1,
        "credentials": "/dev/null",
        "family": "mysql",
        "topology": "single",
    }
    request = {
        "servers": [server], "held": ["db1"], "wait_s": 1, "chunk": 10, "most": 5, "tables": [],
    }  # fmt: skip
    answer = compared(request)
    assert answer["problem"] == "no server that takes writes answers"
    assert "db1" in answer["unread"]
