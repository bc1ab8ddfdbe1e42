"""Prints the logs of nodes, those of several merged in time order, followed on request."""

import heapq
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from typing import TextIO

from sandbox.errors import ExitCode
from sandbox.stack.engine import Docker, end_group
from sandbox.stack.inventory import Container
from sandbox.stack.stack import Stack

_Line = tuple[str, str, str]
"""(time, node, text)"""


def logs(stack: Stack, node: str | None, follow: bool, out: TextIO | None = None, tail: int | None = None) -> int:
    """Prints the log of a node, or of all with a node name before each line. Ctrl-C ends it with exit code 130.

    ``tail``: only the last lines of each node.

    Raises SandboxError (exit 2) for an unknown node.
    """
    containers = stack.members if node is None else [stack.container(node)]
    named = len(containers) > 1
    streams = [_LogStream(stack.docker, container, follow, tail) for container in containers]
    out = out or sys.stdout
    try:
        for line in _as_they_come(streams) if follow else heapq.merge(*streams):
            _print(line, named, out)
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, is done
        sys.stdout = None  # nothing is left to be flushed at exit
    finally:
        for stream in streams:
            stream.end()
    return ExitCode.OK


def _print(line: _Line, named: bool, out: TextIO) -> None:
    _, node, text = line
    print(f"{node} | {text}" if named else text, file=out, flush=True)


class _LogStream:
    """The log of one node as (time, node, text)."""

    def __init__(self, docker: Docker, container: Container, follow: bool, tail: int | None) -> None:
        self._node = container.node
        option = [*(["--follow"] if follow else []), *([f"--tail={tail}"] if tail is not None else [])]
        self._process: subprocess.Popen[str] = docker.stream("logs", "--timestamps", *option, container.id)

    def __iter__(self) -> Iterator[_Line]:
        for line in self._process.stdout or ():
            time, _, text = line.rstrip("\n").partition(" ")
            yield time, self._node, text

    def end(self) -> None:
        """Ends the client."""
        end_group(self._process)


def _as_they_come(streams: Sequence[_LogStream]) -> Iterator[_Line]:
    """Lines of all streams as they arrive; each stream has its own reader thread."""
    lines: queue.SimpleQueue[_Line | None] = queue.SimpleQueue()

    def read(stream: _LogStream) -> None:
        for line in stream:
            lines.put(line)
        lines.put(None)

    for stream in streams:
        threading.Thread(target=read, args=(stream,), daemon=True).start()
    for _ in streams:
        while (line := lines.get()) is not None:
            yield line
