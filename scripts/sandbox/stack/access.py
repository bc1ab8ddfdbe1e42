"""What the user does in a running stack: SQL, a shell or a command, logs, ports of this machine (`PUBLISH=1`)."""

import heapq
import json
import queue
import shlex
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.errors import ExitCode, MachineError, SandboxError
from sandbox.plan.model import UserFile
from sandbox.stack.engine import CommandStream
from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import locked_stack
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import EntryPoint, Note, OnEvent
from sandbox.stack.stack import Stack

ROOT_CNF = "/sandbox/root.cnf"
APP_CNF = "/sandbox/app.cnf"
_INIT_MARK = "/sandbox/init"
_INIT_LIMIT_S = 3600.0
_SHELL = "command -v bash >/dev/null && exec bash; exec sh"
_Line = tuple[str, str, str]
"""(time, node, text)"""


def client_argv(stack: Stack, entry: EntryPoint) -> list[str]:
    """The command-line client at an entry point: root on a server, the application's user through a proxy."""
    proxy = entry.node in {each.node for each in stack.members if each.kind == "proxy"}
    program = stack.client.about["sql_client"]
    credentials = APP_CNF if proxy or entry.via == "external" else ROOT_CNF
    return [program, f"--defaults-file={credentials}", "-h", entry.host, "-P", str(entry.port)]


def sql(stack: Stack, via: str | None, on_event: OnEvent, statements: str | None = None) -> int:
    """An interactive client (its history stays in the client node), or one that reads SQL from our input.

    ``statements``: SQL to run instead. ``via`` is what `VIA=` takes: a node, a proxy's port, writer, reader; None: the
    entry point. Returns the client's exit code: 1 where a statement failed. Raises SandboxError (exit 2) for an unknown
    node.
    """
    entry = stack.entry_point(via)
    if statements:
        return _run(stack, entry, statements)
    terminal = sys.stdin.isatty()
    if terminal:
        on_event(Note(f"{entry.via} of the stack '{stack.name}' ({entry.host}:{entry.port})"))
    return stack.docker.hand_over("exec", "-it" if terminal else "-i", stack.client.id, *client_argv(stack, entry))


def sql_on_all(stack: Stack, statements: str) -> int:
    """Runs statements on every server, each under its name; returns the first exit code that is not 0."""
    codes = []
    for server in [each.node for each in stack.members if each.kind in ("database", "replica")]:
        print(f"-- {server}", flush=True)
        codes.append(_run(stack, stack.entry_point(server), statements))
    return next((code for code in codes if code), 0)


def _run(stack: Stack, entry: EntryPoint, statements: str) -> int:
    table = ["--table"] if sys.stdout.isatty() else []
    argv = [*client_argv(stack, entry), *table, "--execute", statements]
    return stack.docker.hand_over("exec", stack.client.id, *argv)


def shell(stack: Stack, node: str) -> int:
    """Opens a root shell in a node; returns its exit code. SandboxError: exit 2: unknown node, exit 4: not running."""
    return execute(stack, node, ["sh", "-c", _SHELL])


def execute(stack: Stack, node: str, argv: Sequence[str]) -> int:
    """Runs a command as root in a node; returns its exit code. SandboxError: as for `shell`."""
    container = stack.container(node)
    if not container.running:
        raise MachineError(
            f"{node} is not running: {container.status.lower()}",
            "a command needs a running container",
            f"try: make start{name_option(stack.name)}",
        )
    terminal = "-it" if sys.stdin.isatty() and sys.stdout.isatty() else "-i"
    return stack.docker.hand_over("exec", terminal, "--user", "0", container.id, *argv)


def run_init(stack: Stack, init: UserFile | None, on_event: OnEvent) -> None:
    """Runs the file as root on a writer of every group where it has not run yet.

    The client's container records it, and is removed with the data. Raises SandboxError: exit 1 where a server rejects
    a statement, exit 4 where an earlier run was interrupted.
    """
    if init is None:
        return
    state = stack.run(stack.client.node, ["sh", "-c", f"cat {_INIT_MARK} 2>/dev/null || true"]).stdout.strip()
    if state == "done":
        return
    option = name_option(stack.name)
    if state == "begun":
        raise MachineError(
            f"INIT={init.name} was started by an earlier command and did not finish",
            "the data may contain part of it; it is not run twice",
            f"try: make down{option}   (then make up again)",
        )
    _set_init_state(stack, "begun")
    for entry in stack.entries.writers():
        on_event(Note(f"running {init.name} on {entry.node}"))
        result = stack.run(stack.client.node, client_argv(stack, entry), stdin=init.content, timeout_s=_INIT_LIMIT_S)
        if result.code:
            raise SandboxError(
                f"INIT={init.name} failed on {entry.node}",
                result.last_error,
                f"try: make down{option}   (then fix the file and make up again)",
                ExitCode.FAILED,
            )
    _set_init_state(stack, "done")


