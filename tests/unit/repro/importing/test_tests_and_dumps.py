"""Tests of the servers' suites, and dumps, as drafts."""

from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.importing.common.draft import text_of
from sandbox.repro.importing.mtr_test import MtrTest
from sandbox.repro.importing.mydumper_folder import MydumperFolder
from sandbox.repro.importing.suite_folder import SuiteFolder
from sandbox.repro.steps.mysqltest import MysqltestStep
from unit.repro.importing.made_up import as_repro, drafted, left_out, source

SUITE = "mysql-test/suite/galera/t/x.test"
OF_SUITE = {
    "x.cnf": "!include ../galera_2nodes.cnf\n[mysqld]\nwsrep_slave_threads=2\n",
    "../galera_2nodes.cnf": (
        "!include include/default_mysqld.cnf\n[mysqld]\nloose-innodb\nbinlog-format=row\n"
        "wsrep-provider=@ENV.WSREP_PROVIDER\n[mysqld.2]\nwsrep_sync_wait=15\n#port=@OPT.port\n"
        "[ENV]\nNODE_MYPORT_1= @mysqld.1.port\n"
    ),
    "../../../include/default_mysqld.cnf": (
        "[mysqld]\ncharacter-set-server= latin1\nkey_buffer_size= 1M\n"
    ),
    "x-master.opt": "--log-bin-trust-function-creators=1 --innodb_lock_wait_timeout=2\n",
}


def test_a_test_of_galera_becomes_a_step_with_the_suites_settings(tmp_path: Path) -> None:
    text = "--source include/galera_cluster.inc\nCREATE TABLE t1 (id INT);\n"
    path = tmp_path / "x.test"
    path.write_text(text)
    draft = drafted(MtrTest, source(str(path), text, OF_SUITE))
    assert draft.profile == "galera2"
    assert draft.set == [
        "character_set_server=latin1",
        "binlog_format=row",
        "galera2:wsrep_sync_wait=15",
        "wsrep_slave_threads=2",
        "galera1:log_bin_trust_function_creators=1",
        "galera1:innodb_lock_wait_timeout=2",
        "collation_server=latin1_swedish_ci",
    ]
    assert [each.what for each in draft.left] == ["wsrep-provider=@ENV.WSREP_PROVIDER"]
    repro = as_repro(draft, tmp_path)
    (step,) = repro.steps
    assert isinstance(step, MysqltestStep) and step.path == str(path)
    assert repro.affected == {"mariadb": []}


@pytest.mark.parametrize(
    ("text", "profile"),
    [
        ("--source include/galera_cluster_3nodes.inc\n", "galera3"),
        ("--let $galera_cluster_size = 3\n--source include/galera_cluster.inc\n", "galera3"),
        ("--source include/master-slave.inc\n# MDEV-1\n", "mariadb2"),
        ("--source include/rpl/init_source_replica.inc\n", "mysql2"),
        (
            "--let $rpl_topology= 1->2->3\n--source include/rpl_init.inc\nset gtid_slave_pos='';",
            "mariadb3",
        ),
        ("--source include/group_replication.inc\n", "gr3"),
        ("# BUG#1\nselect 1;\n", "mysql"),
        ("select 1;\n", "mariadb"),
    ],
)
def test_the_profile_is_what_the_test_sources(text: str, profile: str) -> None:
    assert drafted(MtrTest, source("x.test", text)).profile == profile


def test_what_cannot_work_is_named_by_line() -> None:
    text = (
        "select 1;\n--source include/restart_mysqld.inc\n# restart_mysqld\n"
        "let $d= `select @@datadir`;\n"
    )
    left = left_out(drafted(MtrTest, source("x.test", text)))
    assert list(left) == ["x.test:2", "x.test:4"]


def test_a_suite_names_its_tests() -> None:
    names = {f"t/galera_{number}.test": "" for number in range(8)}
    with pytest.raises(SandboxError) as caught:
        drafted(SuiteFolder, source("suite/galera", None, names))
    assert "8 tests" in caught.value.known and "3 more" in caught.value.known
    assert caught.value.next_step == "try: make import FROM=suite/galera/t/galera_0.test"


def test_a_dump_is_loaded_and_a_person_says_what_happens(tmp_path: Path) -> None:
    files = {"metadata": "", "shop-schema-create.sql": "", "shop.t-schema.sql": ""}
    for name in files:
        (tmp_path / name).write_text("")
    draft = drafted(MydumperFolder, source(str(tmp_path), None, files))
    repro = as_repro(draft, tmp_path.parent)
    assert repro.load.file == str(tmp_path)
    assert [each.text for each in repro.steps] == ["s1 @writer: use `shop`", "s1: show tables"]
    assert "# A dump does not say which server it is of: say it here.\nprofile: mysql" in text_of(
        draft
    )


def test_an_unfinished_dump_is_refused() -> None:
    files = {"metadata.partial": "", "shop-schema-create.sql": ""}
    with pytest.raises(SandboxError) as caught:
        drafted(MydumperFolder, source("dump", None, files))
    assert "was not finished" in caught.value.known
