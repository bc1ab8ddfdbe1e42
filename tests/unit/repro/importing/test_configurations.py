"""Option files, variables, summaries and Compose files as drafts, and what is left out."""

from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.importing.common.options import bytes_of, options_of_file, taken_over
from sandbox.repro.importing.compose_file import ComposeFile
from sandbox.repro.importing.mysql_summary import MysqlSummary
from sandbox.repro.importing.option_files import OptionFiles
from sandbox.repro.importing.server_variables import ServerVariables
from unit.repro.importing.made_up import KNOWN, as_repro, drafted, left_out, source

MY_CNF = """\
# of a customer
[client]
port = 3307
[mysqld]
datadir = /data/mysql
port=3307
server-id = 7
innodb_flush_log_at_trx_commit = 2   # relaxed
innodb-buffer-pool-size = 64G
max_allowed_packet = 64M
skip-name-resolve
skip-innodb_adaptive_hash_index
sql_mode = "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION"
ft_stopword_file = ''
!includedir /etc/mysql/conf.d
this is = no option
[mysqldump]
quick
"""


def test_an_option_file_becomes_variables_and_names_what_it_leaves(tmp_path: Path) -> None:
    draft = drafted(OptionFiles, source("conf/my.cnf", MY_CNF))
    assert draft.set == [
        "innodb_flush_log_at_trx_commit=2",
        "max_allowed_packet=64M",
        "skip_name_resolve=ON",
        "innodb_adaptive_hash_index=OFF",
        "sql_mode=STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION",
        "ft_stopword_file=",
    ]
    left = left_out(draft)
    assert list(left) == [
        "my.cnf:2", "my.cnf:15", "my.cnf:16", "my.cnf:17", "my.cnf:5", "my.cnf:6", "my.cnf:7",
        "my.cnf:9",
    ]  # fmt: skip
    assert "a path" in left["my.cnf:5"] and "1 GiB" in left["my.cnf:9"]
    assert as_repro(draft, tmp_path).profile == "mysql"


def test_a_folder_of_option_files_is_read_in_the_order_of_names() -> None:
    files = {
        "50-server.cnf": "[mariadb]\nmax_connections=10\naria_pagecache_buffer_size=8M\n",
        "60-mine.cnf": "[mariadb-10.11]\nmax-connections=20\n",
        "README": "",
    }
    draft = drafted(OptionFiles, source("conf.d", None, files))
    assert draft.profile == "mariadb"
    assert draft.set == ["max-connections=20".replace("-", "_"), "aria_pagecache_buffer_size=8M"]


def test_a_cluster_has_as_many_members_as_its_address_names() -> None:
    text = (
        "[galera]\nwsrep_on=ON\nwsrep_provider=/usr/lib/galera/libgalera_smm.so\n"
        "wsrep_cluster_address=gcomm://a,b\nwsrep_slave_threads=8\n"
        'wsrep_provider_options="gcache.size=512M; gmcast.listen_addr=tcp://0.0.0.0:4567"\n'
    )
    draft = drafted(OptionFiles, source("galera.cnf", text))
    assert draft.profile == "galera2"
    assert draft.set == ["wsrep_slave_threads=8", "wsrep_provider_options=gcache.size=512M"]


def test_an_option_that_the_version_does_not_have_is_left_out() -> None:
    options, _ = options_of_file("[mysqld]\nquery_cache_size=1M\nloose_x=1\ny=1\n", "my.cnf")
    settings, left = taken_over(options, "mysql", {"y": None})
    assert settings == ["loose_x=1", "y=1"]
    assert [each.what for each in left] == ["query_cache_size=1M"]


def test_options_of_one_server_are_for_its_node() -> None:
    options, _ = options_of_file("[mysqld.2]\nlog-slave-updates\n[mysqld1]\na=b c\n", "my.cnf")
    settings, _ = taken_over(options, "galera")
    assert settings == ["galera2:log_slave_updates=ON", "'galera1:a=b c'"]


@pytest.mark.parametrize(("text", "size"), [("64G", 64 << 30), ("8", 8), ("1M", 1 << 20)])
def test_amounts(text: str, size: int) -> None:
    assert bytes_of(text) == size
    assert bytes_of("ON") is None


NAMES = [
    ("version", "10.11.18-MariaDB-log"),
    ("version_comment", "Debian 12"),
    ("datadir", "/var/lib/mysql/"),
    ("max_connections", "151"),
    ("innodb_snapshot_isolation", "ON"),
    ("sync_binlog", "1"),
    ("long_query_time", "2.000000"),
    ("hostname", "db1"),
    ("server_id", "3"),
    ("innodb_version", "10.11.18"),
    ("sql_mode", ""),
    ("tx_isolation", "READ-COMMITTED"),
    ("optimizer_switch", "mrr=on,mrr_sort_keys=off,semijoin=on"),
    ("back_log", "150"),
    ("performance_schema_digests_size", "10000"),
]
DEFAULTS = {
    "max_connections": "151",
    "innodb_snapshot_isolation": "FALSE",
    "sync_binlog": "0",
    "long_query_time": "2",
    "datadir": "/var/lib/mysql/",
    "server_id": "1",
    "sql_mode": "STRICT_TRANS_TABLES",
    "tx_isolation": "REPEATABLE-READ",
    "optimizer_switch": "mrr=off,mrr_sort_keys=off",
    "back_log": "80",
    "performance_schema_digests_size": "-1",
}
TAB = "Variable_name\tValue\n" + "".join(f"{name}\t{value}\n" for name, value in NAMES)
TABLE = "+---+---+\n" + "".join(f"| {name:<30} | {value:<20} |\n" for name, value in NAMES)
VERTICAL = "".join(
    f"*** {number}. row ***\nVariable_name: {name}\n        Value: {value}\n"
    for number, (name, value) in enumerate(NAMES, 1)
)


