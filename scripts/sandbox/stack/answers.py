"""Questions to nodes, and what is in their answers: ready or not, role, version."""

import re
from collections.abc import Mapping

from sandbox.profile.versions import answers_to
from sandbox.stack.inventory import Container
from sandbox.stack.protocol import ExecResult, ReadyAnswer, ServerRole

_ROLES: Mapping[str, ServerRole] = {"writer": "writer", "reader": "reader", "stale": "stale"}


def ready_question(container: Container, client: Container) -> tuple[Container, str] | None:
    """The container to ask, and a node's readiness question; None where running is enough.

    In the node's own container, or from the client where the path to the node is part of the
    question.
    """
    via = container.about.get("ready")
    if via is None:
        return None
    return (client, f"ready-{container.node}") if via == "client" else (container, "ready")


def proof_answer(answer: ExecResult | None) -> str | None:
    """The output of a proof query, or its error; None where its node does not run."""
    if answer is None:
        return None
    return answer.stdout.strip() if answer.code == 0 else answer.last_error or "no answer"


def ready_answer(answer: ExecResult) -> ReadyAnswer:
    """The answer to a question; a server's client may warn in lines before."""
    said = answer.stdout.strip().rpartition("\n")[2]
    otherwise = "yes" if answer.code == 0 else answer.last_error or "no answer"
    return ReadyAnswer(answer.code == 0, said or otherwise)


def role_in(answer: ExecResult | None) -> ServerRole | None:
    """The role in the answer to that question; None without an answer."""
    return server_role(answer.stdout.strip()) if answer and answer.code == 0 else None


def server_role(answer: str | None) -> ServerRole | None:
    """The role at the start of a server's answer, such as ``reader, caught up``; None for any other
    answer.
    """
    word = re.match(r"\w*", answer or "")
    return _ROLES.get(word[0]) if word else None


def other_version(container: Container, reported: str) -> str | None:
    """The words for a server of another version than the exact one requested; else None."""
    asked = container.about.get("exact")
    if not asked or answers_to(asked, reported):
        return None
    return f"reports version {reported}, but {asked} was requested"


def explained(answer: str | None) -> bool:
    """Whether an answer explains why a ready server is neither the writer nor a reader."""
    return (answer or "").startswith(("stale: ", "detached: "))
