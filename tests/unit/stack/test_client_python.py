"""A load ends when it is done, when its time is over, and when we are gone; tried with this
machine's own shell.
"""

import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sandbox.stack import client_python
from sandbox.stack.client_python import TIMED_OUT, run_load
from sandbox.stack.protocol import Stream
from unit.fake_stack import FakeStack

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="the client node's `timeout` is not on this machine"
)


class LocalStream:
    """A command on this machine, as the stack would run it in a node."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def lines(self) -> Iterator[str]:
        assert self.process.stdout
        for line in self.process.stdout:
            yield line.rstrip("\n")

    def send(self, line: str) -> None:
        raise AssertionError("a load is sent nothing once it is under way")

    def close_stdin(self) -> None:
        assert self.process.stdin
        self.process.stdin.close()

    def wait(self, timeout_s: float) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired as error:
            raise TimeoutError from error

    def kill(self) -> None:
        self.process.kill()


class LocalStack(FakeStack):
    """Runs what is streamed on this machine."""

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        self.local = LocalStream(argv)
        return self.local


def load(
    tmp_path: Path, script: str, on_line: Callable[[str], None] = print, seconds: int = 5
) -> int:
    """Runs a shell script as a load."""
    return run_load(
        LocalStack(), "client1", ["sh", "-c", script], seconds, tmp_path / "load.log", on_line
    )


def test_lines_and_exit_code_come_through(tmp_path: Path) -> None:
    lines: list[str] = []
    assert load(tmp_path, "echo one; echo two >&2; exit 3", lines.append) == 3
    assert lines == ["one", "two"]
    assert (tmp_path / "load.log").read_text() == "one\ntwo\n"


def test_a_load_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_python, "OVERTIME_S", 0.2)
    mark = tmp_path / "slept"
    assert load(tmp_path, f"sleep 60; touch {mark}", seconds=0) == TIMED_OUT
    assert not mark.exists()


def test_an_interrupt_ends_the_load_before_it_goes_on(tmp_path: Path) -> None:
    def interrupt(line: str) -> None:
        raise KeyboardInterrupt

    mark = tmp_path / "ended"
    with pytest.raises(KeyboardInterrupt):
        load(
            tmp_path,
            f"trap 'echo > {mark}; exit 1' TERM; echo begun; while :; do sleep 0.1; done",
            interrupt,
        )
    assert mark.exists()


_FAMILY = """
import multiprocessing, os, time
context = multiprocessing.get_context("fork")
children = [context.Process(target=time.sleep, args=(60,)) for _ in range(3)]
for child in children: child.start()
print(*(child.pid for child in children), flush=True)
time.sleep(60)
"""


def test_a_load_of_several_processes_is_ended_as_a_whole(tmp_path: Path) -> None:
    children: list[int] = []

    def interrupt(line: str) -> None:
        children.extend(map(int, line.split()))
        raise KeyboardInterrupt

    argv = [sys.executable, "-c", _FAMILY]
    with pytest.raises(KeyboardInterrupt):
        run_load(LocalStack(), "client1", argv, 60, tmp_path / "load.log", interrupt)
    assert len(children) == 3
    deadline = time.monotonic() + 10
    while any(map(_lives, children)):
        assert time.monotonic() < deadline, "a process of the load was left behind"
        time.sleep(0.05)


def _lives(pid: int) -> bool:
    """Whether a process runs: one that nobody has buried yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_the_load_ends_when_its_runner_is_gone(tmp_path: Path) -> None:
    """A killed runner closes the load's input, which is all that this does."""
    stream = LocalStream(
        ["sh", "-c", client_python._SUPERVISOR, "load", "30", "sh", "-c", "echo begun; sleep 30"]
    )
    assert next(stream.lines()) == "begun"
    stream.close_stdin()
    assert stream.wait(5) != 0
