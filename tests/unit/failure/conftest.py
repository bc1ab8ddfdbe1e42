"""A node for each test, whose server ends with it; nobody waits for what does not come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.failure import fault
from sandbox.failure.faults import disk_full
from unit.failure.faults.fake_node import FakeNode
from unit.failure.faults.recording_node import RecordingNode
from unit.fake_stack import FakeStack


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FakeNode]:
    made = FakeNode(tmp_path / "node")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fault.soon, "__defaults__", (0.0,))
    monkeypatch.setattr(disk_full, "SETTLE_S", 0.0)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What is broken is written down here."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path


@pytest.fixture
def log() -> list[str]:
    """What was done to any node, in order."""
    return []


@pytest.fixture
def stack(log: list[str]) -> FakeStack:
    """A source, its replica and a client."""
    made = FakeStack()
    for node in made.members:
        made.controls[node.name] = RecordingNode(node.name, node.kind, log)
    return made
