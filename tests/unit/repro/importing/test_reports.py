"""Texts of bug reports as drafts: which lines are SQL, of which session, with what outcome."""

from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.importing.bug_report import PastedReport
from sandbox.repro.importing.common.draft import ReproDraft, text_of
from sandbox.repro.importing.common.statements import blocks_of, prompt_of, said_in
from unit.repro.importing.made_up import as_repro, drafted, left_out, source


def said(text: str) -> list[tuple[str, str]]:
    """Session and SQL of each statement."""
    return [(each.session, each.sql) for each in said_in(blocks_of(text))]


def steps(draft: ReproDraft) -> list[dict[str, object]]:
    """The keys of its steps."""
    return [dict(step.keys) for step in draft.steps]


@pytest.mark.parametrize(
    ("line", "prompt"),
    [
        ("mysql> select 1;", ("mysql", "select 1;")),
        ("MariaDB [(none)]> begin;", ("MariaDB", "begin;")),
        ("mysql [localhost:8036] {msandbox} (test) > show tables;", ("mysql", "show tables;")),
        ("T1> commit;", ("T1", "commit;")),
        ("node2 [localhost] {root} ((none)) > select 1;", ("node2", "select 1;")),
        ("session 2> ERROR 1213 (40001): x", ("session 2", "ERROR 1213 (40001): x")),
        ("root@localhost [test]> select 1;", ("root@localhost", "select 1;")),
        ("> quoted text", None),
        ("c1 > 5", None),
        ("where a > 3", None),
    ],
)
def test_the_prompts_of_clients(line: str, prompt: tuple[str, str] | None) -> None:
    assert prompt_of(line) == prompt


FENCED = """\
# Lost update at REPEATABLE READ on MariaDB 10.6.12

We see this on 10.6.12, and not in 10.11.4. Is the write of the second session lost?

```sql
CREATE TABLE t (id INT PRIMARY KEY, v INT);  -- InnoDB
INSERT INTO t VALUES (1, 0), (2, ';');
-- Session 1
BEGIN;
SELECT v FROM t WHERE id = 1;
-- Session 2
UPDATE t SET v = 10
 WHERE id = 1;
-- Session 1
UPDATE t SET v = v + 1 WHERE id = 1;
```

The last one ends with

    ERROR 1020 (HY000): Record has changed since last read in table 't'

See MDEV-35124.
"""


def test_sessions_marked_by_comments_and_an_error_in_a_block_of_its_own(tmp_path: Path) -> None:
    draft = drafted(PastedReport, source("report.txt", FENCED))
    assert draft.title == "Lost update at REPEATABLE READ on MariaDB 10.6.12"
    assert draft.question == "Is the write of the second session lost?"
    assert draft.profile == "mariadb"
    assert draft.links == ["https://jira.mariadb.org/browse/MDEV-35124"]
    assert steps(draft) == [
        {"s1 @writer": "CREATE TABLE t (id INT PRIMARY KEY, v INT)"},
        {"s1": "INSERT INTO t VALUES (1, 0), (2, ';')"},
        {"s1": "BEGIN"},
        {"s1": "SELECT v FROM t WHERE id = 1"},
        {"s2 @writer": "UPDATE t SET v = 10\n WHERE id = 1"},
        {"s1": "UPDATE t SET v = v + 1 WHERE id = 1", "name": "seen"},
    ]
    assert draft.bug == [{"result": "seen", "error": 1020}]
    versions = (
        "Named in report.txt: 10.6.12 (line 1), 10.11.4 (line 3). VERSIONS= takes exact ones."
    )
    assert versions in draft.remarks["profile"]
    repro = as_repro(draft, tmp_path)
    assert [each.text for each in repro.expect.bug] == ["seen: error 1020"]


PROMPTS = """\
Deadlock on gap locks
mysql 8.0.36

T1> use test
Database changed
T1> begin;
Query OK, 0 rows affected (0.00 sec)
T1> select * from t where id = 5
    -> for update;
Empty set (0.00 sec)

T2> begin;
T2> select * from t where id = 6 for update;
Empty set (0.00 sec)
T1> insert into t values (5);
  -- hangs
T2> insert into t values (6);
ERROR 1213 (40001): Deadlock found when trying to get lock; try restarting transaction
T1> commit;
"""


def test_sessions_of_prompts_with_one_that_waits(tmp_path: Path) -> None:
    draft = drafted(PastedReport, source("report.txt", PROMPTS))
    assert draft.profile == "mysql"
    assert steps(draft) == [
        {"s1 @writer": "begin"},
        {"s1": "select * from t where id = 5\nfor update"},
        {"s2 @writer": "begin"},
        {"s2": "select * from t where id = 6 for update"},
        {"s1": "insert into t values (5)", "blocks": True},
        {"s2": "insert into t values (6)", "name": "seen"},
        {"ends": "s1"},
        {"s1": "commit"},
    ]
    assert draft.bug == [{"result": "seen", "error": 1213}]
    assert left_out(draft)["report.txt:4"] == "use test: sessions are in the schema repro"
    assert len(as_repro(draft, tmp_path).steps) == 8


