"""A command that is ended from outside has the time to save; several signals at once are one."""

import signal
import subprocess
import sys
import time

import pytest

SAVING = """
import sys, time
from sandbox.core import interruptions
interruptions.begin()
try:
    print("ready", flush=True)
    time.sleep(20)
except KeyboardInterrupt:
    time.sleep(0.3)
    print("saved", flush=True)
    try:
        time.sleep(20)
    except KeyboardInterrupt:
        print("at once", flush=True)
"""


def started(script: str = SAVING) -> "subprocess.Popen[str]":
    """A process that has its handlers."""
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_burst_of_signals_interrupts_once_and_a_later_one_again(number: signal.Signals) -> None:
    process = started()
    assert process.stdout
    for _ in range(3):
        process.send_signal(number)
        time.sleep(0.02)
    assert process.stdout.readline() == "saved\n"
    time.sleep(1)
    process.send_signal(number)
    assert process.communicate(timeout=10)[0] == "at once\n"
    assert process.returncode == 0


def test_a_signal_that_is_ignored_stays_so() -> None:
    """As `nohup` has it."""
    ignoring = "import signal; signal.signal(signal.SIGHUP, signal.SIG_IGN)\n"
    process = started(ignoring + SAVING)
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    assert process.poll() is None
    process.send_signal(signal.SIGTERM)
    time.sleep(1.2)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=10)[0] == "saved\nat once\n"