def _set_init_state(stack: Stack, state: str) -> None:
    stack.run(stack.client.node, ["sh", "-c", f"echo {state} >{_INIT_MARK}"])


def logs(stack: Stack, node: str | None, follow: bool, tail: int | None = None) -> int:
    """Prints the log of a node, or of all with a node name before each line. Ctrl-C ends it with exit code 130.

    ``tail``: only the last lines of each node. Raises SandboxError (exit 2) for an unknown node.
    """
    containers = stack.members if node is None else [stack.container(node)]
    named = len(containers) > 1
    options = [*(["--follow"] if follow else []), *([f"--tail={tail}"] if tail is not None else [])]
    streams = {each.node: stack.docker.stream("logs", "--timestamps", *options, each.id) for each in containers}
    logs_by_node = [_log_lines(node, stream) for node, stream in streams.items()]
    try:
        for _, name, text in _as_they_come(logs_by_node) if follow else heapq.merge(*logs_by_node):
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


_NODE = "publish1"
_FIRST_PORT = 10000


@dataclass(frozen=True, slots=True)
class Address:
    """Where a node's port can be reached on the host."""

    node: str
    port_name: str
    host: str
    port: int


def publish(stack: Stack, on_event: OnEvent) -> Stack:
    """Publishes every port of every node; harmless when repeated. SandboxError (exit 4) where the engine refuses."""
    with locked_stack(stack.project, stack.name, on_event):
        stack = stack.refreshed()
        publisher = stack.publisher
        if publisher is None or publisher.state == "created":  # its making failed half-way
            _create(stack)
        elif not publisher.running:
            stack.docker.ask("start", publisher.id)
        return stack.refreshed()


def addresses(stack: Stack) -> list[Address]:
    """The published ports of a stack, now."""
    publisher = stack.publisher
    if publisher is None:
        return []
    return [
        Address(node, name, *publisher.published[inner])
        for inner, (node, name) in sorted(publisher.forwards.items())
        if inner in publisher.published
    ]


def _create(stack: Stack) -> None:
    """On its own network, which reaches the host, and on the stack's, which does not."""
    docker, public, publisher = stack.docker, f"{stack.project}_public", f"{stack.project}-{_NODE}"
    open_ports = [(each.node, name, port) for each in stack.members for name, port in each.about["ports"].items()]
    forwards = dict(enumerate(open_ports, _FIRST_PORT))
    targets = {str(inner): [node, port_name] for inner, (node, port_name, _) in forwards.items()}
    labels = helper_options(
        stack.identity, profile=stack.profile, plan=stack.plan, node=_NODE, forwards=json.dumps(targets)
    )
    docker.answer("rm", "--force", publisher)  # what an earlier attempt left
    docker.answer("network", "rm", public)
    docker.ask("network", "create", *labels, public)
    ports = [option for inner in forwards for option in ("--publish", f"127.0.0.1::{inner}")]
    docker.ask(
        "create", "--name", publisher, "--hostname", _NODE, "--network", public, *labels, *ports, "--entrypoint",
        "bash", stack.client.image, "-c", _script(forwards),
    )  # fmt: skip
    docker.ask("network", "connect", f"{stack.project}_stack", publisher)
    docker.ask("start", publisher)


def _script(forwards: Mapping[int, tuple[str, str, int]]) -> str:
    """One forwarder per port; a node's name is resolved for each connection."""
    lines = [
        f"socat TCP-LISTEN:{inner},fork,reuseaddr TCP:{shlex.quote(node)}:{port} &"
        for inner, (node, _, port) in forwards.items()
    ]
    return "\n".join(["trap 'kill $(jobs -p); exit 0' TERM INT", *lines, "wait"])
