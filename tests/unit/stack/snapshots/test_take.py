"""Taking a snapshot: the servers are paused for the end of the copy only."""

import os
from dataclasses import replace
from pathlib import Path

import pytest

from sandbox.stack.snapshots.take import _part_members, _paused
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import running_stack

CLIENT = """#!/bin/sh
echo "$@" >>"$(dirname "$0")/calls"
case $1 in
  inspect) echo true; echo STATE ;;
  *) echo 'Error response from daemon: it is paused already' >&2; exit 1 ;;
esac
"""


@pytest.mark.parametrize("state", ["true", "false"])
def test_servers_are_paused_for_the_block_and_what_the_engine_knows_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, state: str
) -> None:
    """Not what its client says: a container may be paused already, or not freeze at all."""
    (tmp_path / "docker").write_text(CLIENT.replace("STATE", state))
    (tmp_path / "docker").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    servers = running_stack(FakeDocker(), "mysql+replica1").members[:2]
    with _paused(servers) as all_are:
        assert all_are is (state == "true")
        calls = (tmp_path / "calls").read_text().splitlines()
        assert {each for each in calls if each.startswith("pause")} == {
            f"pause {each.id}" for each in servers
        }
    unpaused = [
        each for each in (tmp_path / "calls").read_text().splitlines() if each.startswith("unpause")
    ]
    assert len(unpaused) == 2


@pytest.mark.parametrize(("topology", "parted"), [("galera", 2), ("async", 0)])
def test_members_of_galera_part_before_they_stop_so_that_they_end_at_one_position(
    topology: str, parted: int
) -> None:
    docker = FakeDocker()
    stack = running_stack(docker, "mysql+replica1")
    servers = [each for each in stack.members if each.is_server]
    _part_members(
        stack, [replace(each, about={**each.about, "topology": topology}) for each in servers]
    )
    calls = docker.called("network", "disconnect", "--force", f"{stack.project}_stack")
    assert len({call[-1] for call in calls}) == parted == len(calls)
