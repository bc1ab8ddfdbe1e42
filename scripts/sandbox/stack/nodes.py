"""The nodes of a running stack: their containers, their roles, what they answer, commands in
them.
"""

import io
import tarfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Self

from sandbox.core.errors import MachineError, SandboxError, did_you_mean
from sandbox.profile.names import Identity
from sandbox.stack import inventory
from sandbox.stack.answers import proof_answer, ready_answer, ready_question, role_in, server_role
from sandbox.stack.client_python import SqlSession
from sandbox.stack.engine import CommandStream, Docker, Pending
from sandbox.stack.engine_facts import engine_facts, image_facts, lacking
from sandbox.stack.entry import Entries
from sandbox.stack.inventory import HELPER, Container, death
from sandbox.stack.naming import stack_name
from sandbox.stack.protocol import (
    Engine,
    EntryPoint,
    ExecResult,
    ReadyAnswer,
    ServerRole,
    SettingProof,
    StackNode,
    Standing,
)

if TYPE_CHECKING:  # Pydantic's models: a `sql` starts without them
    from sandbox.record.record import Inputs

PATIENCE_S = 10.0
"""A hanging server must not block the answers of the others."""
PROOF_LIMIT_S = 30.0
"""For the proofs of all settings, together: one through a proxy opens more than a hundred
connections.
"""
_LAST_LOOK_S = 0.1
"""For the answers that have arrived while another node was waited for."""
UPGRADED = "upgraded"
_QUESTIONS = files(__package__).joinpath("questions.sh").read_text(encoding="utf-8")
_PASSWORDS = "/sandbox/passwords"


