"""A command that is ended from outside has the time to save; several signals at once are one."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

SAVING = """
import sys, time
from pathlib import Path
from types import SimpleNamespace
from sandbox.core import interruptions

def clock():
    return float(Path(sys.argv[1]).read_text())

interruptions.time = SimpleNamespace(monotonic=clock)
interruptions.begin()
try:
    print("ready", flush=True)
    time.sleep(60)
except KeyboardInterrupt:
    print("saved at", clock(), flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        print("at once", flush=True)
"""


@pytest.fixture
def clock(tmp_path: Path) -> Path:
    """What the process takes for the time, in s."""
    file = tmp_path / "clock"
    file.write_text("0")
    return file


def started(clock: Path, hangup: str = "DFL") -> "subprocess.Popen[str]":
    """A process that has its handlers; ``hangup``: what it inherits, however these tests run."""
    inherits = f"import signal; signal.signal(signal.SIGHUP, signal.SIG_{hangup})"
    argv = [sys.executable, "-c", f"{inherits}\n{SAVING}", str(clock)]
    process = subprocess.Popen(argv, stdout=subprocess.PIPE, text=True)
    assert process.stdout and process.stdout.readline() == "ready\n"
    return process


def set_to(clock: Path, now_s: float) -> None:
    """Moves the time; whoever reads it meanwhile sees one or the other."""
    later = clock.with_suffix(".new")
    later.write_text(str(now_s))
    later.replace(clock)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_burst_of_signals_interrupts_once_and_a_later_one_again(
    number: signal.Signals, clock: Path
) -> None:
    process = started(clock)
    assert process.stdout
    process.send_signal(number)
    assert process.stdout.readline() == "saved at 0.0\n"
    for now_s in (0.5, 0.9):
        set_to(clock, now_s)
        process.send_signal(number)
        time.sleep(0.02)
    assert process.poll() is None
    set_to(clock, 1.0)
    process.send_signal(number)
    assert process.communicate(timeout=60)[0] == "at once\n"
    assert process.returncode == 0


def test_a_signal_that_is_ignored_stays_so(clock: Path) -> None:
    """As `nohup` has it."""
    process = started(clock, hangup="IGN")
    assert process.stdout
    process.send_signal(signal.SIGHUP)
    time.sleep(0.1)
    set_to(clock, 5.0)
    process.send_signal(signal.SIGTERM)
    assert process.stdout.readline() == "saved at 5.0\n"
    set_to(clock, 6.0)
    process.send_signal(signal.SIGTERM)
    assert process.communicate(timeout=60)[0] == "at once\n"