def test_words_for_nodes_are_places() -> None:
    text = (
        "Galera loses a row\n\nnode 1:\n```\ninsert into t values (1);\n```\n"
        "node 2:\n```\nselect * from t;\n```\n"
    )
    draft = drafted(PastedReport, source("r.md", text))
    assert draft.profile == "galera3"
    assert steps(draft) == [
        {"s1 @galera1": "insert into t values (1)"},
        {"s2 @galera2": "select * from t", "name": "seen"},
    ]
    assert draft.steps[-1].remarks == ["What was wrong here? The expectations judge this step."]
    assert "does not say what came" in draft.remarks["expect"][0]


def test_words_for_a_replica() -> None:
    text = "master> insert into t values (1);\nslave> select * from t;\nBug #12345\n"
    draft = drafted(PastedReport, source("r.txt", text))
    assert draft.profile == "mysql+replica1"
    assert [next(iter(each)) for each in steps(draft)] == [
        "s_master @writer", "s_slave @replica1",
    ]  # fmt: skip
    assert draft.links == ["https://bugs.mysql.com/bug.php?id=12345"]


def test_a_server_that_was_lost_is_a_crash(tmp_path: Path) -> None:
    text = (
        "MariaDB crashes\n{code:sql}\nselect 1 from (select 2) x;\n"
        "ERROR 2013 (HY000): Lost connection to MySQL server during query\n{code}\n"
        "{noformat}\nmariadbd got signal 11 ;\nstack_bottom = 0x0\n{noformat}\n"
    )
    draft = drafted(PastedReport, source("r.txt", text))
    assert draft.bug == [{"crash @mariadb1": 11}]
    assert "no SQL was found" in left_out(draft)["r.txt:7-8"]
    assert [each.text for each in as_repro(draft, tmp_path).expect.bug] == [
        "crash @mariadb1: signal 11"
    ]


def test_options_and_procedures() -> None:
    text = (
        "A procedure\n\n```\n[mysqld]\ninnodb_lock_wait_timeout=1\nport=3307\n```\n```sql\n"
        "DELIMITER //\nCREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END //\nDELIMITER ;\n"
        "CALL p();\n/* nothing */ SHOW ENGINE INNODB STATUS\\G\n```\n"
    )
    draft = drafted(PastedReport, source("r.txt", text))
    assert draft.set == ["innodb_lock_wait_timeout=1"]
    assert [next(iter(each.values())) for each in steps(draft)] == [
        "CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", "CALL p()",
        "SHOW ENGINE INNODB STATUS",
    ]  # fmt: skip


def test_options_in_the_middle_of_a_text() -> None:
    text = (
        "It hangs.\n\nmysql> select 1;\n\nOur my.cnf:\n\n[mysqld]\ninnodb_buffer_pool_size = 24G\n"
        "max_connections = 300\nskip-name-resolve\n\nRegards, a customer\n"
    )
    draft = drafted(PastedReport, source("r.txt", text))
    assert draft.set == ["max_connections=300", "skip_name_resolve=ON"]
    assert list(left_out(draft)) == ["r.txt:8"]


def test_inline_marks_and_indented_lines() -> None:
    text = (
        "Two connections.\n\n    con1: begin;\n    con1: select 1 from t for update\n"
        "    con2: delete from t;\n"
    )
    assert said(text) == [
        ("s1", "begin"), ("s1", "select 1 from t for update"), ("s2", "delete from t"),
    ]  # fmt: skip


def test_a_schema_that_the_report_makes_is_used() -> None:
    text = "```\ncreate database d;\nuse d;\nselect 1;\n```\n"
    draft = drafted(PastedReport, source("r.txt", text))
    assert [next(iter(each.values())) for each in steps(draft)] == [
        "create database d", "use d", "select 1",
    ]  # fmt: skip


def test_a_text_without_sql_is_refused() -> None:
    with pytest.raises(SandboxError) as caught:
        drafted(PastedReport, source("mail.txt", "Please help.\nIt is slow > than before.\n"))
    assert caught.value.what == "FROM=mail.txt cannot be imported"


def test_the_text_of_a_draft_keeps_statements_as_they_stand(tmp_path: Path) -> None:
    draft = drafted(PastedReport, source("report.txt", FENCED))
    text = text_of(draft)
    assert "  - s2 @writer: |-\n      UPDATE t SET v = 10\n       WHERE id = 1\n" in text
    assert as_repro(draft, tmp_path).sessions == ["s1", "s2"]