@pytest.mark.parametrize("text", [TAB, TABLE, VERTICAL])
def test_variables_that_differ_from_the_defaults_are_taken(text: str, tmp_path: Path) -> None:
    known = replace(KNOWN, defaults=lambda term: {"mariadb@10.11.18": DEFAULTS}.get(term))
    draft = drafted(ServerVariables, source("vars.txt", text), known)
    assert draft.profile == "mariadb@10.11.18"
    assert draft.set == [
        "innodb_snapshot_isolation=ON", "sync_binlog=1", "tx_isolation=READ-COMMITTED",
        "optimizer_switch=mrr=on",
    ]  # fmt: skip
    assert ["server_id" in each.what for each in draft.left] == [True]
    assert as_repro(draft, tmp_path).profile == "mariadb@10.11.18"


def test_without_an_image_all_that_can_be_set_is_taken() -> None:
    draft = drafted(ServerVariables, source("vars.txt", TAB))
    names = [each.partition("=")[0] for each in draft.set]
    assert names == [
        "max_connections", "innodb_snapshot_isolation", "sync_binlog", "long_query_time",
        "tx_isolation", "optimizer_switch", "performance_schema_digests_size",
    ]  # fmt: skip
    assert "its defaults are not known" in " ".join(draft.remarks["set"])


def test_a_series_that_is_not_here_is_named() -> None:
    text = TAB.replace("10.11.18-MariaDB-log", "10.3.39-MariaDB")
    draft = drafted(ServerVariables, source("vars.txt", text))
    assert draft.profile == "mariadb"
    assert "version 10.3.39" in left_out(draft)["vars.txt:2"]


SUMMARY = """\
# Percona Toolkit MySQL Summary Report #######################
              System time | 2026-03-30 18:46:05 UTC
# Report On Port 3306 ########################################
                     User | root@localhost
                  Version | 8.0.36-28 Percona Server (GPL), Release 28
                 Built On | Linux x86_64
# Configuration File #########################################
              Config File | /etc/mysql/my.cnf
[mysqld]
sync_binlog = 0
datadir = /var/lib/mysql
# Memory management library ##################################
# The End ####################################################
# Percona Toolkit System Summary Report ######################
# Processor ##################################################
  Processors | physical = 1, cores = 4, virtual = 8, hyperthreading = yes
# Memory #####################################################
       Total | 31.2G
"""


def test_a_summary_has_version_options_and_machine(tmp_path: Path) -> None:
    draft = drafted(MysqlSummary, source("sum.txt", SUMMARY))
    assert draft.profile == "ps@8.0.36-28"
    assert draft.set == ["sync_binlog=0"]
    assert draft.remarks["profile"] == ["There the machine had memory 31.2G, 8 processors."]
    left = left_out(draft)
    assert "datadir" in left["sum.txt:11"] and "31.2G" in left["sum.txt:18"]
    assert as_repro(draft, tmp_path).profile == "ps@8.0.36-28"


def test_a_summary_of_a_machine_alone_is_refused() -> None:
    text = SUMMARY[SUMMARY.index("# Percona Toolkit System") :]
    with pytest.raises(SandboxError, match=r"FROM=sum\.txt cannot be imported"):
        drafted(MysqlSummary, source("sum.txt", text))


COMPOSE = """\
services:
  db1: &db
    image: mariadb:10.11.18
    command: --max-connections=900 --binlog-format=ROW --datadir=/x
    environment: {MARIADB_ROOT_PASSWORD: secret}
    volumes: ["./init.sql:/docker-entrypoint-initdb.d/init.sql", "./my.cnf:/etc/mysql/my.cnf"]
    mem_limit: 512M
  db2:
    image: docker.io/library/mariadb:10.11.18
    command: ["mariadbd", "--max-connections=900", "--log-bin-trust-function-creators"]
  lb:
    image: haproxy:2.8
  app:
    build: .
"""


def test_a_compose_file_becomes_a_profile(tmp_path: Path) -> None:
    files = {"my.cnf": "[mysqld]\nsync_binlog=0\n", "init.sql": "select 1"}
    (tmp_path / "init.sql").write_text("select 1")
    given = source(f"{tmp_path}/compose.yaml", COMPOSE, files)
    draft = drafted(ComposeFile, given)
    assert draft.profile == "mariadb2@10.11.18+haproxy"
    assert draft.set == [
        "max_connections=900",
        "mariadb1:binlog_format=ROW",
        "mariadb1:sync_binlog=0",
        "mariadb2:log_bin_trust_function_creators=ON",
    ]
    assert draft.load == {"file": f"{tmp_path}/init.sql"} and draft.memory == "512m"
    left = " ".join(each.text for each in draft.left)
    for part in ("service app (built)", "version 2.8", "datadir=/x", "environment"):
        assert part in left
    assert as_repro(draft, tmp_path).memory == "512m"


def test_a_compose_file_of_a_cluster() -> None:
    member = "{image: 'percona/percona-xtradb-cluster:8.0.36-28.1'}"
    text = f"services:\n  a: {member}\n  b: {member}\n  c: {member}\n"
    assert drafted(ComposeFile, source("compose.yaml", text)).profile == "pxc3@8.0.36-28.1"


def test_a_compose_file_without_a_server_is_refused() -> None:
    with pytest.raises(SandboxError, match="cannot be imported"):
        drafted(ComposeFile, source("c.yaml", "services:\n  web: {image: nginx}\n"))
