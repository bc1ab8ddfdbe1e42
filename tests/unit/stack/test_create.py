"""Containers made, filled and started: the archive holds what the file says, and nothing starts before it is in."""

import io
import tarfile

import pytest

from sandbox.plan.compose import Identity, compose_document
from sandbox.plan.secrets import PLACEHOLDER
from sandbox.stack.create import RefusedError, fill, node_archive, start
from sandbox.stack.engine import Answer
from sandbox.stack.inventory import containers
from unit.stack.fake_docker import FakeDocker, FakePending, answer
from unit.stack.small_stack import local_plan

DOCUMENT = compose_document(local_plan("mysql+replica1"), PLACEHOLDER, Identity("p", "/here"))


def unpacked(node: str) -> dict[str, tarfile.TarInfo]:
    """The entries of a node's archive, by path."""
    with tarfile.open(fileobj=io.BytesIO(node_archive(DOCUMENT, node, 7).encode())) as archive:
        return {entry.name: entry for entry in archive.getmembers()}


@pytest.mark.parametrize("node", ["mysql1", "replica1", "client1"])
def test_an_archive_holds_every_file_with_its_mode_and_owner(node: str) -> None:
    mounts = DOCUMENT["services"][node]["configs"]
    entries = unpacked(node)
    assert set(entries) == {mount["target"].lstrip("/") for mount in mounts}
    for mount in mounts:
        entry = entries[mount["target"].lstrip("/")]
        assert (entry.mode, entry.mtime) == (int(mount["mode"]), 7)
        assert (entry.uid, entry.gid) == (int(mount.get("uid", 0)), int(mount.get("gid", 0)))


def test_a_dollar_sign_arrives_as_it_was_written() -> None:
    document = {
        "services": {"a1": {"configs": [{"source": "x", "target": "/x", "mode": 0o444}]}},
        "configs": {"x": {"content": "echo $$HOME $$$$ ä\n"}},
    }
    with tarfile.open(fileobj=io.BytesIO(node_archive(document, "a1", 0).encode())) as archive:
        file = archive.extractfile("x")
        assert file is not None
        assert file.read().decode() == "echo $HOME $$ ä\n"


def stack(docker: FakeDocker) -> None:
    """Two containers, made and not started."""
    for node in ("mysql1", "client1"):
        labels = {"sandbox.stack": "p", "sandbox.checkout": "/here", "sandbox.node": node, "sandbox.kind": "database"}
        docker.add(f"id-{node}", labels, "created")


def test_a_container_starts_with_its_files_in_it() -> None:
    docker = FakeDocker()
    stack(docker)
    fill(docker, DOCUMENT, containers(docker, "p"), 1)
    start(docker, containers(docker, "p"), 1)
    for node in ("mysql1", "client1"):
        own = [call[0] for call in docker.calls if f"id-{node}" in call or f"id-{node}:/" in call]
        assert own == ["cp", "start"]
    assert all(each.running for each in containers(docker, "p"))


def test_what_the_engine_refuses_is_said_with_its_reason() -> None:
    docker = FakeDocker()
    stack(docker)
    docker.on("^cp ", answer(code=1, stderr="no space left on device"))
    with pytest.raises(RefusedError) as refused:
        fill(docker, DOCUMENT, containers(docker, "p"), 1)
    assert refused.value.argv[0] == "cp"
    assert refused.value.answer.stderr == "no space left on device"
    assert not docker.called("start")


def test_an_interruption_ends_every_command_since_each_holds_the_lock(monkeypatch: pytest.MonkeyPatch) -> None:
    docker, ended = FakeDocker(), list[str]()
    stack(docker)
    found = containers(docker, "p")

    def stopped(command: FakePending, timeout_s: float | None = None) -> Answer:
        if "id-mysql1:/" in command.argv:
            raise KeyboardInterrupt
        return answer()

    monkeypatch.setattr(FakePending, "answer", stopped)
    monkeypatch.setattr(FakePending, "end", lambda command: ended.append(command.argv[-1]))
    with pytest.raises(KeyboardInterrupt):
        fill(docker, DOCUMENT, found, 1)
    assert sorted(ended) == ["id-client1:/", "id-mysql1:/"]
