"""A replica that stops, on real servers: named with its error, watched, and given a copy of the source's data."""

import signal
import subprocess
import time

import pytest

from integration.live import BREAKS_REPLICAS, SANDBOX, live_stack, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]


def test_a_stopped_replica_is_named_watched_and_repaired() -> None:
    with live_stack("mysql@9.7+replica1") as stack:
        watch = subprocess.Popen(
            [SANDBOX, "ps", "--name", stack.name, "--watch"], stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert watch.stdout
        first = sorted(watch.stdout.readline().split(maxsplit=1)[1].split()[:3] for _ in range(2))
        assert first == [["mysql1", "writer", "running"], ["replica1", "reader", "replicating"]]
        stack.sql("mysql1", BREAKS_REPLICAS)
        assert "replica1    reader  stopped         applier, error 1032: " in watch.stdout.readline()
        watch.send_signal(signal.SIGINT)
        assert watch.wait(20) == 0
        began = time.monotonic()
        refused = sandbox("heal", "--name", stack.name, check=False)
        assert refused.returncode == 4 and time.monotonic() - began < 20
        what, known, step = refused.stderr.splitlines()[-3:]
        assert (
            what.startswith("replica1 is stopped: applier, error 1032: Worker ") and "Can't find record in 'c'" in what
        )
        assert known == "it does not come back by itself" and f"make heal NAME={stack.name} REPAIR=1" in step
        assert f"replica1: make heal NAME={stack.name} REPAIR=1 repairs it" in sandbox("ps", "-n", stack.name).stdout
        repaired = sandbox("heal", "--name", stack.name, "--repair").stdout
        assert "repaired: replica1 was stopped: its data is a clone of mysql1's; every node is ready" in repaired
        assert stack.sql("replica1", "select id from sbtest.c") == "3"
        assert stack.roles() == {"mysql1": "writer", "replica1": "reader"}
