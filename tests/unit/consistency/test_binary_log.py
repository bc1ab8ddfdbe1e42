"""What mysqlbinlog prints of MySQL and MariaDB becomes transactions, each with a digest."""

import struct

import pytest

from sandbox.consistency.binary_log import (
    KeysOfTable,
    LogContents,
    Origin,
    different_transactions,
    first_transaction,
    plain,
    read_log,
)

UUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
MYSQL = f"""\
# at 157
#261130  1:00:00 server id 7  end_log_pos 234 CRC32 0x1111  GTID last_committed=0 rbr_only=yes
SET @@SESSION.GTID_NEXT= '{UUID}:1'/*!*/;
# at 234
#261130  1:00:00 server id 7  end_log_pos 300 CRC32 0x2222  Query thread_id=12 exec_time=0
SET TIMESTAMP=1764464400/*!*/;
BEGIN
/*!*/;
#261130  1:00:00 server id 7  end_log_pos 360 CRC32 0x3333 Table_map: `shop`.`t` mapped
#261130  1:00:00 server id 7  end_log_pos 420 CRC32 0x4444  Write_rows: table id 108
### INSERT INTO `shop`.`t`
### SET
###   @1=17
###   @2='a'
### INSERT INTO `shop`.`t`
### SET
###   @1=18
###   @2=NULL
#261130  1:00:00 server id 7  end_log_pos 460 CRC32 0x5555  Xid = 33
COMMIT/*!*/;
#261130  1:00:05 server id 8  end_log_pos 520 CRC32 0x6666  GTID last_committed=1
SET @@SESSION.GTID_NEXT= '{UUID}:2'/*!*/;
#261130  1:00:05 server id 8  end_log_pos 600 CRC32 0x7777  Update_rows: table id 108
### UPDATE `shop`.`t`
### WHERE
###   @1=17
###   @2='a'
### SET
###   @1=19
###   @2='b'
COMMIT/*!*/;
#261130  1:00:06 server id 8  end_log_pos 700 CRC32 0x8888  GTID last_committed=2
SET @@SESSION.GTID_NEXT= '{UUID}:3'/*!*/;
#261130  1:00:06 server id 8  end_log_pos 800 CRC32 0x9999  Query thread_id=12  Xid = 44
use `shop`/*!*/;
SET TIMESTAMP=1764464406/*!*/;
create table u (id int) /* xid=44 */
/*!*/;
SET @@SESSION.GTID_NEXT= 'AUTOMATIC' /* added by mysqlbinlog */ /*!*/;
"""
MARIADB = """\
#261130  1:00:00 server id 1  end_log_pos 400 CRC32 0x1111 \tGTID 0-1-5 trans
/*!100101 SET @@session.skip_parallel_replication=0*//*!*/;
/*!100001 SET @@session.gtid_seq_no=5*//*!*/;
START TRANSACTION
/*!*/;
#261130  1:00:00 server id 1  end_log_pos 460 CRC32 0x2222 \tAnnotate_rows:
#Q> delete from t where id = 3
#261130  1:00:00 server id 1  end_log_pos 520 CRC32 0x3333 \tDelete_rows: table id 20
### DELETE FROM `shop`.`t`
### WHERE
###   @1=-1 (4294967295)
###   @2='x\\x27y'
COMMIT/*!*/;
#261130  1:00:01 server id 1  end_log_pos 600 CRC32 0x4444 \tGTID 0-1-6 ddl
drop table u
/*!*/;
"""
KEYS = {("shop", "t"): KeysOfTable((1,), frozenset({("17",), ("19",), ("-1",)}))}


def read(text: str) -> LogContents:
    return read_log(text.splitlines(), KEYS)


def test_transactions_of_mysql_with_who_changed_a_row_last() -> None:
    log = read(MYSQL)
    assert list(log.digests) == [f"{UUID}:1", f"{UUID}:2", f"{UUID}:3"]
    assert log.lines[f"{UUID}:1"][:4] == ["INSERT INTO `shop`.`t`", "SET", "@1=17", "@2='a'"]
    table = ("shop", "t")
    second = Origin(f"{UUID}:2", 8, "2026-11-30 01:00:05", "update")
    # An update that changes the key: the row of the old key went, the one of the new key came.
    assert log.origins == {(table, ("17",)): second, (table, ("19",)): second}


def test_a_servers_own_number_of_a_statement_is_no_difference() -> None:
    other = MYSQL.replace("xid=44", "xid=9021").replace("server id 8", "server id 9")
    assert different_transactions({"a": read(MYSQL), "b": read(other)}) == []


def test_transactions_of_mariadb() -> None:
    log = read(MARIADB)
    assert list(log.digests) == ["0-1-5", "0-1-6"]
    assert log.lines["0-1-6"] == ["drop table u"]
    (origin,) = log.origins.values()
    assert origin == Origin("0-1-5", 1, "2026-11-30 01:00:00", "delete")


def test_the_same_gtid_with_another_value_is_named() -> None:
    other = MYSQL.replace("@2='b'", "@2='c'")
    logs = {"a": read(MYSQL), "b": read(other), "c": read(MYSQL)}
    assert different_transactions(logs) == [f"{UUID}:2"]
    emptied = MYSQL.replace("create table u (id int) /* xid=44 */\n", "")
    assert different_transactions({"a": read(MYSQL), "b": read(emptied)}) == [f"{UUID}:3"]


def test_gtids_of_one_server_alone_are_no_difference() -> None:
    half = MYSQL.partition("#261130  1:00:06")[0]
    assert different_transactions({"a": read(MYSQL), "b": read(half)}) == []


def test_values_of_the_log() -> None:
    assert plain("NULL") is None
    assert plain("'x\\x27y'") == "x'y"
    assert plain("-1 (4294967295)") == "-1"
    assert plain("3.50") == "3.50"


def event(at: int, kind: int, body: bytes = b"", end: int | None = None) -> bytes:
    """An event as it stands in a file at this position."""
    length = 19 + len(body)
    told = at + length if end is None else end
    return struct.pack("<IBIIIH", 1764464400, kind, 7, length, told, 0) + body


@pytest.mark.parametrize("kind", [33, 34, 42, 162])
def test_the_first_transaction_behind_a_position_is_found(kind: int) -> None:
    gtid_bytes = b"\x21\x22\x2a\xa2" * 20
    rows = event(1000, 30, gtid_bytes)
    gtid = event(1000 + len(rows), kind, b"\x00" * 25)
    query = event(1000 + len(rows) + len(gtid), 2, b"BEGIN")
    content = rows + gtid + query
    for cut in (0, 1, 40):
        assert first_transaction(content[cut:], 1000 + cut) == 1000 + len(rows)
    annotated = gtid + event(1000 + len(rows) + len(gtid), 160, b"insert", end=0)
    assert first_transaction(annotated, 1000 + len(rows)) == 1000 + len(rows), "as in MariaDB"


def test_in_the_middle_of_a_transaction_none_is_found() -> None:
    assert first_transaction(event(1000, 30, b"\xa2" * 4000)[100:], 1100) is None
    gtid = event(1000, 33, b"\x00" * 25)
    assert first_transaction(gtid, 1000) is None, "what is behind it is not there yet"
    assert first_transaction(gtid + event(2000, 2), 1000) is None, "nor is it an event"
    assert first_transaction(b"", 0) is None
