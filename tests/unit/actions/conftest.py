"""Nobody waits: time moves where somebody sleeps."""

import pytest

from sandbox.actions import promote
from sandbox.actions.common import model
from unit.actions.scripted import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (model, promote):
        monkeypatch.setattr(module, "time", made)
    return made
