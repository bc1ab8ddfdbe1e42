"""Access to a stack: an SQL client, a shell or a command, which takes over the terminal."""

import sys
from collections.abc import Sequence

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import EntryPoint, Note, OnEvent
from sandbox.stack.stack import Stack

ROOT_CNF = "/sandbox/root.cnf"
APP_CNF = "/sandbox/app.cnf"
_SHELL = "command -v bash >/dev/null && exec bash; exec sh"


def client_argv(stack: Stack, entry: EntryPoint) -> list[str]:
    """The command-line client at an entry point: root on a server, the application's user through a proxy."""
    proxy = entry.node in {each.node for each in stack.members if each.kind == "proxy"}
    program = stack.client.about["sql_client"]
    credentials = APP_CNF if proxy or entry.via == "external" else ROOT_CNF
    return [program, f"--defaults-file={credentials}", "-h", entry.host, "-P", str(entry.port)]


def sql(stack: Stack, via: str | None, on_event: OnEvent, statements: str | None = None) -> int:
    """An interactive client (its history stays in the client node), or one that reads SQL from our input.

    ``statements``: SQL to run instead.

    ``via`` is what `VIA=` takes: a node, a proxy's port, writer, reader; None: the entry point. Returns the client's
    exit code: 1 where a statement failed. Raises SandboxError (exit 2) for an unknown node.
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
        raise SandboxError(
            f"{node} is not running: {container.status.lower()}",
            "a command needs a running container",
            f"try: make start{name_option(stack.name)}",
            ExitCode.ENVIRONMENT,
        )
    terminal = "-it" if sys.stdin.isatty() and sys.stdout.isatty() else "-i"
    return stack.docker.hand_over("exec", terminal, "--user", "0", container.id, *argv)
