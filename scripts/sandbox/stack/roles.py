"""Questions that only the running servers can answer: which role they have, whether a setting is in effect."""

import re
from collections.abc import Mapping, Sequence

from sandbox.stack.engine import Docker
from sandbox.stack.inventory import Container
from sandbox.stack.protocol import ServerRole, SettingProof

_ROLES: Mapping[str, ServerRole] = {"writer": "writer", "reader": "reader", "stale": "stale"}
_PATIENCE_S = 10.0
"""A hanging server must not block the answers of the others."""


def ask_roles(docker: Docker, nodes: Sequence[Container]) -> dict[str, ServerRole | None]:
    """Role of every database server, all asked at once; None for one without an answer or a role."""
    return {name: server_role(answer) for name, answer in ask_standings(docker, nodes).items()}


def ask_standings(docker: Docker, nodes: Sequence[Container]) -> dict[str, str | None]:
    """Every database server's full role answer; None for one that is not running or does not answer."""
    servers = [node for node in nodes if is_server(node)]
    answers = _ask_all(docker, [(node.node, node, "role") for node in servers if node.running])
    return {server.node: answers.get(server.node) for server in servers}


def is_server(node: Container) -> bool:
    """Whether a node has a role."""
    return node.kind in ("database", "replica")


def server_role(answer: str | None) -> ServerRole | None:
    """The role at the start of a server's answer, such as ``reader, caught up``; None for any other answer."""
    word = re.match(r"\w*", answer or "")
    return _ROLES.get(word[0]) if word else None


def explained(answer: str | None) -> bool:
    """Whether an answer explains why a ready server is neither the writer nor a reader."""
    return (answer or "").startswith(("stale: ", "detached: "))


def prove_settings(docker: Docker, nodes: Sequence[Container]) -> list[SettingProof]:
    """Runs the proof of every setting on every node it applies to, all at once."""
    client = next((node for node in nodes if node.kind == "client"), None)
    asked: list[tuple[str, Container, str]] = []
    expected: dict[str, tuple[str, str, str]] = {}
    for node in nodes:
        for setting, proof in node.about.get("proofs", {}).items():
            key = f"{setting} on {node.node}"
            expected[key] = (setting, node.node, proof["expect"])
            where = node if proof["via"] == "self" else client
            question = f"proof-{setting}" if proof["via"] == "self" else f"proof-{setting}-{node.node}"
            if where is not None and where.running:
                asked.append((key, where, question))
    answers = _ask_all(docker, asked)
    return [SettingProof(setting, node, expect, answers.get(key)) for key, (setting, node, expect) in expected.items()]


def _ask_all(docker: Docker, questions: Sequence[tuple[str, Container, str]]) -> Mapping[str, str | None]:
    """(key, container, question to its probe) → answer, or None; all clients run in parallel."""
    pending = [
        (key, docker.begin("exec", container.id, "sh", "/sandbox/probe", question))
        for key, container, question in questions
    ]
    answers = {key: each.answer_within(_PATIENCE_S) for key, each in pending}
    return {key: answer.stdout.strip() if answer.code == 0 else None for key, answer in answers.items()}
