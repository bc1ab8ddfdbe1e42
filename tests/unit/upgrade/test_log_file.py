"""Logs in every format that servers write: what was run, where, by whom, when."""

import pytest

from sandbox.upgrade.log_file import LogError, LoggedStatement, format_of, read_log

MARIADB_SLOW = """\
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian). started with:
Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock
Time\t\t    Id Command\tArgument
# Time: 261130  9:15:00
# User@Host: app[app] @ web1 [10.0.0.5]
# Thread_id: 31  Schema: library  QC_hit: No
# Query_time: 0.000412  Lock_time: 0.000051  Rows_sent: 1  Rows_examined: 1
# Rows_affected: 0  Bytes_sent: 68
use library;
SET timestamp=1796030100;
select copies
from book where id = 1;
# User@Host: app[app] @ web1 [10.0.0.5]
# Thread_id: 32  Schema:   QC_hit: No
# Query_time: 0.000012  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
SET timestamp=1796030100.125;
begin;
# Time: 261130  9:15:01
# User@Host: app[app] @ web1 [10.0.0.5]
# Thread_id: 32  Schema: library  QC_hit: No
# Query_time: 0.000002  Lock_time: 0.000000  Rows_sent: 0  Rows_examined: 0
# administrator command: Quit;
"""
MYSQL_SLOW = """\
# Time: 2026-11-30T09:15:00.250000Z
# User@Host: root[root] @ localhost []  Id:     8
# Query_time: 0.000123  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 1
use `shop`;
SET timestamp=1796030100;
select 1;
"""
MARIADB_GENERAL = """\
/usr/sbin/mariadbd, Version: 10.11.19-MariaDB (Debian). started with:
Time\t\t    Id Command\tArgument
261130  9:15:00\t    31 Connect\tapp@web1 on library using TCP/IP
\t\t    31 Query\tselect title
from book
\t\t    32 Connect\tapp@web1 on  using TCP/IP
261130  9:15:02\t    32 Init DB\tarchive
\t\t    32 Prepare\tselect ? from old
\t\t    32 Execute\tselect 5 from old
\t\t    32 Query\tuse library
\t\t    32 Query\tselect 2
\t\t    31 Quit\t
"""
MYSQL_GENERAL = "2026-11-30T09:15:00.500000+01:00\t    8 Query\tselect 1\n"


def texts(log: str, name: str = "a.log") -> list[str]:
    return [each.text for each in read_log(log, name).statements]


def test_a_slow_log_of_mariadb() -> None:
    log = read_log(MARIADB_SLOW, "slow.log")
    assert log.format == "slow log"
    assert log.statements == (
        LoggedStatement(1, "select copies\nfrom book where id = 1", 31, "library", 1796030100.0),
        LoggedStatement(2, "begin", 32, None, 1796030100.125),
    )
    assert log.schemas == ["library"]


def test_a_slow_log_of_mysql() -> None:
    (statement,) = read_log(MYSQL_SLOW, "slow.log").statements
    assert statement == LoggedStatement(1, "select 1", 8, "shop", 1796030100.0)


def test_mysql_says_the_schema_where_it_changes() -> None:
    head = "# User@Host: root[root] @  [10.0.0.5]  Id:    {}\n# Query_time: 0.0  Lock_time: 0.0\n"
    events = [
        "SET timestamp=1;\nselect 0;\n",
        "use shop;\nSET timestamp=1;\n# administrator command: Init DB;\n",
        "SET timestamp=1;\nselect 1;\n",
        "use archive;\nSET timestamp=1;\nselect 2;\n",
    ]
    text = "".join(head.format(7 + number) + each for number, each in enumerate(events))
    found = read_log(text, "slow.log").statements
    assert [(each.text, each.connection, each.schema) for each in found] == [
        ("select 0", 7, None), ("select 1", 9, "shop"), ("select 2", 10, "archive"),
    ]  # fmt: skip


def test_a_general_log_of_mariadb() -> None:
    log = read_log(MARIADB_GENERAL, "general.log")
    assert log.format == "general log"
    assert [(each.text, each.connection, each.schema) for each in log.statements] == [
        ("select title\nfrom book", 31, "library"),
        ("select 5 from old", 32, "archive"),
        ("select 2", 32, "library"),
    ]
    first, second, _ = log.statements
    assert first.time_s is not None and second.time_s == first.time_s + 2


def test_a_general_log_of_mysql_has_a_zone() -> None:
    (statement,) = read_log(MYSQL_GENERAL, "general.log").statements
    (slow,) = read_log(MYSQL_SLOW, "slow.log").statements
    assert slow.time_s is not None
    assert statement.time_s == slow.time_s - 3600 + 0.5


def test_an_sql_file() -> None:
    log = read_log("use shop;\nselect 1;\n-- end\nselect 2", "a.sql")
    assert log.format == "SQL file"
    assert [(each.number, each.text, each.schema) for each in log.statements] == [
        (1, "select 1", "shop"),
        (2, "select 2", "shop"),
    ]


def test_an_sql_file_is_known_by_its_first_word_too() -> None:
    assert format_of("SELECT 1;", "queries.txt") == "SQL file"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "it is empty"),
        ("2026-11-30 connection refused\n", "its lines are those of no slow log"),
        (MARIADB_SLOW.partition("use library")[0], "it is a slow log without a statement"),
        ("-- nothing\n", "it is a SQL file without a statement"),
    ],
)
def test_what_is_no_log(text: str, said: str) -> None:
    with pytest.raises(LogError, match=said):
        read_log(text, "a.sql" if said.startswith("it is a SQL") else "a.log")
