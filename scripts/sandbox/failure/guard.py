"""A process of its own that injects faults for a trial, and heals them when its input ends, however
the trial ends.
"""

import json
import os
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.core.paths import HERE
from sandbox.failure.breaker import Breaker, Breaking
from sandbox.failure.fault import FaultRequest, Injection, fault_named, refuse_unable
from sandbox.stack.beside import end_beside
from sandbox.stack.engine import Docker, PatientDocker
from sandbox.stack.inventory import containers
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import RunningStack
from sandbox.stack.stack import Stack

PATIENCE_S = 120.0
"""How long the guard may take to heal when it is closed, beyond what its faults may take."""
_ARGV = (sys.executable, "-P", "-m", "sandbox.failure.guard")
_ENDINGS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


class Guard(Breaking):
    """The guard as the trial sees it. It leads a session of its own: Ctrl-C in the terminal does
    not reach it.
    """

    def __init__(self, stack: RunningStack) -> None:
        self._stack = stack
        self._process = subprocess.Popen(
            [*_ARGV, stack.project],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
            cwd=HERE,
        )
        self._longest_s = 0.0
        self._prepared: dict[str, FaultRequest] = {}
        self._closed = False
        self._last_words: dict[str, Any] = {}

    def prepare(self, key: str, request: FaultRequest) -> None:
        """Prepares once: to look at the stack again would take time that the prober misses."""
        if self._prepared.get(key) == request:
            return
        fault = fault_named(request.fault, request.options)
        # In this process it is asked once for all trials.
        refuse_unable(self._stack.lacking, request.fault)
        self._longest_s += fault.longest_s()
        self._ask({"do": "prepare", "key": key, "request": asdict(request)})
        self._prepared[key] = request

    def inject(self, key: str) -> Injection:
        return Injection(**self._ask({"do": "inject", "key": key}))

    def heal(self, key: str) -> int:
        return int(self._ask({"do": "heal", "key": key}))

    def close(self) -> None:
        """Harmless when repeated."""
        if self._closed:
            return
        self._closed = True
        self._read_to_the_end()
        if "closed" not in self._last_words:
            raise self._ended()
        if self._last_words["closed"]:
            raise _error_from(self._last_words["closed"])

    def _ask(self, line: dict[str, Any]) -> Any:
        """The guard's answer. Raises SandboxError: what it raised there."""
        assert self._process.stdin and self._process.stdout  # noqa: S101  (both are pipes)
        try:
            self._process.stdin.write(json.dumps(line) + "\n")
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None
        answer = self._note(self._process.stdout.readline())
        if "error" in answer:
            raise _error_from(answer["error"])
        if "answer" not in answer:
            raise self._ended()
        return answer["answer"]

    def _read_to_the_end(self) -> None:
        """Ends its input and waits until it has healed all."""
        assert self._process.stdin and self._process.stdout  # noqa: S101  (both are pipes)
        late = threading.Timer(PATIENCE_S + self._longest_s, self._process.kill)
        late.start()
        try:
            with suppress(OSError):  # it has ended already
                self._process.stdin.close()
            with self._process.stdout as said:
                for line in said:
                    self._note(line)
            self._process.wait()
        finally:
            late.cancel()

    def _note(self, line: str) -> dict[str, Any]:
        """Reads a line; the last one says how it ended. Nothing where there is none, or only a part
        of one.
        """
        read: dict[str, Any] = {}
        with suppress(json.JSONDecodeError):
            read = json.loads(line)
        self._last_words = read if "closed" in read else self._last_words
        return read

    def _ended(self) -> MachineError:
        """The error of a guard that ended on its own, or did not heal in time: its injections are
        written down.
        """
        try:
            known = f"exit code {self._process.wait(timeout=5)}"
        except subprocess.TimeoutExpired:
            known = "it has closed its output"
        step = f"try: make heal{name_option(self._stack.name)}   (heals what it has left broken)"
        return MachineError("the process that injects and heals faults has ended", known, step)


def _error_from(lines: list[Any]) -> SandboxError:
    what, known, next_step, code = lines
    return SandboxError(what, known, next_step, ExitCode(code))


def _lines_of(error: SandboxError) -> list[Any]:
    return [error.what, error.known, error.next_step, int(error.exit_code)]


def serve(breaker: Breaking, line: str) -> dict[str, Any]:
    """The guard's answer to one line of its input."""
    asked = json.loads(line)
    try:
        if asked["do"] == "prepare":
            breaker.prepare(asked["key"], FaultRequest(**asked["request"]))
            return {"answer": None}
        if asked["do"] == "inject":
            return {"answer": asdict(breaker.inject(asked["key"]))}
        return {"answer": breaker.heal(asked["key"])}
    except SandboxError as error:
        return {"error": _lines_of(error)}


def main(project: str) -> None:
    """Answers line by line; heals what is broken at the end of its input and on TERM, and prints
    what it could not.
    """
    docker = PatientDocker(Docker())
    stack = Stack(containers(docker, project), docker)
    breaker = Breaker(stack, is_able=True)
    for number in _ENDINGS:
        signal.signal(number, _end)
    try:
        for line in sys.stdin:
            if json.loads(line)["do"] == "prepare":
                stack.refresh()  # an action may have given a node another container
            _say(serve(breaker, line))
    finally:
        _outlast_signals()
        left = _closed(breaker)
        _weigh_as_all(stack)
        with suppress(SandboxError):  # a driver beside the client, whose trial was killed
            end_beside(docker, containers(docker, project))
        _say({"closed": left})


def _end(*_: object) -> None:
    """Ends it at the first signal; a second one would leave an injection that is still under
    way.
    """
    _outlast_signals()
    sys.exit(0)


def _outlast_signals() -> None:
    """From here on nothing but KILL ends it; ignored, the clients would ignore the signals, too."""
    for number in _ENDINGS:
        signal.signal(number, lambda *_: None)


def _closed(breaker: Breaking) -> list[Any] | None:
    """Heals all; the lines of the error for what cannot be healed."""
    try:
        breaker.close()
    except SandboxError as error:
        return _lines_of(error)
    return None


def _weigh_as_all(stack: RunningStack) -> None:
    """Takes the precedence of the client back, which a trial that is killed cannot."""
    for node in stack.nodes():
        if node.kind == "client":
            with suppress(SandboxError):
                stack.control(node.name).weigh(1)


def _say(answer: dict[str, Any]) -> None:
    try:
        print(json.dumps(answer), flush=True)
    except (
        BrokenPipeError
    ):  # the trial was killed: nobody reads, and nothing is left to flush at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main(sys.argv[1])
