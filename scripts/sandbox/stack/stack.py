"""A running stack: its nodes, its roles, commands in its nodes, its logs. Implements the protocol."""

import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from functools import cached_property
from typing import Any

from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.stack import inventory, roles
from sandbox.stack.engine import Docker, end_group
from sandbox.stack.entry import Entries
from sandbox.stack.facts import ImageFacts, engine_facts, image_facts
from sandbox.stack.inventory import HELPER, Container
from sandbox.stack.protocol import Engine, EntryPoint, ExecResult, ServerRole, SettingProof, StackInputs, StackNode
from sandbox.stack.sql_session import SqlSessions


class Stack:
    """One stack on the engine, found by its label."""

    def __init__(self, containers: Sequence[Container], docker: Docker) -> None:
        """``containers`` is every container of one project, at least one."""
        self.containers = tuple(containers)
        self.docker = docker
        self._sql_sessions = SqlSessions(
            lambda node, argv: docker.stream(*self._exec(node, argv, interactive=True), stdin=True)
        )

    @property
    def project(self) -> str:
        """Compose project."""
        return self.containers[0].project

    @property
    def checkout(self) -> str:
        """Path of the checkout that it belongs to."""
        return self.containers[0].checkout

    @property
    def name(self) -> str:
        """Name of the stack; of one started by hand, its project."""
        return inventory.name_of(self.containers[0])

    @property
    def profile(self) -> str:
        """The expression it was started from."""
        return self.containers[0].profile

    @property
    def plan(self) -> str:
        """Hash of the plan it was started from."""
        return self.containers[0].plan

    @property
    def inputs(self) -> StackInputs:
        """What the user changed at `up`, in addition to the profile."""
        return self.containers[0].inputs

    @property
    def members(self) -> list[Container]:
        """The containers of the plan's nodes, without our helpers."""
        return [container for container in self.containers if container.kind != HELPER]

    @property
    def publisher(self) -> Container | None:
        """The helper that publishes ports on the host, where there is one."""
        return next((container for container in self.containers if container.forwards), None)

    @property
    def client(self) -> Container:
        """The client node. Raises SandboxError (exit 4) where it is gone."""
        return self.container(next((each.node for each in self.members if each.kind == "client"), "client1"))

    def refreshed(self) -> "Stack":
        """The stack as it is now. Raises SandboxError (exit 4) where it is gone."""
        now = inventory.containers(self.docker, self.project)
        if now:
            return Stack(now, self.docker)
        raise SandboxError(
            f"the stack '{self.name}' is gone", "another command removed it", "try: make ps", ExitCode.ENVIRONMENT
        )

    def container(self, node: str) -> Container:
        """The container of a node. Raises SandboxError (exit 2) for an unknown node."""
        found = next((container for container in self.containers if container.node == node), None)
        if found is not None:
            return found
        raise SandboxError(
            f"the stack '{self.name}' has no node '{node}'",
            did_you_mean(node, [container.node for container in self.members]),
            "try: make ps",
        )

    @cached_property
    def _images(self) -> Mapping[str, ImageFacts]:
        return image_facts(self.docker, [container.id for container in self.members])

    def nodes(self) -> list[StackNode]:
        """Every node of the plan, running or not, and external servers."""
        own = [_stack_node(container, self._images.get(container.id)) for container in self.members]
        return own + [_external_node(entry) for entry in self.entries.externals()]

    def roles(self) -> dict[str, ServerRole | None]:
        """Role of every database server, asked now."""
        return roles.ask_roles(self.docker, self.members)

    def standings(self) -> dict[str, str | None]:
        """Every database server's full role answer, asked now: ``stale: writable, but replica1 is the writer``."""
        return roles.ask_standings(self.docker, self.members)

    @property
    def entries(self) -> Entries:
        """Everything that `VIA=` can name."""
        return Entries(self.members, self.roles)

    def entry_point(self, via: str | None, roles: Mapping[str, ServerRole | None] | None = None) -> EntryPoint:
        """Resolves `VIA=` (None: the default entry point). SandboxError (exit 2) when ambiguous or unknown.

        ``roles``: of every server, where they were asked just now.
        """
        return Entries(self.members, self.roles if roles is None else lambda: dict(roles)).resolve(via)

    def prove_settings(self) -> list[SettingProof]:
        """Runs the proof of every setting on every node it applies to, now."""
        return roles.prove_settings(self.docker, self.members)

    def run(self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0) -> ExecResult:
        """Runs a command in a node to its end; TimeoutError past ``timeout_s``."""
        return self.docker.answer(*self._exec(node, argv, stdin is not None), stdin=stdin, timeout_s=timeout_s)

    def ask_session(self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0) -> ExecResult:
        """Sends a line to a command that keeps running in a node; the first line starts it. The answer is a line."""
        return self._sql_sessions.ask(node, argv, line, timeout_s)

    def stream(self, node: str, argv: Sequence[str], stdin: str | None = None) -> "ExecStream":
        """Starts a command in a node; ``stdin`` is written and left open until `close_stdin`."""
        process = self.docker.stream(*self._exec(node, argv, stdin is not None), stdin=stdin is not None)
        if process.stdin and stdin:
            process.stdin.write(stdin)
            process.stdin.flush()
        return ExecStream(process)

    def _exec(self, node: str, argv: Sequence[str], interactive: bool) -> list[str]:
        return ["exec", *(["-i"] if interactive else []), self.container(node).id, *argv]

    def dead_nodes(self) -> dict[str, str]:
        """Nodes whose container is not running now, each with its state: ``exited (137), out of memory``."""
        stopped = [container for container in self.refreshed().members if not container.running]
        return {container.node: death(self.docker, container) for container in stopped}

    def log(self, node: str, since: datetime | None = None) -> str:
        """The node's log with timestamps, since a UTC time (None: since the container was made)."""
        bound = ["--since", since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")] if since else []
        process = self.docker.stream("logs", "--timestamps", *bound, self.container(node).id)
        return process.communicate()[0]

    def engine(self) -> Engine:
        """The engine on which it runs."""
        return engine_facts(self.docker)

    def secrets(self) -> frozenset[str]:
        """Every password of the stack, read back from its client node; they do not change while it is up."""
        return self._secrets

    @cached_property
    def _secrets(self) -> frozenset[str]:
        return frozenset(self.docker.ask("exec", self.client.id, "cat", "/sandbox/passwords").split())


class ExecStream:
    """A command running in a node."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def lines(self) -> Iterator[str]:
        """Lines as they arrive, standard output and error in one, without line ends; ends with the command."""
        assert self._process.stdout is not None  # noqa: S101  (opened as a pipe by Docker.stream)
        for line in self._process.stdout:
            yield line.rstrip("\n")

    def send(self, line: str) -> None:
        """Sends a line of input to the command; lost where the command has ended."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.write(line + "\n")
                self._process.stdin.flush()

    def close_stdin(self) -> None:
        """Ends the command's input; harmless when repeated."""
        if self._process.stdin:
            with suppress(BrokenPipeError):
                self._process.stdin.close()

    def wait(self, timeout_s: float) -> int:
        """Exit code of the command; TimeoutError when it is still running after ``timeout_s``."""
        try:
            return self._process.wait(timeout_s)
        except subprocess.TimeoutExpired as late:
            raise TimeoutError(f"still running after {timeout_s} s") from late

    def kill(self) -> None:
        """Ends our side of the connection; the caller must end what runs in the node. Harmless when repeated."""
        end_group(self._process)


def death(docker: Docker, container: Container) -> str:
    """Why a container is not running: ``exited (137), out of memory``, ``created``, ``gone``."""
    answer = docker.answer("inspect", "--format", "{{json .State}}", container.id)
    if answer.code:
        return "gone"
    state: dict[str, Any] = json.loads(answer.stdout)
    code = f" ({state['ExitCode']})" if state["Status"] in ("exited", "dead") else ""
    memory = ", out of memory" if state.get("OOMKilled") else ""
    return f"{state['Status']}{code}{memory}" + (f": {state['Error']}" if state.get("Error") else "")


def _stack_node(container: Container, image: ImageFacts | None) -> StackNode:
    about = container.about
    return StackNode(
        name=container.node, term=about["term"], component=about["component"], kind=container.kind,  # type: ignore[arg-type]
        group_index=about["group"], family=about["family"], topology=about["topology"], image=container.image,
        image_id=image.image_id if image else None, image_source=about["origin"],
        digest=image.digest if image else None, package_version=image.package_version if image else None,
        host=container.node, port=next(iter(about["ports"].values()), None),
    )  # fmt: skip


def _external_node(entry: EntryPoint) -> StackNode:
    blank = StackNode(
        name=entry.node,
        term="external",
        component="external",
        kind="external",
        group_index=entry.group_index,
        family=None,
        topology=None,
        image=None,
        image_id=None,
        image_source=None,
        digest=None,
        package_version=None,
        host=entry.host,
        port=entry.port,
        has_container=False,
    )
    return replace(blank, family="mysql")
