"""Runs a .test file with the servers' own mysqltest, in a container beside the first server; one
beside each of the others has the same ports.
"""

import base64
import io
import tarfile
import threading
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from sandbox.core.errors import SandboxError
from sandbox.profile.reader import load_library
from sandbox.repro.mysqltest import (
    IMAGES,
    image_for,
    place_of,
    set_up,
    sourced,
    suite_of,
    take_back,
)
from sandbox.repro.step import Stage, StepError
from sandbox.stack.client_python import ask, end_stream, targets_of
from sandbox.stack.protocol import StackNode, Stream

_PROGRAM = files(f"{__package__}.in_client").joinpath("mysqltest.sh").read_text(encoding="utf-8")
_READY = "ready"
_READY_S = 30.0
_END_S = 5.0
_SETUP_S = 30.0
_WEIGHT = 1.0


def image_of(family: str, version: str) -> str:
    """The image with mysqltest for a server of this family and version, as `stream_beside` takes
    it.
    """
    image = load_library().catalog.image(IMAGES[family])
    return image_for(family, version, list(image.series))


@dataclass(frozen=True, slots=True)
class Mysqltest:
    """A test on this machine's disk. ``variables``: further ones of its environment."""

    path: Path
    result: Path | None
    variables: Mapping[str, str]
    limit_s: float

    @property
    def place(self) -> str:
        """Its place below the folder of the suites."""
        return place_of(self.path.as_posix())

    @property
    def suite(self) -> str:
        """The folder of its suite; empty: it has none."""
        text = self.path.read_text(encoding="utf-8", errors="replace")
        return suite_of(self.place, text) or ""

    def archive(self) -> str:
        """The test, its result, and what it sources from its own folder: tar.gz in base64."""
        packed = io.BytesIO()
        with tarfile.open(fileobj=packed, mode="w:gz") as archive:
            archive.add(self.path, self.place)
            if self.result is not None:
                archive.add(self.result, f"{self.place}.result")
            for name in self._own_includes():
                # As mysqltest finds it: below the folder of the suites, or beside the test.
                beside = self.place.rpartition("/")[0]
                for place in {name, f"{beside}/{name}".lstrip("/")}:
                    archive.add(self.path.parent / name, place)
        return base64.b64encode(packed.getvalue()).decode("ascii")

    def _own_includes(self) -> list[str]:
        found: list[str] = []
        to_read = [self.path]
        for path in to_read:  # grows while it is read
            for name in sourced(path.read_text(encoding="utf-8", errors="replace")):
                own = self.path.parent / name
                if name not in found and own.is_file() and ".." not in name:
                    found.append(name)
                    to_read.append(own)
        return found


class _ProgramBeside:
    """The program of a container beside a server: its lines, kept as they come."""

    def __init__(self, stream: Stream) -> None:
        self.stream = stream
        self.lines: list[str] = []
        self._is_ready = threading.Event()
        self.ended = threading.Event()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in self.stream.lines():
            if line == _READY and not self._is_ready.is_set():
                self._is_ready.set()
            else:
                self.lines.append(line)
        self.ended.set()
        self._is_ready.set()

    def wait_until_ready(self, server: str) -> None:
        """Returns once its ports are open. Raises StepError where it does not get there."""
        self._is_ready.wait(_READY_S)
        if self.ended.is_set() or not self._is_ready.is_set():
            why = self.lines[-1] if self.lines else "it printed nothing"
            raise StepError(f"the container of mysqltest beside {server} does not start: {why}")

    def close(self) -> None:
        """Ends it, if it still runs."""
        end_stream(self.stream, _END_S)


def run_test(
    stage: Stage, servers: Sequence[StackNode], test: Mysqltest
) -> tuple[int | None, list[str]]:
    """Runs a test: the exit code, None where it did not end in time, and the lines that it printed.

    Server 1 of the test is the first of ``servers``. Raises StepError where it cannot begin.
    """
    first = servers[0]
    family = first.family or "mysql"
    image = image_of(family, _version_of(stage, first))
    addresses = [_address(stage, server) for server in servers]
    names = " ".join(f"{server.host}:{server.port}" for server in servers)
    given = [f"{name}={value}" for name, value in test.variables.items()]
    result = f"{test.place}.result" if test.result else ""
    with ExitStack() as closing:
        closing.callback(_take_back, stage, servers, family, addresses)
        _set_up(stage, servers, family, addresses)
        programs = []
        for server in servers:
            words = [names]
            if server is first:
                words += [test.place, result, test.suite, *given]
            argv = ["bash", "-c", _PROGRAM, "mysqltest", *words]
            program = _ProgramBeside(stage.stack.stream_beside(server.name, image, argv, _WEIGHT))
            closing.callback(program.close)
            programs.append(program)
        for server, program in zip(servers, programs, strict=True):
            program.wait_until_ready(server.name)
        own = programs[0]
        packed = test.archive()
        own.stream.send(str(len(packed)))
        own.stream.send(packed)
        if not own.ended.wait(test.limit_s):
            return None, own.lines
        return own.stream.wait(_END_S), own.lines


def _version_of(stage: Stage, server: StackNode) -> str:
    answer = ask(stage.stack, stage.client, targets_of([server]), ["select version()"])[server.name]
    if not answer.rows(0):
        raise StepError(f"{server.name} does not answer: {answer.error}")
    return str(answer.rows(0)[0][0])


def _address(stage: Stage, server: StackNode) -> str:
    if not server.has_container:
        raise StepError(f"mysqltest runs beside a server, and {server.name} has no container")
    address = stage.stack.control(server.name).address()
    if address is None:
        raise StepError(f"{server.name} is not connected to the stack's network")
    return address


def _set_up(
    stage: Stage, servers: Sequence[StackNode], family: str, addresses: Sequence[str]
) -> None:
    statements = set_up(family, servers[0].topology, addresses)
    answers = ask(stage.stack, stage.client, targets_of(servers), statements, _SETUP_S)
    for name, answer in answers.items():
        if answer.error:
            raise StepError(f"{name} cannot be prepared for mysqltest: {answer.error}")


def _take_back(
    stage: Stage, servers: Sequence[StackNode], family: str, addresses: Sequence[str]
) -> None:
    """A server that does not answer keeps them: its stack is restored, not reset."""
    statements = take_back(family, servers[0].topology, addresses)
    with suppress(SandboxError, TimeoutError):
        ask(stage.stack, stage.client, targets_of(servers), statements, _SETUP_S)
