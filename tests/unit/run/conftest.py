"""Servers for the failover probe."""

import pymysql
import pytest

from unit.run.probe_rig import FakeServers, links


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers that PyMySQL, and the probe's own sockets, lead to."""
    found = FakeServers()
    monkeypatch.setattr(pymysql, "connect", found.connect)
    monkeypatch.setattr(links, "open_socket", found.open_socket)
    return found
