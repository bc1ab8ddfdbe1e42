"""Containers made, filled and started: the archive holds what the file says, and nothing starts
before it is in.
"""

import csv
import io
import os
import signal
import tarfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from sandbox.profile.compose import compose_document
from sandbox.profile.names import Identity
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.create import create, fill, node_archive, start, volume_mount
from sandbox.stack.engine import Docker, RefusedError
from sandbox.stack.inventory import containers
from sandbox.stack.locks import claimed, locked
from unit.stack.fake_docker import FakeDocker, answer
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


def test_a_volume_is_made_where_it_is_filled_as_compose_would_make_it() -> None:
    """A label with a comma stays one field of ``--mount``."""
    document = compose_document(local_plan("mysql"), PLACEHOLDER, Identity("p", "/here, too"))
    mount = volume_mount(document, "p", "mysql1-data")
    (fields,) = csv.reader([mount])
    assert fields[:3] == ["type=volume", "source=p_mysql1-data", "target=/to/mysql1-data"]
    own = document["volumes"]["mysql1-data"]["labels"]
    labels = dict(field.removeprefix("volume-label=").split("=", 1) for field in fields[3:])
    assert labels.keys() == own.keys() | {"com.docker.compose.project", "com.docker.compose.volume"}
    assert (labels["sandbox.stack"], labels["sandbox.checkout"]) == ("p", "/here, too")


def stack(docker: FakeDocker, nodes: Sequence[str] = ("mysql1", "client1")) -> None:
    """Containers, made and not started."""
    for node in nodes:
        labels = {
            "sandbox.stack": "p",
            "sandbox.checkout": "/here",
            "sandbox.node": node,
            "sandbox.kind": "database",
        }
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


def test_servers_start_first_and_replicas_after_their_source() -> None:
    docker = FakeDocker()
    kinds = {"client1": "client", "replica1": "replica", "mysql1": "database", "haproxy1": "proxy"}
    for node, kind in kinds.items():
        labels = {
            "sandbox.stack": "p",
            "sandbox.checkout": "/here",
            "sandbox.node": node,
            "sandbox.kind": kind,
        }
        docker.add(f"id-{node}", labels, "created")
    start(docker, containers(docker, "p"), 1)
    started = [call[1] for call in docker.called("start")]
    assert started[:2] == ["id-mysql1", "id-replica1"]
    assert set(started[2:]) == {"id-client1", "id-haproxy1"}


def test_what_the_engine_refuses_is_said_with_its_reason() -> None:
    docker = FakeDocker()
    stack(docker)
    docker.on("^cp ", answer(code=1, stderr="no space left on device"))
    with pytest.raises(RefusedError) as refused:
        fill(docker, DOCUMENT, containers(docker, "p"), 1)
    assert refused.value.argv[0] == "cp"
    assert refused.value.answer.stderr == "no space left on device"
    assert not docker.called("start")


CLIENT = """#!/bin/sh
touch "$MARKS/begun-$1-$$"
case "$1" in
  cp) sleep 60; touch "$MARKS/copied" ;;
  compose) cat >"$MARKS/read" && sleep 0.5 && touch "$MARKS/compose-ended" ;;
esac
"""


@pytest.fixture
def marks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where a client that is a script of ours says what it did: its `cp` hangs, its `compose` takes
    a while.
    """
    client = tmp_path / "docker"
    client.write_text(CLIENT)
    client.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("MARKS", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@contextmanager
def ctrl_c_once(marks: Path, pattern: str) -> Iterator[None]:
    """Interrupts the main thread as soon as a file of this pattern is there."""

    def interrupt() -> None:
        while not list(marks.glob(pattern)):
            time.sleep(0.01)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    watcher = threading.Thread(target=interrupt, daemon=True)
    watcher.start()
    with pytest.raises(KeyboardInterrupt):
        yield
    watcher.join()


def test_an_interruption_ends_what_copies_since_it_holds_the_lock(marks: Path) -> None:
    names = [f"client{number}" for number in range(1, 9)]
    document: dict[str, Any] = {"services": {name: {} for name in names}, "configs": {}}
    engine = FakeDocker()
    stack(engine, names)
    with locked("p", pytest.fail) as lock, ctrl_c_once(marks, "begun-cp-*"):
        fill(Docker(), document, containers(engine, "p"), lock)
    assert not (marks / "copied").exists(), "it was waited for"
    with claimed(["p"]) as free:
        assert free


def test_an_interruption_lets_compose_end_and_its_removal_finds_all_of_it(marks: Path) -> None:
    with locked("p", pytest.fail) as lock, ctrl_c_once(marks, "read"):
        create(Docker(), {"services": {}, "configs": {}}, "p", lock)
    assert (marks / "compose-ended").exists()
    with claimed(["p"]) as free:
        assert free
