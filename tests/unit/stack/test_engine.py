"""The docker client as a subprocess: captured, bounded, its failures in three lines."""

import os
import sys
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.asked_ahead import ask_ahead
from sandbox.stack.engine import Docker, RefusedError
from unit.stack.fake_docker import answer

CLIENT = f"""#!/bin/sh
case "$1" in
  echo) cat ;;
  where) pwd; exec '{sys.executable}' -I -S -c 'import os; print(os.getpgrp())' ;;
  fail) echo first >&2; echo 'the reason' >&2; exit 7 ;;
  hang) sleep 60; touch "$0.went-on" ;;
  lines) echo out; echo err >&2 ;;
  count) echo >>"$0.calls"; wc -l <"$0.calls" ;;
esac
"""


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Docker:
    """A client that is a script of ours."""
    client = tmp_path / "docker"
    client.write_text(CLIENT)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    return Docker()


def test_input_and_output_are_handed_through(docker: Docker) -> None:
    assert docker.ask("echo", stdin="galera$3\n") == "galera$3\n"


def test_no_file_of_the_current_folder_has_a_say(docker: Docker) -> None:
    assert docker.ask("where").splitlines()[0] == "/"


def test_a_client_runs_in_a_process_group_of_its_own(docker: Docker) -> None:
    assert int(docker.ask("where").splitlines()[1]) != os.getpgrp()


def test_a_failure_is_three_lines_that_end_in_its_reason(docker: Docker) -> None:
    with pytest.raises(SandboxError) as failed:
        docker.ask("fail")
    assert failed.value.lines()[:2] == ["docker fail failed with exit code 7", "the reason"]
    assert failed.value.exit_code == ExitCode.ENVIRONMENT


def test_a_client_that_hangs_is_ended(docker: Docker, tmp_path: Path) -> None:
    with pytest.raises(TimeoutError):
        docker.answer("hang", timeout_s=0.2)
    assert not (tmp_path / "docker.went-on").exists()


def test_a_stream_carries_output_and_errors(docker: Docker) -> None:
    assert sorted(docker.stream("lines").lines()) == ["err", "out"]


def test_an_answer_asked_ahead_is_given_out_once(docker: Docker) -> None:
    ask_ahead(("count", "a"))
    assert [docker.ask("count", "a").strip() for _ in range(2)] == ["1", "2"]


def test_a_question_ahead_without_a_client_is_left_to_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    ask_ahead(("count", "b"))
    with pytest.raises(SandboxError, match="there is no docker client"):
        Docker().ask("count", "b")


def test_without_a_client_the_message_says_how_to_get_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SandboxError) as missing:
        Docker().ask("ps")
    assert missing.value.exit_code == ExitCode.ENVIRONMENT
    assert "bootstrap" in missing.value.next_step


@pytest.mark.parametrize(
    ("stderr", "what", "next_step"),
    [
        (
            (
                "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker"
                " daemon running?"
            ),
            "does not answer",
            "make doctor",
        ),
        (
            "permission denied while trying to connect to the Docker daemon socket",
            "no permission",
            "usermod",
        ),
        (
            "docker: unknown command: docker compose\n\nRun 'docker --help'",
            "no Compose v2",
            "bootstrap",
        ),
        (
            "docker: 'compose' is not a docker command.\nSee 'docker --help'",
            "no Compose v2",
            "bootstrap",
        ),
    ],
)
def test_known_failures_say_what_helps(stderr: str, what: str, next_step: str) -> None:
    shown = RefusedError(["ps"], answer(code=1, stderr=stderr))
    assert what in shown.what
    assert next_step in shown.next_step
