"""The life of a helper beside a node: its script runs for real, without a container."""

import signal
import subprocess
import time

from sandbox.stack.control import living

LIFE_S = 1.0


def begun(life_s: float) -> "subprocess.Popen[bytes]":
    """A helper whose traps are set."""
    script = living(life_s).replace("while", "echo; exec >/dev/null\nwhile", 1)
    process = subprocess.Popen(["bash", "-c", script], stdout=subprocess.PIPE)
    assert process.stdout
    process.stdout.readline()
    return process


def test_it_ends_by_itself_where_nobody_removes_it() -> None:
    assert begun(0.05).wait(10) == 0


def test_each_use_prolongs_its_life() -> None:
    began = time.monotonic()
    with begun(LIFE_S) as helper:
        time.sleep(LIFE_S / 2)
        helper.send_signal(signal.SIGUSR1)
        assert helper.wait(10) == 0
    assert time.monotonic() - began >= 1.5 * LIFE_S


def test_it_ends_at_once_where_it_is_told_to() -> None:
    with begun(600) as helper:
        helper.send_signal(signal.SIGTERM)
        assert helper.wait(60) == 0
