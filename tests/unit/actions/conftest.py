"""Nobody waits: time moves where somebody sleeps."""

import pytest

from sandbox.actions import join, promote, rolling_upgrade
from sandbox.actions.common import model, turns
from unit.actions.scripted import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (model, turns, promote, join, rolling_upgrade):
        monkeypatch.setattr(module, "time", made)
    return made
