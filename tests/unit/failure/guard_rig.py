"""A stack and a breaker for the process of a guard, which imports little else."""

import os
import signal
import time
from pathlib import Path

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.breaker import _outcomes
from sandbox.failure.fault import FaultRequest, Injection
from sandbox.stack.protocol import StackNode
from unit.failure.faults.recording_node import RecordingNode

SERVER = StackNode(
    name="mysql1",
    term="mysql@9.7",
    component="mysql",
    kind="database",
    group_index=1,
    family="mysql",
    host="mysql1",
    port=3306,
)
CLIENT = StackNode(
    name="client1",
    term="client",
    component="client",
    kind="client",
    group_index=None,
    family=None,
    host="client1",
    port=None,
)
OUTLASTED = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
NOT_HEALED = MachineError("not healed: hang on mysql1", "mysql1: no such device", "try: make heal")


class FoundStack:
    """A stack that is only looked for."""

    def __init__(self, *_: object) -> None:
        self.looks = 0
        self.weighed: list[str] = []

    def nodes(self) -> list[StackNode]:
        """A server and the client."""
        return [SERVER, CLIENT]

    def control(self, node: str) -> RecordingNode:
        """What remembers its weight, and then finds no engine."""
        gone = MachineError("the Docker engine does not answer", "-", "try: make doctor")
        return RecordingNode(
            node, log=self.weighed, refuses={"weigh": gone} if self.weighed else {}
        )

    def refresh(self) -> None:
        self.looks += 1


class FakeBreaker:
    """Writes down what it is asked, in a file; the key says what happens."""

    def __init__(self, log: str) -> None:
        self.log = Path(log)
        self.heals = True

    def _note(self, text: str) -> None:
        with self.log.open("a") as file:
            file.write(f"{text}\n")

    def prepare(self, key: str, request: FaultRequest) -> None:
        """Prepares."""
        self._note(
            f"prepare {key} {request.fault} {request.options.get('what', '-')}"
            f" {' '.join(request.nodes)}"
        )
        if key == "refused":
            raise SandboxError("no such target", "known: writer", "try: make ps", ExitCode.UNKNOWN)

    def inject(self, key: str) -> Injection:
        """Injects."""
        self._note(f"inject {key}")
        if key == "slow":
            time.sleep(0.5)
        if key == "outlasts":
            _outcomes(self._outlast, [key])
        if key == "bug":
            raise RuntimeError("a bug")
        if key == "vanishes":
            os.kill(os.getpid(), signal.SIGKILL)
        return Injection(1, 2, {"mysql1": "it runs"})

    def _outlast(self, _: str) -> None:
        for number in OUTLASTED:
            self._note(str(number.value))
            sent = Path(f"{self.log}.sent-{number.value}")
            while not sent.exists():
                time.sleep(0.01)
        self._note("injected")

    def heal(self, key: str) -> int:
        """Heals."""
        self._note(f"heal {key}")
        self.heals = key != "stays"
        return 3

    def close(self) -> None:
        """Heals all."""
        if "hangs" in self.log.read_text():
            time.sleep(60)
        self._note("close")
        os.kill(os.getpid(), signal.SIGTERM)  # impatience does not end it before all is healed
        self._note("closed")
        if not self.heals:
            raise NOT_HEALED
