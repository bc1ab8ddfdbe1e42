"""Two configurations: as they are typed or stand in files, where they differ, what is between."""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.repro.settings import (
    OF_THE_STACK,
    between,
    configuration_in,
    configuration_of,
    differences,
)

FILE = """\
# a customer's
[client]
port = 3307
[mysqld]
datadir = /data/mysql
innodb-buffer-pool-size = 1G   # of 8
skip-name-resolve
init_connect = 'SET a = 1'
loose_innodb_snapshot_isolation=OFF
[mysqldump]
quick
[mariadb-10.11]
sql_mode=
"""


def test_the_sections_for_servers_are_read_without_what_the_stack_decides() -> None:
    assert configuration_in("my.cnf", FILE) == {
        (None, "innodb_buffer_pool_size"): "1G",
        (None, "skip_name_resolve"): "ON",
        (None, "init_connect"): "SET a = 1",
        (None, "innodb_snapshot_isolation"): "OFF",
        (None, "sql_mode"): "",
    }
    assert "datadir" in OF_THE_STACK


def test_a_line_that_is_no_option_is_named() -> None:
    with pytest.raises(SandboxError) as refused:
        configuration_in("my.cnf", "[mysqld]\n!includedir /etc/my.cnf.d\n")
    assert refused.value.what == "my.cnf, line 2: '!includedir /etc/my.cnf.d' is no option"


def test_only_variables_that_differ_are_parts() -> None:
    good = configuration_of("a=1 b=2 replica:c=3")
    bad = configuration_of("b=2 a=2 d='x y'")
    found = differences(good, bad)
    assert [each.text for each in found] == [
        "a=2, with GOOD 1",
        "d=x y, with GOOD not set",
        "replica:c=not set, with GOOD 3",
    ]


def test_what_is_between_is_as_set_takes_it() -> None:
    good = configuration_of("a=1 b=2 replica:c=3")
    bad = configuration_of("b=2 a=2 d='x y'")
    parts = differences(good, bad)
    assert configuration_of(" ".join(between(good, parts, []))) == good
    assert configuration_of(" ".join(between(good, parts, parts))) == bad
    assert between(good, parts, parts[1:2]) == ["a=1", "b=2", "replica:c=3", "'d=x y'"]


def test_configurations_that_are_alike_are_refused() -> None:
    with pytest.raises(SandboxError, match="GOOD and BAD set the same"):
        differences(configuration_of("a-b=1"), configuration_of("loose_a_b=1"))
