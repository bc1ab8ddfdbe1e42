"""Tests whether containers of a private network reach one another by name: one connects to the other."""

import subprocess
import threading
import uuid
from dataclasses import dataclass
from types import TracebackType
from typing import Literal, Self

from sandbox.stack.engine import Docker, end_group
from sandbox.stack.inventory import helper_options
from sandbox.stack.naming import identity

_PATIENCE_S = 30.0
_LISTENER, _PORT, _LISTENING = "listener", 3306, "listening"
# It times out on its own: nothing stays behind if its parent is killed.
_LISTEN = f"""
import socket
server = socket.create_server(('', {_PORT}))
server.settimeout(60)
print('{_LISTENING}', flush=True)
server.accept()
"""
_CALL = f"import socket; socket.create_connection(('{_LISTENER}', {_PORT}), 5)"


@dataclass(frozen=True, slots=True)
class Reach:
    """The result: whether one reached the other, and the last message where it did not."""

    state: Literal["reached", "not reached", "not tried"]
    said: str = ""


class ReachProbe:
    """A context: a listener in a separate network, and a container that connects to it. All are removed on exit."""

    def __init__(self, docker: Docker, image: str | None) -> None:
        """``image`` None: the client image is missing, nothing is tested."""
        owner = identity("doctor")
        self._docker, self._image = docker, image
        self._labels = helper_options(owner)
        self._network = f"{owner.project}-reach-{uuid.uuid4().hex[:8]}"
        self._refused = ""
        self._listener: subprocess.Popen[str] | None = None

    def __enter__(self) -> Self:
        """Starts the listener."""
        if self._image is not None:
            made = self._docker.answer("network", "create", "--internal", *self._labels, self._network)
            if made.code:
                self._refused = made.stderr.strip()
            else:
                self._listener = self._docker.stream(*self._run("--network-alias", _LISTENER), "-c", _LISTEN)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._listener is None:
            return
        end_group(self._listener)
        there = self._docker.answer("ps", "--all", "--quiet", "--filter", f"network={self._network}").stdout.split()
        if there:  # a container may outlive its client
            self._docker.answer("rm", "--force", *there)
        self._docker.answer("network", "rm", self._network)

    def _run(self, *options: str) -> tuple[str, ...]:
        run = ("run", "--rm", "--network", self._network, *self._labels, "--entrypoint", "python3")
        return (*run, *options, self._image or "")

    def found(self) -> Reach:
        """Waits for the listener, then connects to it once."""
        if self._listener is None:
            return Reach("not reached", self._refused) if self._refused else Reach("not tried")
        said = self._first_line(self._listener)
        if said != _LISTENING:
            return Reach("not reached", said or "the listening container did not start")
        try:
            called = self._docker.answer(*self._run(), "-c", _CALL, timeout_s=_PATIENCE_S)
        except TimeoutError as late:
            return Reach("not reached", str(late))
        return Reach("not reached", called.stderr.strip().rpartition("\n")[2]) if called.code else Reach("reached")

    @staticmethod
    def _first_line(process: "subprocess.Popen[str]") -> str:
        """Its first line; empty where it ends, or is ended, without output."""
        bound = threading.Timer(_PATIENCE_S, end_group, [process])
        bound.start()
        try:
            return next(iter(process.stdout or ()), "").strip()
        finally:
            bound.cancel()
