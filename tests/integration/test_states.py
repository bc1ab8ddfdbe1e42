"""A replica that stops, on real servers: named with its error, watched, and given a copy of the
source's data.
"""

import signal
import subprocess
import time

import pytest

from integration.live import BREAKS_REPLICAS, SANDBOX, live_stack, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]


def test_a_stopped_replica_is_named_watched_and_repaired() -> None:
    with live_stack("mysql@9.7+replica1") as stack:
        watch = subprocess.Popen(
            [SANDBOX, "ps", "--name", stack.name, "--watch"],
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
        )
        assert watch.stdout
        first = sorted(watch.stdout.readline().split(maxsplit=1)[1].split()[:3] for _ in range(2))
        assert first == [["mysql1", "writer", "running"], ["replica1", "reader", "replicating"]]
        stack.sql("mysql1", BREAKS_REPLICAS)
        assert (
            "replica1    reader  stopped         applier, error 1032: " in watch.stdout.readline()
        )
        watch.send_signal(signal.SIGINT)
        assert watch.wait(20) == 0
        began = time.monotonic()
        refused = sandbox("heal", "--name", stack.name, check=False)
        assert refused.returncode == 4 and time.monotonic() - began < 20
        what, known, step = refused.stderr.splitlines()[-3:]
        assert (
            what.startswith("replica1 is stopped: applier, error 1032: Worker ")
            and "Can't find record in 'c'" in what
        )
        assert (
            known == "it does not come back by itself"
            and f"make heal NAME={stack.name} REPAIR=1" in step
        )
        assert (
            f"replica1: make heal NAME={stack.name} REPAIR=1 repairs it"
            in sandbox("ps", "-n", stack.name).stdout
        )
        repaired = sandbox("heal", "--name", stack.name, "--repair").stdout
        assert (
            "repaired: replica1 was stopped: its data is a clone of mysql1's; every node is ready"
            in repaired
        )
        assert stack.sql("replica1", "select id from sbtest.c") == "3"
        assert stack.roles() == {"mysql1": "writer", "replica1": "reader"}


@pytest.mark.long
@pytest.mark.parametrize("series", ["10.5", "11.8"])
def test_an_old_source_of_mariadb_with_a_history_of_its_own_gets_a_copy(series: str) -> None:
    with live_stack(f"mariadb@{series}+replica1") as stack:
        stack.sql("replica1", "stop slave; reset slave all; set global read_only = 0")
        stack.sql(
            "mariadb1", "create table sbtest.nobody_else_has (id int); set global read_only = 1"
        )
        stack.sql("replica1", "create table sbtest.kept (id int primary key, data blob)")
        stack.sql("replica1", "insert into sbtest.kept values (7, x'00275C0AFF')")
        repaired = sandbox("heal", "--name", stack.name, "--repair").stdout
        assert (
            "its data is a copy of replica1's; given up: what mariadb1 alone holds; every"
            in repaired
        )
        assert stack.sql("mariadb1", "select id, hex(data) from sbtest.kept") == "7\t00275C0AFF"
        assert stack.sql("mariadb1", "show tables in sbtest") == "kept"
        assert stack.roles() == {"mariadb1": "reader", "replica1": "writer"}
