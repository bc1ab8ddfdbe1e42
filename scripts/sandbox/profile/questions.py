"""The parts of a plan that a running stack carries: readiness questions in its containers, a
description in a label.
"""

import shlex
from collections.abc import Mapping
from typing import Any

from sandbox.profile.library import Question
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import render_text

ROOT_CNF = "/sandbox/client.cnf"
APP_CNF = "/sandbox/app.cnf"
QUESTION_SCRIPT = "/sandbox/probe"
_VERSION = Question(query="select version()")


def question_script(questions: Mapping[str, str]) -> str:
    """The `sh` script that answers a node's questions: `sh /sandbox/probe QUESTION`.

    ``questions``: name → shell commands.
    """
    # Not indented: a command may quote multi-line text, such as Python, whose indentation matters.
    cases = "".join(f"{name})\n{commands};;\n" for name, commands in questions.items())
    unknown = f"*) echo 'no such question; here: {' '.join(questions)}' >&2; exit 2 ;;\n"
    return (
        f'#!/bin/sh\n# usage: sh {QUESTION_SCRIPT} QUESTION\ncase "$1" in\n{cases}{unknown}esac\n'
    )


def ask_commands(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    """Shell commands that print the answer to a question, whatever it is."""
    return f"exec {_command(question, node, plan, context)}\n"


def ready_commands(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    """Shell commands of a readiness question.

    Exit 0 and the answer if it is the expected one, else exit 1 and its last line.
    """
    expected = expected_answer(question, node, context)
    met = "" if expected is None else f' && [ "$answer" = {shlex.quote(expected)} ]'
    return _listening(question, node) + (
        f"answer=$({_command(question, node, plan, context)} 2>&1) && answered=yes || answered=no\n"
        f'if [ "$answered" = yes ]{met}; then printf \'%s\\n\' "$answer"; exit 0; fi\n'
        "printf '%s\\n' \"${answer:-no answer}\" | tail -n 1\n"
        "exit 1\n"
    )


def _listening(question: Question, node: Node) -> str:
    """Shell commands: exit 1 while nothing listens on a server's port. A look costs 2 ms, a refused
    client 15.

    Without grep or /proc the status is not 1, and the client finds out. Source: proc(5),
    /proc/net/tcp: address and port in hexadecimal; state 0A is LISTEN.
    """
    if question.query is None or question.via != "self":
        return ""
    port = next(iter(node.ports.values()))
    return (
        f"grep -qs ':{port:04X} 0*:0000 0A' /proc/net/tcp /proc/net/tcp6\n"
        f"[ $? != 1 ] || {{ echo 'nothing listens on port {port} yet'; exit 1; }}\n"
    )


def expected_answer(question: Question, node: Node, context: Mapping[str, Any]) -> str | None:
    """The one answer to a question that means yes; None where a command's exit status decides."""
    if question.expect is None:
        return None
    return render_text(question.expect, context, f"a question about {node.name}")


def _command(question: Question, node: Node, plan: Plan, context: Mapping[str, Any]) -> str:
    where = f"a question about {node.name}"
    if question.query is not None:
        query = " ".join(render_text(question.query, context, where).split())
        return shlex.join([*_sql_client(question, node, plan), "-e", query])
    return shlex.join(render_text(part, context, where) for part in question.command or ["true"])


def _sql_client(question: Question, node: Node, plan: Plan) -> list[str]:
    if question.via == "self":
        return [node.component.spec.sql_client, f"--defaults-file={ROOT_CNF}", "-N", "-B"]
    client = plan.client.component.spec.sql_client
    port = next(iter(node.ports.values()))
    return [client, f"--defaults-file={APP_CNF}", "-h", node.name, "-P", str(port), "-N", "-B"]


def node_questions(
    node: Node, plan: Plan, context: Mapping[str, Any], via: str = "self"
) -> dict[str, str]:
    """The questions in or about a node: ``ready``, ``role``, ``version``, ``state``,
    ``proof-<setting>``.
    """
    questions = {}
    if node.ready is not None and node.ready.via == via:
        questions["ready"] = ready_commands(node.ready, node, plan, context)
    if node.role is not None and node.is_server and via == "self":
        questions["role"] = ask_commands(node.role, node, plan, context)
        questions["version"] = ask_commands(_VERSION, node, plan, context)
    state = node.component.spec.state
    if state is not None and node.is_server and via == "self":
        questions["state"] = ask_commands(state, node, plan, context)
    for name, variant in node.applied:
        if variant.proof.via == via:
            questions[f"proof-{name}"] = ask_commands(variant.proof, node, plan, context)
    return questions


def client_questions(plan: Plan, contexts: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """The questions about other nodes, asked from the client: ``ready-<node>``,
    ``proof-<setting>-<node>``.
    """
    return {
        f"{question}-{node.name}": commands
        for node in plan.nodes
        for question, commands in node_questions(node, plan, contexts[node.name], "client").items()
    }
