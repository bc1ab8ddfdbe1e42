"""The logs of a stack's nodes: printed as they come, or saved as files, with those that a server
writes itself.
"""

import heapq
import queue
import sys
import tarfile
import tempfile
import threading
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from sandbox.core.errors import ExitCode, MachineError
from sandbox.profile.names import DATA_DIRECTORY, Identity
from sandbox.stack.engine import CommandStream, Docker
from sandbox.stack.inventory import HELPER, Container, helper_options
from sandbox.stack.stack import Stack

_Line = tuple[str, str, str]
"""(time, node, text)"""
_OWN_LOGS = f"""
cd {DATA_DIRECTORY} || exit 0
find . -maxdepth 1 -type f '(' -name '*.err' -o -name '*.log' ')' ! -name tc.log -print0 | tar -c --null -T -
"""  # noqa: E501
"""Error, slow and general logs; of a state transfer; events that Galera could not apply
(GRA_*.log).
"""
_SYSTEM_LOGS = "/var/log"
_OF_SERVERS = ("mysql", "maria")


def print_logs(stack: Stack, node: str | None, follow: bool, tail: int | None = None) -> int:
    """Prints the log of a node, or of all with a node name before each line. Ctrl-C ends it with
    exit code 130.

    ``tail``: only the last lines of each node. Raises SandboxError (exit 2) for an unknown node.
    """
    containers = stack.members if node is None else [stack.container(node)]
    named = len(containers) > 1
    options = ["--follow"] if follow else []
    if tail is not None:
        options.append(f"--tail={tail}")
    streams = {
        each.node: stack.docker.stream("logs", "--timestamps", *options, each.id)
        for each in containers
    }
    logs_by_node = [_log_lines(node, stream) for node, stream in streams.items()]
    lines = _as_they_come(logs_by_node) if follow else heapq.merge(*logs_by_node)
    try:
        for _, name, text in lines:
            print(f"{name} | {text}" if named else text, flush=True)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, is done
        sys.stdout = None  # nothing is left to be flushed at exit
    finally:
        for stream in streams.values():
            stream.kill()
    return ExitCode.OK


def _log_lines(node: str, stream: CommandStream) -> Iterator[_Line]:
    for line in stream.lines():
        time, _, text = line.partition(" ")
        yield time, node, text


def _as_they_come(logs_by_node: Sequence[Iterator[_Line]]) -> Iterator[_Line]:
    """Lines of all logs as they arrive; each log has its own reader thread."""
    lines: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()

    def read(log: Iterator[_Line]) -> None:
        for line in log:
            lines.put(line)
        lines.put(None)

    for log in logs_by_node:
        threading.Thread(target=read, args=(log,), daemon=True).start()
    for _ in logs_by_node:
        while (line := lines.get()) is not None:
            yield line


def save_logs(
    docker: Docker, containers: Iterable[Container], helper_image: str | None, folder: Path
) -> list[Path]:
    """Saves the log of every node as ``NODE.log``, and files that a server wrote logs to under
    ``NODE/``.

    ``helper_image``: the client's, in which data directories are looked into; None: they are left
    out. Returns the files. Raises SandboxError (exit 4) where the folder cannot be written or the
    engine does not answer.
    """
    nodes = [each for each in containers if each.kind != HELPER]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with ThreadPoolExecutor(max_workers=4) as pool:
            saved = pool.map(lambda each: _save(docker, each, helper_image, folder), nodes)
            return [path for paths in saved for path in paths]
    except OSError as problem:
        what = f"the logs cannot be saved to {folder}"
        raise MachineError(what, str(problem), "try: make logs SAVE=/tmp/logs") from problem


def log_folder(results: Path, name: str) -> Path:
    """A new folder for the logs of a stack that is about to be removed."""
    return results / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-logs-{name}"


def _save(docker: Docker, node: Container, helper_image: str | None, folder: Path) -> list[Path]:
    path = folder / f"{node.node}.log"
    with path.open("wb") as file:
        docker.into(file, "logs", node.id, with_errors=True)
    own = _own_logs(docker, node, helper_image) if node.is_server else []
    saved = [(folder / node.node / name, content) for name, content in own]
    for place, content in saved:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    return [path, *(place for place, _ in saved)]


def _own_logs(
    docker: Docker, server: Container, helper_image: str | None
) -> list[tuple[str, bytes]]:
    """Name and content of the log files in a server's data directory and in /var/log, whether it
    runs or not.
    """
    found = _unpacked(docker, "cp", f"{server.id}:{_SYSTEM_LOGS}", "-")
    of_servers = [
        (name, content) for name, content in found if any(word in name for word in _OF_SERVERS)
    ]
    if helper_image is None:
        return of_servers
    labels = helper_options(Identity(server.project, server.checkout))
    options = ("--network", "none", "--user", "0", "--volumes-from", f"{server.id}:ro", *labels)
    command = ("--entrypoint", "bash", helper_image, "-c", _OWN_LOGS)
    return of_servers + _unpacked(docker, "run", "--rm", *options, *command)


def _unpacked(docker: Docker, *argv: str) -> list[tuple[str, bytes]]:
    """The files of the archive that a command prints; none where it fails: a folder need not
    exist.
    """
    with tempfile.TemporaryFile() as file:
        if docker.into(file, *argv).code:
            return []
        file.seek(0)
        with tarfile.open(fileobj=file) as archive:
            members = [member for member in archive if member.isfile() and member.size]
            return [(_safe_name(member.name), _content(archive, member)) for member in members]


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    return file.read() if file else b""


def _safe_name(name: str) -> str:
    """The path inside the archive, without what would lead out of a folder."""
    return str(
        PurePosixPath(*(part for part in PurePosixPath(name).parts if part not in ("/", "..", ".")))
    )