class StackNodes:
    """The nodes of one stack on the engine, found by its label: the part of the protocol that asks
    them.
    """

    def __init__(self, containers: Sequence[Container], docker: Docker) -> None:
        """``containers`` is every container of one project, at least one."""
        self.docker = docker
        self._take(containers)
        first = self.containers[0]
        self.project = first.project
        self.checkout = first.checkout
        self.identity = Identity(first.project, first.checkout)
        self.name = stack_name(first.project, first.checkout)
        self.profile = first.profile
        self.patience_s = PATIENCE_S
        """Time that nodes that are asked at once may take together."""
        self._sessions: dict[tuple[str, ...], SqlSession] = {}

    def _take(self, containers: Sequence[Container]) -> None:
        """``members``: the containers of the plan's nodes, without our helpers."""
        self.containers = tuple(containers)
        self.members = [container for container in self.containers if container.kind != HELPER]
        self.__dict__.pop("_images", None)

    @cached_property
    def inputs(self) -> "Inputs":
        """The user's inputs at ``up``, in addition to the profile."""
        return self.containers[0].inputs

    @property
    def plan(self) -> str:
        """Hash of the plan; of a stack with upgraded servers, which is no single plan's any more,
        `UPGRADED`.
        """
        known = {container.plan for container in self.members}
        return next(iter(known)) if len(known) == 1 else UPGRADED

    @property
    def publisher(self) -> Container | None:
        """The helper that publishes ports on the host, where there is one."""
        return next((container for container in self.containers if container.forwards), None)

    @property
    def client(self) -> Container:
        """The client node. Raises SandboxError (exit 4) where it is gone."""
        return self.container(
            next((each.node for each in self.members if each.kind == "client"), "client1")
        )

    def refreshed(self) -> Self:
        """The stack as it is now. Raises SandboxError (exit 4) where it is gone."""
        now = inventory.containers(self.docker, self.project)
        if now:
            return type(self)(now, self.docker)
        raise MachineError(
            f"the stack '{self.name}' is gone", "another command removed it", "try: make ps"
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

    def refresh(self) -> None:
        """Finds the containers as they are now, where some were replaced. Raises SandboxError (exit
        4) without any.
        """
        self._take(self.refreshed().containers)

    @cached_property
    def _images(self) -> Mapping[str, Mapping[str, Any]]:
        return image_facts(self.docker, [container.id for container in self.members])

    def nodes(self) -> list[StackNode]:
        own = [
            _stack_node(container, self._images.get(container.id, {})) for container in self.members
        ]
        return own + [_external_node(entry) for entry in self.entries.externals()]

    def roles(self) -> dict[str, ServerRole | None]:
        return {name: server_role(answer) for name, answer in self.standings().items()}

    def versions(self) -> dict[str, str]:
        """The versions that the servers report, asked now; without those that do not answer."""
        servers = [node for node in self.members if node.is_server and node.running]
        answers = self._answers([(node.node, node, "version") for node in servers], self.patience_s)
        return {node: answer.stdout.strip() for node, answer in answers.items() if answer.code == 0}

    def standings(self) -> dict[str, str | None]:
        """Every database server's full role answer, asked now: ``stale: writable, but replica1 is
        the writer``.

        None for one that is not running or does not answer.
        """
        servers = [node for node in self.members if node.is_server]
        answers = self._answers(
            [(node.node, node, "role") for node in servers if node.running], self.patience_s
        )
        given = {
            node: answer.stdout.strip() for node, answer in answers.items() if answer.code == 0
        }
        return {server.node: given.get(server.node) for server in servers}

    def state_answers(self) -> dict[str, ExecResult]:
        """The answer of every running server about its state, which `server_status.facts_from`
        reads.
        """
        servers = [node for node in self.members if node.is_server and node.running]
        return self._answers([(node.node, node, "state") for node in servers], self.patience_s)

    @property
    def entries(self) -> Entries:
        """The entry points that `VIA=` can name."""
        return Entries(self.members, self.roles)

    def entry_point(
        self, via: str | None, roles: Mapping[str, ServerRole | None] | None = None
    ) -> EntryPoint:
        return Entries(self.members, self.roles if roles is None else lambda: dict(roles)).resolve(
            via
        )

    def prove_settings(self) -> list[SettingProof]:
        client = next((node for node in self.members if node.kind == "client"), None)
        asked: list[tuple[str, Container, str]] = []
        expected: dict[str, tuple[str, str, str]] = {}
        for node in self.members:
            for setting, proof in node.about.get("proofs", {}).items():
                key = f"{setting} on {node.node}"
                expected[key] = (setting, node.node, proof["expect"])
                where: Container | None = node
                question = f"proof-{setting}"
                if proof["via"] != "self":
                    where = client
                    question = f"proof-{setting}-{node.node}"
                if where is not None and where.running:
                    asked.append((key, where, question))
        answers = self._answers(asked, PROOF_LIMIT_S)
        return [
            SettingProof(*words, proof_answer(answers.get(key))) for key, words in expected.items()
        ]

    def readiness(self) -> dict[str, ReadyAnswer]:
        known, asked = self._about_readiness()
        answers = self._answers(asked, self.patience_s)
        return known | {node: ready_answer(answer) for node, answer in answers.items()}

    def standing(self, with_readiness: bool = True) -> Standing:
        known: dict[str, ReadyAnswer] = {}
        asked: list[tuple[str, Container, str]] = []
        if with_readiness:
            known, asked = self._about_readiness()
        servers = [node for node in self.members if node.is_server]
        with ThreadPoolExecutor(max_workers=max(1, len(self.members))) as pool:
            given = self._asked_again(pool, asked)
            # A server that is ready may have said its role with that.
            roles = {node.node: role_in(given.get(node.node)) for node in servers}
            silent = [node for node in servers if node.running and roles[node.node] is None]
            said = self._asked_again(pool, [(node.node, node, "role") for node in silent])
        roles |= {node: role_in(answer) for node, answer in said.items()}
        ready = {node: ready_answer(answer) for node, answer in given.items()}
        return Standing(known | ready, roles)

    def _asked_again(
        self, pool: ThreadPoolExecutor, questions: Sequence[tuple[str, Container, str]]
    ) -> dict[str, ExecResult]:
        """The answers, by key, of the commands that stay open in the containers."""
        answers = pool.map(self._answer_of_open, questions)
        return {key: answer for (key, _, _), answer in zip(questions, answers, strict=True)}

    def _answer_of_open(self, question: tuple[str, Container, str]) -> ExecResult:
        """The answer to one of these questions."""
        _, container, text = question
        argv = ("sh", "-c", _QUESTIONS)
        limit_s = self.patience_s
        try:
            answer = self.ask_session(container.node, argv, text, limit_s)
            if answer.code:  # it ended with its container, which may have been started again
                answer = self.ask_session(container.node, argv, text, limit_s)
        except TimeoutError:
            return ExecResult(124, "", f"no answer within {limit_s:g} s")
        if answer.code:
            return answer
        code, _, said = answer.stdout.partition(" ")
        return ExecResult(int(code), said, "")

    def _about_readiness(
        self,
    ) -> tuple[dict[str, ReadyAnswer], list[tuple[str, Container, str]]]:
        """What is known of nodes without asking; the questions to the others, with their keys."""
        client = next(
            (each for each in self.members if each.kind == "client" and each.running), None
        )
        known: dict[str, ReadyAnswer] = {}
        asked: list[tuple[str, Container, str]] = []
        for each in self.members:
            if not each.running:
                known[each.node] = ReadyAnswer(False, each.state)
            elif client is None and each.about.get("ready") == "client":
                known[each.node] = ReadyAnswer(
                    False, "unknown: the client node, which would ask it, does not run"
                )
            elif question := ready_question(each, client or each):
                asked.append((each.node, *question))
            else:
                known[each.node] = ReadyAnswer(True, "runs")
        return known, asked

    def _answers(
        self, questions: Sequence[tuple[str, Container, str]], limit_s: float
    ) -> dict[str, ExecResult]:
        """(key, container, question to it) → how that ended; all run at once, and all within
        ``limit_s``.
        """
        pending = [
            (key, self.docker.begin("exec", container.id, "sh", "/sandbox/probe", question))
            for key, container, question in questions
        ]
        end_s = time.monotonic() + limit_s
        return {key: _answer_until(end_s, each, limit_s) for key, each in pending}

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        return self.docker.answer(
            *self._exec(node, argv, stdin is not None), stdin=stdin, timeout_s=timeout_s
        )

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        new = SqlSession(lambda: self.stream(node, argv))
        session = self._sessions.setdefault((node, *argv), new)  # atomic: threads ask at once
        return session.ask(line, timeout_s)

    def stream(self, node: str, argv: Sequence[str]) -> CommandStream:
        return self.docker.stream(*self._exec(node, argv, interactive=True), stdin=True)

    def _exec(self, node: str, argv: Sequence[str], interactive: bool) -> list[str]:
        options = ["-i"] if interactive else []
        return ["exec", *options, self.container(node).id, *argv]

    def dead_nodes(self) -> dict[str, str]:
        stopped = [container for container in self.refreshed().members if not container.running]
        return {container.node: death(self.docker, container) for container in stopped}

    def starts(self) -> dict[str, str]:
        names = {each.id: each.node for each in self.members}
        # Where one of them is gone the command fails, and still prints the others.
        answer = self.docker.answer("inspect", "--format", "{{.Id}} {{.State.StartedAt}}", *names)
        return {names[id_]: at for id_, at in map(str.split, answer.stdout.splitlines())}

    def log(self, node: str, since: datetime | None = None) -> str:
        bound = ["--since", since.strftime("%Y-%m-%dT%H:%M:%S.%fZ")] if since else []
        return self.docker.stream("logs", "--timestamps", *bound, self.container(node).id).text()

    def described(self, node: str) -> Mapping[str, Any]:
        container = self.container(node)
        found: Mapping[str, Any] | None = inventory.inspected(
            self.docker, container.id, "{{json .}}"
        )
        return found or {}

    def engine(self) -> Engine:
        return engine_facts(self.docker)

    def lacking(self) -> Mapping[str, str]:
        return lacking(self.docker, self.client.image, self.identity)

    def secrets(self) -> frozenset[str]:
        return self._secrets  # read back from its client node

    @cached_property
    def _secrets(self) -> frozenset[str]:
        client = self.client
        answer = self.docker.answer("exec", client.id, "cat", _PASSWORDS)
        if answer.code == 0:
            return frozenset(answer.stdout.split())
        # It is frozen, or has ended: the engine reads the file.
        packed = self.docker.ask("cp", f"{client.id}:{_PASSWORDS}", "-").encode()
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            file = archive.extractfile(archive.getmembers()[0])
            return frozenset(file.read().decode().split() if file else ())


def _answer_until(end_s: float, pending: Pending, limit_s: float) -> ExecResult:
    try:
        return pending.answer(max(_LAST_LOOK_S, end_s - time.monotonic()))
    except TimeoutError:
        return ExecResult(124, "", f"no answer within {limit_s:g} s")


def _stack_node(container: Container, of_image: Mapping[str, Any]) -> StackNode:
    about = container.about
    return StackNode(
        name=container.node,
        term=about["term"],
        component=about["component"],
        kind=container.kind,  # type: ignore[arg-type]
        group_index=about["group"],
        family=about["family"],
        topology=about["topology"],
        image=container.image,
        image_source=about["origin"],
        host=container.node,
        port=next(iter(about["ports"].values()), None),
        host_of=about.get("host_of"),
        rejoins=about.get("rejoins", ""),
        **of_image,
    )


def _external_node(entry: EntryPoint) -> StackNode:
    return StackNode(
        name=entry.node,
        term="external",
        component="external",
        kind="external",
        group_index=entry.group_index,
        family="mysql",
        host=entry.host,
        port=entry.port,
        has_container=False,
    )
