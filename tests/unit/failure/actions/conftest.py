"""Nobody waits: time moves where somebody sleeps."""

import pytest

from sandbox.failure import action
from sandbox.failure.actions import join, promote, rolling_upgrade
from sandbox.failure.actions.common import joining
from unit.failure.actions.scripted import Clock


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    for module in (action, joining, promote, join, rolling_upgrade):
        monkeypatch.setattr(module, "time", made)
    return made
