"""Packs carried out by Docker Compose alone: the exit code says what came, and nothing is left."""

import re
import subprocess
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from integration.live import SANDBOX, run

CLEARS_LINE = re.compile(r"\x1b\[\d*K")
pytestmark = [pytest.mark.docker, pytest.mark.own_stack]


@pytest.fixture
def project() -> Iterator[str]:
    """The name of a Compose project; of its containers, networks and volumes nothing is left."""
    name = f"pack-{uuid.uuid4().hex[:8]}"
    yield name
    label = f"label=com.docker.compose.project={name}"
    for kind in (("ps", "-aq"), ("network", "ls", "-q"), ("volume", "ls", "-q")):
        assert not run(["docker", *kind, "--filter", label]).stdout


def carried_out(repro: str, project: str, folder: Path, *argv: str) -> tuple[int, list[str]]:
    """The exit code of a pack, and what its service printed."""
    run([SANDBOX, "pack", repro, "--local", "--to", str(folder), *argv])
    compose = ["docker", "compose", "-f", str(folder / "compose.yaml"), "-p", project]
    try:
        done = subprocess.run(
            [*compose, "up", "--exit-code-from", "repro", "--no-log-prefix"],
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
    finally:
        mounted = mounted_volumes(project)
        run([*compose, "down", "-v"])
    left = {*mounted} & {*run(["docker", "volume", "ls", "-q"]).stdout.split()}
    assert mounted and not left
    printed = CLEARS_LINE.sub("", done.stdout + done.stderr)
    return done.returncode, printed.splitlines()


def mounted_volumes(project: str) -> list[str]:
    """The volumes of a project's containers: those of the images have no label of Compose."""
    label = f"label=com.docker.compose.project={project}"
    containers = run(["docker", "ps", "-aq", "--filter", label]).stdout.split()
    form = '{{range .Mounts}}{{if eq .Type "volume"}}{{.Name}} {{end}}{{end}}'
    return run(["docker", "inspect", "-f", form, *containers]).stdout.split()


def test_two_sessions_that_wait_for_each_other(project: str, tmp_path: Path) -> None:
    code, lines = carried_out("gap-lock-deadlock", project, tmp_path)
    assert code == 0, "\n".join(lines)
    verdict = next(line for line in lines if line.startswith("reproduced: "))
    assert "error 1213: Deadlock found" in verdict
    servers = yaml.safe_load((tmp_path / "compose.yaml").read_text())["services"]
    assert not [line for line in lines if "InnoDB" in line], "a server's log is shown"
    assert [*servers] == ["mysql1", "repro"]


def test_a_version_in_which_it_is_fixed(project: str, tmp_path: Path) -> None:
    repro = "snapshot-isolation-1020"
    code, lines = carried_out(repro, project, tmp_path, "--versions", "10.11")
    assert code == 1, "\n".join(lines)
    assert any(line.startswith("fixed: update: ok, 1 rows affected") for line in lines)


@pytest.mark.long
@pytest.mark.parametrize(
    "repro",
    ["cascade-delete-replica", "sequence-twice", "cascade-delete-group", "semisync-phantom"],
)
def test_replicas_and_clusters_form_by_themselves(repro: str, project: str, tmp_path: Path) -> None:
    code, lines = carried_out(repro, project, tmp_path)
    assert code == 0, "\n".join(lines)
