"""Commands that stay under way: here processes of this machine in place of ones in a node."""

import os
import signal
import subprocess
import sys
from collections.abc import Sequence

import pytest

from sandbox.stack.client_python import SqlSession
from sandbox.stack.engine import CommandStream

ECHO = (
    "import os, sys\nfor line in sys.stdin: print('\\x1e' + f'{os.getpid()} {line.strip()}',"
    " flush=True)"
)
WARNS = "import sys\nfor line in sys.stdin: print('a warning\\n\\x1eyes', flush=True)"
FAILS = "import sys\nprint('first', flush=True)\nsys.exit('no such table')"
SILENT = "import sys\nfor line in sys.stdin: pass"


class Machine:
    """Begins Python programs, and knows how many."""

    def __init__(self) -> None:
        self.begun: list[subprocess.Popen[str]] = []

    def session(self, program: str) -> SqlSession:
        """A session of a Python program."""
        return SqlSession(lambda: self._begin([sys.executable, "-c", program]))

    def _begin(self, argv: Sequence[str]) -> CommandStream:
        """A program with pipes, as `Docker.stream` opens them."""
        process = subprocess.Popen(
            argv,
            text=True,
            process_group=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        self.begun.append(process)
        return CommandStream(process)


@pytest.fixture
def machine() -> Machine:
    """Nothing begun yet."""
    return Machine()


def ask(session: SqlSession, line: str = "?", timeout_s: float = 10.0) -> tuple[int, str]:
    """Exit code and answer."""
    result = session.ask(line, timeout_s)
    return result.code, result.stdout or result.stderr


def test_the_same_command_answers_again(machine: Machine) -> None:
    session = machine.session(ECHO)
    (one, first), (two, second) = ask(session, "a"), ask(session, "b")
    pid = str(machine.begun[0].pid)
    assert (one, first, two, second) == (0, f"{pid} a", 0, f"{pid} b")
    assert len(machine.begun) == 1


def test_what_is_no_answer_is_passed_over(machine: Machine) -> None:
    assert ask(machine.session(WARNS)) == (0, "yes")


def test_a_command_that_ends_tells_how(machine: Machine) -> None:
    assert ask(machine.session(FAILS)) == (1, "first\nno such table")


def test_one_that_ended_since_is_begun_again(machine: Machine) -> None:
    session = machine.session(ECHO)
    ask(session)
    os.killpg(machine.begun[0].pid, signal.SIGKILL)
    machine.begun[0].wait()
    assert ask(session, "c") == (0, f"{machine.begun[1].pid} c")


def test_no_answer_in_time_ends_it_so_that_a_late_one_is_not_taken_for_the_next(
    machine: Machine,
) -> None:
    session = machine.session(SILENT)
    with pytest.raises(TimeoutError):
        ask(session, timeout_s=0.3)
    assert machine.begun[0].poll() is not None


def test_its_input_ends_with_whoever_asked(machine: Machine) -> None:
    session = machine.session(ECHO)
    ask(session)
    (process,) = machine.begun
    assert process.stdin
    process.stdin.close()  # as the end of this process would
    assert process.wait(10) == 0
