"""Taking a snapshot: the servers are paused for the end of the copy only."""

import os
from pathlib import Path

import pytest

from sandbox.stack.snapshots.take import _paused
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import running_stack

CLIENT = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
echo 'Error response from daemon: it is paused already' >&2
exit 1
"""


def test_servers_are_paused_for_the_block_even_where_the_client_complains(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docker").write_text(CLIENT)
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    servers = running_stack(FakeDocker(), "mysql+replica1").members[:2]
    with _paused(servers):
        assert sorted((tmp_path / "calls").read_text().splitlines()) == [f"pause {each.id}" for each in servers]
    assert len((tmp_path / "calls").read_text().splitlines()) == 4
