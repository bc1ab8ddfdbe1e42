"""Probe scripts, run for real with a client that answers what the test says."""

import socket
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.profile.compose import about
from sandbox.profile.files import ask_commands, client_questions, question_script, ready_commands
from sandbox.profile.library import Question
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import PLACEHOLDER, node_context
from unit.profile.small_library import plan


@pytest.fixture
def stack() -> Plan:
    """A server behind a proxy."""
    return plan("mysql+balancer+fancy")


def _programs(folder: Path, **programs: str) -> None:
    for name, commands in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{commands}\n")
        (folder / name).chmod(0o755)


def run(script: str, folder: Path, client: str, grep: str = "exit 0") -> tuple[int, str]:
    """Exit status and answer of a script where ``mysql`` is this shell script; ``grep``: how it
    finds a listener.
    """
    _programs(folder, mysql=client, grep=grep)
    done = subprocess.run(
        ["sh"],
        input=script,
        env={"PATH": f"{folder}:/usr/bin:/bin"},
        text=True,
        capture_output=True,
    )
    return done.returncode, done.stdout


def script_of(stack: Plan, probe: Question, name: str = "mysql1") -> str:
    """The ready script of a probe on a node."""
    node: Node = stack.node(name)
    return ready_commands(probe, node, stack, node_context(stack, node, PLACEHOLDER))


@pytest.mark.parametrize(
    ("client", "status", "answer"),
    [
        ("echo 3,Primary,4", 0, "3,Primary,4\n"),
        ("echo 2,Primary,4", 1, "2,Primary,4\n"),
        ("echo 3,Primary,4; exit 1", 1, "3,Primary,4\n"),
        ("echo 'ERROR 2003: no server' >&2; exit 1", 1, "ERROR 2003: no server\n"),
        ("exit 1", 1, "no answer\n"),
        ("true", 1, "no answer\n"),
    ],
)
def test_ready_is_the_one_expected_answer(
    stack: Plan, tmp_path: Path, client: str, status: int, answer: str
) -> None:
    assert run(
        script_of(stack, Question(query="select 1", expect="3,Primary,4")), tmp_path, client
    ) == (status, answer)


def test_no_client_is_started_while_nothing_listens(stack: Plan, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        node = replace(stack.node("mysql1"), ports={"sql": port})
        context = node_context(stack, node, PLACEHOLDER)
        script = ready_commands(Question(query="select 1", expect="1"), node, stack, context)
        assert run(script, tmp_path, "echo 1", 'exec /usr/bin/grep "$@"') == (0, "1\n")
    refused = f"nothing listens on port {port} yet\n"
    assert run(script, tmp_path, "echo 1", 'exec /usr/bin/grep "$@"') == (1, refused)


@pytest.mark.parametrize("status", [2, 127])
def test_where_listeners_cannot_be_seen_the_client_is_asked(
    stack: Plan, tmp_path: Path, status: int
) -> None:
    script = script_of(stack, Question(query="select 1", expect="1"))
    assert run(script, tmp_path, "echo 1", f"exit {status}") == (0, "1\n")


def test_a_question_reaches_the_client_as_one_argument(stack: Plan, tmp_path: Path) -> None:
    script = script_of(stack, Question(query="select 'it''s $HOME',\n  `x`", expect="x"))
    _, answer = run(script, tmp_path, 'while [ "$1" != -e ]; do shift; done; printf "%s\\n" "$2"')
    assert answer == "select 'it''s $HOME', `x`\n"


def test_text_of_several_lines_arrives_as_it_is(stack: Plan, tmp_path: Path) -> None:
    """A proof may be a Python program: its indentation means something."""
    program = "for each in (1, 2):\n    print(each)\nprint('end')\n"
    probe = Question(command=["python3", "-c", program], expect="x")
    node = stack.node("mysql1")
    questions = {
        "first": "exit 3\n",
        "ask": ask_commands(probe, node, stack, node_context(stack, node, PLACEHOLDER)),
    }
    (tmp_path / "probe").write_text(question_script(questions))
    done = subprocess.run(["sh", str(tmp_path / "probe"), "ask"], text=True, capture_output=True)
    assert (done.returncode, done.stdout) == (0, "1\n2\nend\n"), done.stderr


def test_the_password_comes_from_a_file(stack: Plan) -> None:
    script = script_of(stack, Question(query="select 1", expect="1"))
    assert "--defaults-file=/sandbox/client.cnf" in script
    assert PLACEHOLDER.root not in script


def test_a_command_is_asked_as_it_is(stack: Plan, tmp_path: Path) -> None:
    probe = Question(command=["sh", "-c", "echo {{ node.name }} | tr a-z A-Z"], expect="MYSQL1")
    assert run(script_of(stack, probe), tmp_path, "exit 9") == (0, "MYSQL1\n")


def test_a_command_without_an_expected_answer_says_it_by_its_exit_status(
    stack: Plan, tmp_path: Path
) -> None:
    role = Question(command=["sh", "-c", "echo writer"], expect=None)
    assert run(script_of(stack, role), tmp_path, "exit 9") == (0, "writer\n")
    refused = Question(command=["sh", "-c", "echo behind; exit 1"], expect=None)
    assert run(script_of(stack, refused), tmp_path, "exit 9") == (1, "behind\n")


def test_what_is_asked_from_the_client_names_the_node_and_its_entry_port(stack: Plan) -> None:
    contexts = {node.name: node_context(stack, node, PLACEHOLDER) for node in stack.nodes}
    scripts = client_questions(stack, contexts)
    assert set(scripts) == {"ready-balancer1", "proof-fancy-balancer1"}
    assert "-h balancer1 -P 3306" in scripts["ready-balancer1"]
    assert "--defaults-file=/sandbox/app.cnf" in scripts["ready-balancer1"]


def test_an_ask_script_prints_whatever_the_answer_is(stack: Plan, tmp_path: Path) -> None:
    node = stack.node("mysql1")
    script = ask_commands(
        Question(query="select 1"), node, stack, node_context(stack, node, PLACEHOLDER)
    )
    assert run(script, tmp_path, "echo reader") == (0, "reader\n")


def test_the_label_has_what_later_commands_need_and_no_password(stack: Plan) -> None:
    described = about(
        stack, stack.node("balancer1"), node_context(stack, stack.node("balancer1"), PLACEHOLDER)
    )
    assert described["ports"] == {"rw": 3306, "ro": 3307, "stats": 8404}
    assert described["admin_ports"] == ["stats"]
    assert described["proofs"] == {"fancy": {"via": "client", "expect": "fancy"}}
    assert not any(password in str(described) for password in PLACEHOLDER.passwords())


def test_a_probe_answers_the_question_it_is_asked_and_no_other(stack: Plan, tmp_path: Path) -> None:
    node = stack.node("mysql1")
    context = node_context(stack, node, PLACEHOLDER)
    query = Question(query="select 1", expect="writer")
    questions = {
        "ready": ready_commands(query, node, stack, context),
        "role": ask_commands(query, node, stack, context),
    }
    probe = tmp_path / "probe"
    probe.write_text(question_script(questions))
    _programs(tmp_path, mysql="echo reader", grep="exit 0")

    def ask(question: str) -> tuple[int, str, str]:
        argv = ["sh", str(probe), question]
        done = subprocess.run(
            argv, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, text=True, capture_output=True
        )
        return done.returncode, done.stdout, done.stderr

    assert ask("ready") == (1, "reader\n", "")
    assert ask("role") == (0, "reader\n", "")
    assert ask("proof-x") == (2, "", "no such question; here: ready role\n")
