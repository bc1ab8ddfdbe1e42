"""SQL as text: kinds, one line, fingerprints, statements of a file."""

import pytest

from sandbox.upgrade.sql_text import fingerprint, kind_of, on_one_line, statements_in


@pytest.mark.parametrize(
    ("sql", "kind"),
    [
        ("select 1", "read"),
        ("/* by hand */ (SELECT 1) union select 2", "read"),
        ("with a as (select 1) select * from a", "read"),
        ("-- first\nupdate t set a = 1", "write"),
        ("START TRANSACTION READ ONLY", "begin"),
        ("begin", "begin"),
        ("rollback", "end"),
        ("ROLLBACK TO SAVEPOINT a", "other"),
        ("set names utf8mb4", "set"),
        ("create table t (a int)", "definition"),
        ("show tables", "other"),
        ("/* nothing */", "other"),
    ],
)
def test_the_kind_of_a_statement(sql: str, kind: str) -> None:
    assert kind_of(sql) == kind


def test_one_line_keeps_strings_and_what_is_executed() -> None:
    sql = "select 'a  --b\n;'  -- note\n  , /* x */ /*+ NO_ICP(t) */ b\nfrom `my  t` # end\n;"
    assert on_one_line(sql) == "select 'a  --b\n;' , /*+ NO_ICP(t) */ b from `my  t`"


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("select a from t where b = 1", "SELECT  a FROM t WHERE b=-22.5e3 -- x"),
        ("select a from t where b in (1, 2, 3)", "select a from t where b in ('x')"),
        ("insert into t values (1, 'a')", "insert into t values (2,'b'), (3, null)"),
        ("select 0xFF", "select 'it''s'"),
    ],
)
def test_statements_that_differ_in_values_are_alike(first: str, second: str) -> None:
    assert fingerprint(first) == fingerprint(second)


def test_names_with_digits_are_no_values() -> None:
    assert fingerprint("select c1 from t2 where t2.id = 7") == "select c1 from t2 where t2.id=?"
    assert fingerprint("select a - 1") == "select a - ?"


def test_statements_of_a_file() -> None:
    text = """-- a dump
/*!40101 SET NAMES utf8mb4 */;
create table t (a varchar(9) default ';'); # one
DELIMITER $$
create procedure p() begin select 1; select 2; end$$
delimiter ;
insert into t values ('a;b')
"""
    assert list(statements_in(text)) == [
        (2, "/*!40101 SET NAMES utf8mb4 */"),
        (3, "create table t (a varchar(9) default ';')"),
        (5, "create procedure p() begin select 1; select 2; end"),
        (7, "insert into t values ('a;b')"),
    ]
