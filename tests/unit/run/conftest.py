"""Servers for the failover probe, and a world for trials."""

import pymysql
import pytest

from sandbox.actions.common import model as actions_model
from sandbox.run import conductor, interrupted, ledger, operator, probe, trial
from unit.run.probe_rig import FakeServers, links
from unit.run.trial_world import World


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers that PyMySQL, and the probe's own sockets, lead to."""
    found = FakeServers()
    monkeypatch.setattr(pymysql, "connect", found.connect)
    monkeypatch.setattr(links, "open_socket", found.open_socket)
    return found


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """Time stands still but where somebody sleeps."""
    made = World()
    for module in (conductor, interrupted, operator, probe, trial, ledger, actions_model):
        monkeypatch.setattr(module, "time", made)
    return made
