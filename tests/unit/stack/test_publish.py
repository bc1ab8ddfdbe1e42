"""PUBLISH=1: free ports on 127.0.0.1 through one helper container, no node touched."""

import json
from pathlib import Path

import pytest

from sandbox.core.errors import SandboxError
from sandbox.stack.inventory import HELPER
from sandbox.stack.protocol import ExecResult
from sandbox.stack.publish import Address, addresses, publish
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine that makes containers as a test says."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()

    def create(argv: tuple[str, ...]) -> ExecResult:
        labels = dict(argv[i + 1].split("=", 1) for i, word in enumerate(argv) if word == "--label")
        inner = [
            argv[i + 1].rpartition(":")[2] for i, word in enumerate(argv) if word == "--publish"
        ]
        ports = ", ".join(f"127.0.0.1:{int(port) + 30000}->{port}/tcp" for port in inner)
        fake.add(argv[argv.index("--name") + 1], labels, state="running", ports=ports)
        return answer()

    fake.on("^create", create)
    return fake


def created(docker: FakeDocker) -> tuple[str, ...]:
    """The one container that was made."""
    (call,) = docker.called("create")
    return call


def test_every_port_gets_a_free_one_on_loopback(docker: FakeDocker) -> None:
    stack = publish(running_stack(docker, "mysql+balancer"), Events())
    found = [address for address in addresses(stack) if address.node in ("mysql1", "balancer1")]
    assert found == [
        Address("mysql1", "sql", "127.0.0.1", 40000),
        Address("balancer1", "rw", "127.0.0.1", 40001),
        Address("balancer1", "ro", "127.0.0.1", 40002),
        Address("balancer1", "stats", "127.0.0.1", 40003),
    ]
    options = [word for word in created(docker) if word.startswith("127.0.0.1::")]
    assert len(options) == 4 and not [word for word in created(docker) if "0.0.0.0" in word]
    assert (
        "socat TCP-LISTEN:10002,fork,reuseaddr TCP:balancer1:3307 &"
        in created(docker)[-1].splitlines()
    )


def test_no_node_is_made_anew_and_the_helper_is_none_of_them(docker: FakeDocker) -> None:
    before = running_stack(docker, "mysql+balancer")
    after = publish(before, Events())
    assert [each.id for each in after.members] == [each.id for each in before.members]
    assert after.publisher is not None and after.publisher.kind == HELPER
    assert "publish1" not in {each.node for each in after.members}


def test_the_helper_is_labelled_and_so_is_its_network(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    publish(stack, Events())
    (network,) = docker.called("network", "create")
    assert f"sandbox.stack={stack.project}" in network
    assert f"sandbox.stack={stack.project}" in created(docker)
    forwards = next(word for word in created(docker) if word.startswith("sandbox.forwards="))
    assert json.loads(forwards.partition("=")[2]) == {"10000": ["mysql1", "sql"]}


def test_publishing_twice_publishes_once(docker: FakeDocker) -> None:
    publish(publish(running_stack(docker, "mysql"), Events()), Events())
    assert len(docker.called("create")) == 1


def test_a_stopped_helper_is_started(docker: FakeDocker) -> None:
    stack = publish(running_stack(docker, "mysql"), Events())
    docker.state("publish1", "exited")
    assert publish(stack, Events()).publisher
    assert ("start", f"{stack.project}-publish1") in docker.calls


@pytest.mark.parametrize("fails", ["create", "network connect", "start"])
def test_one_whose_making_failed_is_made_again(docker: FakeDocker, fails: str) -> None:
    def network(argv: tuple[str, ...]) -> ExecResult:
        taken = argv[-1] in docker.networks
        docker.networks.setdefault(argv[-1], {})
        return answer(code=1, stderr="already exists") if taken else answer()

    docker.on("^network create", network)
    stack = running_stack(docker, "mysql")
    docker.on(f"^{fails} ", answer(code=1, stderr="port is already allocated"))
    with pytest.raises(SandboxError):
        publish(stack, Events())
    docker.state("publish1", "created")
    docker.replies.pop(0)
    assert publish(stack, Events()).publisher
    assert len(docker.called("create")) == 2 and docker.calls[-2][0] == "start"


def test_nothing_is_published_of_a_stack_unasked(docker: FakeDocker) -> None:
    assert addresses(running_stack(docker, "mysql")) == []
