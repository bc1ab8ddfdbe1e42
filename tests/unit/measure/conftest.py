"""Servers for the failover prober, and a world for trials."""

import pymysql
import pytest

from unit.measure.trial.prober_rig import FakeServers, links
from unit.measure.trial.trial_world import World, made_world


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers that PyMySQL, and the prober's own sockets, lead to."""
    found = FakeServers()
    monkeypatch.setattr(pymysql, "connect", found.connect)
    monkeypatch.setattr(links, "open_socket", found.open_socket)
    return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Time stands still but where somebody sleeps."""
    return made_world(monkeypatch)
