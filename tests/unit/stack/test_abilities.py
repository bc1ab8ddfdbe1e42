"""What the engine's kernel can do for a fault: asked once, in one helper."""

import subprocess
from importlib.resources import files
from pathlib import Path

import pytest

import sandbox.stack
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.engine_facts import KERNEL_ABILITIES, WRITE_LIMIT, lacking, read_answers
from sandbox.stack.naming import identity
from unit.stack.fake_docker import FakeDocker, answer

TRIED = (
    "netem no Error: Specified qdisc kind is unknown.\ntbf yes \niptables yes \nwrite-limit no"
    " \ndisk yes 70000\n"
)
OWNER = identity("a")


@pytest.fixture
def docker() -> FakeDocker:
    """An engine without netem, whose control groups limit no writes."""
    fake = FakeDocker()
    fake.on("^run ", answer(TRIED))
    return fake


def test_what_is_missing_has_a_reason(docker: FakeDocker) -> None:
    assert lacking(docker, "client", OWNER) == {
        "netem": "Error: Specified qdisc kind is unknown.",
        "write-limit": "no reason given",
    }


def test_one_helper_answers_for_good(docker: FakeDocker) -> None:
    assert lacking(docker, "client", OWNER) is lacking(docker, "client", OWNER)
    (run,) = docker.called("run")
    assert "--rm" in run and "--privileged" not in run and f"sandbox.stack={OWNER.project}" in run
    assert "/sys/fs/cgroup:/cgroup:ro" in run, "it only looks"


def test_each_engine_is_asked(docker: FakeDocker) -> None:
    assert lacking(docker, "client", OWNER)
    able = FakeDocker()
    able.on("^run ", answer("".join(f"{name} yes \n" for name in KERNEL_ABILITIES)))
    assert not lacking(able, "client", OWNER)


def test_what_does_not_answer_is_missing() -> None:
    silent = FakeDocker()
    silent.on("^run ", answer("netem yes \n"))
    assert lacking(silent, "client", OWNER) == dict.fromkeys(
        ("tbf", "iptables", "write-limit"), "no answer"
    )


def test_a_helper_that_does_not_run_says_nothing_about_the_kernel(docker: FakeDocker) -> None:
    docker.on("^run ", answer(code=125, stderr="docker: no space left on device"))
    with pytest.raises(SandboxError) as refused:
        lacking(docker, "client", OWNER)
    assert (
        refused.value.exit_code is ExitCode.ENVIRONMENT and "no space left" in refused.value.known
    )
    docker.replies.pop(0)
    assert "netem" in lacking(docker, "client", OWNER), "it is asked again"


@pytest.mark.parametrize("has_limit", [True, False])
def test_the_script_tries_and_says_what_it_saw(tmp_path: Path, has_limit: bool) -> None:
    tools = {
        "tc": 'case $* in *"root netem"*) echo first >&2; echo "unknown kind" >&2; exit 2 ;; esac',
        "iptables": "exit 0",
        "hostname": "echo 0123456789ab",
    }
    for name, text in tools.items():
        path = tmp_path / name
        path.write_text(f"#!/bin/sh\n{text}\n")
        path.chmod(0o755)
    group = tmp_path / "cgroup" / "system.slice" / "docker-0123456789abcdef.scope"
    group.mkdir(parents=True)
    if has_limit:
        (group / "io.max").touch()
    text = files(sandbox.stack.__name__).joinpath("abilities.sh").read_text(encoding="utf-8")
    limit = WRITE_LIMIT.replace("/cgroup", str(tmp_path / "cgroup"))
    done = subprocess.run(
        ["sh", "-c", text, "try", limit], capture_output=True, text=True, check=True,
        env={"PATH": f"{tmp_path}:/usr/bin:/bin"},
    )  # fmt: skip
    answers = read_answers(done.stdout)
    assert answers["netem"] == (False, "unknown kind") and answers["tbf"] == answers[
        "iptables"
    ] == (True, "")
    none = "no limit for block devices among the control groups of the container"
    assert answers["write-limit"] == (has_limit, str(group / "io.max") if has_limit else none)
