"""Servers of one's own on a real engine: images by term, a binary, the X protocol."""

import json
import shutil
import tarfile
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from integration.live import leftovers, run, sandbox
from sandbox.profile.plan import PlanRequest
from sandbox.stack.naming import project_name
from sandbox.stack.planning import planned

pytestmark = pytest.mark.docker

ASKS_X = """
import socket, sys
asked = socket.create_connection((sys.argv[1], 33060), 10)
asked.sendall(bytes([1, 0, 0, 0, 1]))  # CapabilitiesGet
size = int.from_bytes(asked.recv(4, socket.MSG_WAITALL), "little")
text = asked.recv(size, socket.MSG_WAITALL)
print(text[0], b"authentication.mechanisms" in text)
"""
"""A question in the X protocol (mysqlx_connection.proto): prints the type of the answer, 2 is
Capabilities (11 are notices before it), and whether it is one.
"""


@pytest.fixture
def name() -> Iterator[str]:
    """The name of a stack, which is removed afterwards."""
    word = f"t-{uuid.uuid4().hex[:8]}"
    yield word
    sandbox("down", "--name", word, check=False)


def image_of(profile: str) -> str:
    """The image of a profile's last node of its first group, on this machine."""
    sandbox("images", "--profile", profile)
    return planned(PlanRequest(profile)).databases[0].image


def versions(name: str) -> dict[str, tuple[str, str]]:
    """Node → (version, image) of a stack."""
    (stack,) = json.loads(sandbox("ps", "--name", name, "--json").stdout)["stacks"]
    return {node["name"]: (node["version"], node["image"]) for node in stack["nodes"]}


def test_images_of_ones_own_for_a_server_and_a_proxy(name: str) -> None:
    sandbox("images", "--profile", "mariadb@10.11+haproxy@2.6")
    made = planned(PlanRequest("mariadb@10.11+haproxy@2.6"))
    own = {
        node.component.name: f"sandbox-test/{node.component.name}:{name}"
        for node in made.nodes
        if node.name in ("mariadb1", "haproxy1")
    }
    try:
        for node in made.nodes:
            if node.name in ("mariadb1", "haproxy1"):
                text = f"FROM {node.image}\nLABEL own={name}\n"
                run(["docker", "build", "-q", "-t", own[node.component.name], "-"], stdin=text)
        given = f"mariadb={own['mariadb']} haproxy1={own['haproxy']}"
        up = ("up", "--name", name, "--profile", "mariadb+haproxy", "--snapshots", "0")
        wrong = sandbox(*up, "--image", f"haproxy={own['mariadb']}", check=False)
        assert wrong.returncode == 2 and len(wrong.stderr.splitlines()) == 3
        assert "is no image of haproxy" in wrong.stderr
        assert not leftovers(f"sandbox.stack={project_name(name)}")
        sandbox(*up, "--image", given)
        found = versions(name)
        assert found["mariadb1"][0].startswith("10.11.") and found["mariadb1"][1] == own["mariadb"]
        assert found["haproxy1"][0].startswith("2.6.") and found["haproxy1"][1] == own["haproxy"]
        other = sandbox(*up, check=False)
        assert other.returncode == 2 and "IMAGE was mariadb=" in other.stderr
    finally:
        sandbox("down", "--name", name)
        run(["docker", "rmi", *own.values()], check=False)


@pytest.mark.long
def test_a_binary_runs_under_the_contract_of_the_published_image(name: str, tmp_path: Path) -> None:
    image = image_of("mariadb@10.11")
    container = run(["docker", "create", image]).stdout.strip()
    archive = tmp_path / "image.tar"
    try:
        run(["docker", "export", "--output", str(archive), container])
    finally:
        run(["docker", "rm", container])
    tree = tmp_path / "tree"
    wanted = ("usr/sbin/m", "usr/bin/m", "usr/bin/resolveip", "usr/share/m", "usr/lib/mysql")
    with tarfile.open(archive) as file:
        members = [each for each in file.getmembers() if each.name.startswith(wanted)]
        file.extractall(tree, members, filter="tar")
    archive.unlink()
    given = f"mariadb={tree}"
    up = ("up", "--name", name, "--profile", "mariadb+replica1", "--binary", given)
    sandbox(*up, "--snapshots", "0")
    found = versions(name)
    version, built = found["mariadb1"]
    try:
        assert version.startswith("10.11.")
        assert built.startswith("sandbox/mariadb:10.11.") and "-binary-" in built
        assert found["replica1"] == found["mariadb1"]
        sandbox("sql", "--name", name, "--execute", "create schema own")
        sandbox("stop", "--name", name)
        sandbox("start", "--name", name)
        shown = sandbox("sql", "--name", name, "--node", "replica1", "--execute", "show schemas")
        assert "own" in shown.stdout
        again = sandbox("plan", "--profile", "mariadb", "--binary", given, "--json")
        assert json.loads(again.stdout)["nodes"][0]["image"] == built, "it is there by now"
        refused = sandbox("plan", "--profile", "mysql", "--binary", f"mysql={tree}", check=False)
        assert refused.returncode == 2 and "has the server mariadbd" in refused.stderr
    finally:
        sandbox("down", "--name", name)
        run(["docker", "rmi", built], check=False)
        shutil.rmtree(tree)


@pytest.mark.long
def test_the_x_protocol_answers_on_its_port(name: str) -> None:
    up = ("up", "--name", name, "--profile", "mysql@9.7", "--snapshots", "0")
    sandbox(*up, "--set", "mysqlx=ON")
    asked = ("exec", "--name", name, "client1", "--", "python3", "-c", ASKS_X, "mysql1")
    assert sandbox(*asked).stdout.split() in (["2", "True"], ["11", "False"])
