"""A node for each test, whose server ends with it; nobody waits for what does not come."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.faults import disk_full
from sandbox.faults.common import model
from unit.faults.fake_node import FakeNode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[FakeNode]:
    made = FakeNode(tmp_path / "node")
    yield made
    made.close()


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model.soon, "__defaults__", (0.0,))
    monkeypatch.setattr(disk_full, "SETTLE_S", 0.0)
