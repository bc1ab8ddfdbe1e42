"""A container that looks into a node; what a client that cannot be entered still gives."""

import io
import tarfile

import pytest

from sandbox.core.errors import SandboxError
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine."""
    return FakeDocker()


def test_it_shares_a_node_and_has_no_more_rights_than_it_needs(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.on("^run", answer("seen\n"))
    stream = stack.stream_within("mysql1", ["python3", "-c", "pass"])
    assert list(stream.lines()) == ["seen"]
    (call,) = docker.called("run")
    words = " ".join(call)
    node = stack.container("mysql1").id
    assert f"--pid container:{node} --network container:{node}" in words
    assert "--rm" in call and "--privileged" not in call
    added = [call[at + 1] for at, word in enumerate(call) if word == "--cap-add"]
    assert added == ["SYS_PTRACE", "SYS_CHROOT", "KILL", "DAC_OVERRIDE"]
    assert call[-4:] == ("python3", stack.client.image, "-c", "pass")
    assert f"sandbox.stack={stack.project}" in call, "`down` would not find it"


def test_an_unknown_node_is_refused(docker: FakeDocker) -> None:
    with pytest.raises(SandboxError) as caught:
        running_stack(docker, "mysql").stream_within("mysql2", ["true"])
    assert "mysql1" in caught.value.known


def test_passwords_are_read_in_the_client(docker: FakeDocker) -> None:
    docker.on("cat /sandbox/passwords", answer("one\ntwo\n"))
    assert running_stack(docker, "mysql").secrets() == {"one", "two"}


def test_passwords_are_read_past_a_client_that_is_frozen(docker: FakeDocker) -> None:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        member = tarfile.TarInfo("passwords")
        member.size = 8
        archive.addfile(member, io.BytesIO(b"one\ntwo\n"))
    docker.on("cat /sandbox/passwords", answer(code=1, stderr="Container is paused"))
    docker.on("^cp .*:/sandbox/passwords -$", answer(packed.getvalue().decode()))
    assert running_stack(docker, "mysql").secrets() == {"one", "two"}


def test_without_any_passwords_nothing_is_masked_and_that_is_an_error(docker: FakeDocker) -> None:
    docker.on("cat /sandbox/passwords", answer(code=1, stderr="no such container"))
    docker.on("^cp", answer(code=1, stderr="no such container"))
    with pytest.raises(SandboxError):
        running_stack(docker, "mysql").secrets()
