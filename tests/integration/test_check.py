"""Rows and GTIDs of all servers, compared on real ones with a planted difference."""

import json
from typing import Any

import pytest

from integration.live import LiveStack, live_stack, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
TABLES = (
    "create database shop; use shop;"
    " create table plain (id bigint primary key, name varchar(40) character set latin1, d double);"
    " create table pair (a varchar(20), b int, note text null, primary key (a, b));"
    " create table keyless (v int null);"
    " create table kinds (id int primary key, e enum('x','y'), b bit(4), t timestamp null,"
    "  j json, n decimal(20,6), z varbinary(9));"
    " insert into plain values (1, 'caf\u00e9', 0.1), (2, null, 1e300),"
    " (9007199254740993, '', -0.5);"
    " insert into pair values ('a', 1, null), ('a', 2, ''), ('B', 1, 'x');"
    " insert into keyless values (1), (1), (null), (7);"
    " insert into kinds values (1, 'y', b'101', '2026-01-01 10:00:00', '{\"k\": [1, 2]}', 1.5,"
    "  x'00ff');"
)

MEGABYTES_OF_ROWS = (
    "create table shop.large (id int primary key auto_increment, v longtext);"
    + " insert into shop.large (v) values (repeat('!\"*x', 90000));" * 8
)
"""Values with the bytes that types of events have, too."""


def checked(stack: LiveStack, code: int, *words: str) -> dict[str, Any]:
    """The one set of a stack, as `check` prints it as data."""
    done = sandbox("check", "--name", stack.name, *words, "--json", check=False)
    assert done.returncode == code, done.stdout + done.stderr
    (found,) = json.loads(done.stdout)["sets"]
    return dict(found)


def test_a_row_that_one_galera_node_lacks_is_named_with_its_key_and_both_rows() -> None:
    with live_stack("galera3") as stack:
        stack.sql("galera1", TABLES)
        alike = checked(stack, 0)
        assert alike["compared"] == ["galera1", "galera2", "galera3"]
        assert alike["tables"] >= 4 and alike["rows"] >= 11
        stack.sql("galera2", "set wsrep_on = 0; delete from shop.pair where a = 'a' and b = 2")
        stack.sql("galera3", "set wsrep_on = 0; insert into shop.keyless values (1)")
        found = checked(stack, 1)
        keyless, pair = sorted(found["differences"], key=lambda each: str(each["table"]))
        assert pair["key"] == {"a": "a", "b": "2"}
        row = {"a": "a", "b": "2", "note": ""}
        assert pair["rows"] == {"galera1": row, "galera2": None, "galera3": row}
        assert keyless["counts"] == {"galera1": 2, "galera2": 2, "galera3": 3}
        assert checked(stack, 0, "--only", "shop.plain,shop.kinds")["tables"] == 2
        shown = sandbox("check", "--name", stack.name, check=False).stdout
        for word in ("shop.pair", "a=a, b=2", "galera2", "no such row"):
            assert word in shown
        refused = sandbox("check", "--name", stack.name, "--only", "shop.pear", check=False)
        assert refused.returncode == 2
        stack.pause("galera3")
        try:
            # Whoever does not answer is no reason to say that all is well.
            unread = checked(stack, 3, "--only", "shop.plain", "--within", "2")
        finally:
            stack.unpause("galera3")
        assert "galera3" in unread["unread"]


@pytest.mark.parametrize("profile", ["mysql@9.7+replica1", "mariadb@11.8+replica1"])
def test_one_gtid_with_two_contents_is_named_with_who_wrote_the_rows(profile: str) -> None:
    with live_stack(profile) as stack:
        source = stack.names("database")[0]
        stack.sql(source, TABLES)
        assert checked(stack, 0)["differences"] == []
        stack.sql(source, MEGABYTES_OF_ROWS)
        plant = planted_on_mysql if profile.startswith("mysql") else planted_on_mariadb
        gtid = plant(stack, source)
        end = checked(stack, 1, "--only", "shop", "--log-mb", "1")
        read = end["logs"][source]
        assert read["first_position"] > 1_000_000
        assert [each["gtid"] for each in end["transactions"]] == [gtid]
        found = checked(stack, 1, "--only", "shop")
        (different,) = found["transactions"]
        assert different["gtid"] == gtid
        assert any("4" in line for line in different["contents"][source])
        rows = {each["key"]["id"]: each for each in found["differences"]}
        assert {*rows} == {"4", "5"}
        assert rows["4"]["rows"]["replica1"] is None
        assert rows["4"]["written"][source]["gtid"] == gtid
        assert rows["5"]["written"]["replica1"]["gtid"] == gtid


def planted_on_mysql(stack: LiveStack, source: str) -> str:
    """The replica has executed something else under the source's next GTID."""
    executed = stack.sql(source, "select @@global.gtid_executed")
    uuid, _, numbers = executed.partition(":")
    gtid = f"{uuid}:{int(numbers.rpartition('-')[2]) + 1}"
    stack.sql(
        "replica1",
        f"set global super_read_only = 0, global read_only = 0; set gtid_next = '{gtid}';"
        " insert into shop.plain values (5, 'other', 5); set gtid_next = 'automatic';"
        " set global super_read_only = 1",
    )
    stack.sql(source, "insert into shop.plain values (4, 'own', 4)")
    return gtid


def planted_on_mariadb(stack: LiveStack, source: str) -> str:
    """The same: a session may choose server and number of its next GTID."""
    domain, server, number = stack.sql(source, "select @@global.gtid_binlog_pos").split("-")
    gtid = f"{domain}-{server}-{int(number) + 1}"
    stack.sql("replica1", "stop slave")
    stack.sql(
        "replica1",
        f"set gtid_domain_id = {domain}, server_id = {server}, gtid_seq_no = {int(number) + 1};"
        " insert into shop.plain values (5, 'other', 5)",
    )
    stack.sql(source, "insert into shop.plain values (4, 'own', 4)")
    stack.sql("replica1", f"set global gtid_slave_pos = '{gtid}'; start slave")
    return gtid
