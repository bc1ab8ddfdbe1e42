"""Orchestrator: it is ready once it has seen every server and how they replicate."""

import json
import os
import subprocess
from pathlib import Path
from typing import Any

from contract import stacks

SOURCE = {"Key": {"Hostname": "mysql1"}, "Version": "8.4.11", "ReplicationDepth": 0, "IsLastCheckValid": True}
REPLICA = {**SOURCE, "Key": {"Hostname": "replica1"}, "ReplicationDepth": 1}


def answer(instances: list[dict[str, Any]], folder: Path) -> str:
    """What its readiness command prints where `curl` gets these instances."""
    node = stacks.plan("mysql@8.4+replica1+orchestrator").node("orchestrator1")
    assert node.ready and node.ready.command
    (folder / "curl").write_text(f"#!/bin/sh\ncat {folder}/answer\n", encoding="utf-8")
    (folder / "curl").chmod(0o755)
    (folder / "answer").write_text(json.dumps(instances, separators=(",", ":")), encoding="utf-8")
    environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    ran = subprocess.run(node.ready.command, capture_output=True, text=True, env=environment, check=False)
    return ran.stdout.strip()


def test_it_is_ready_when_all_servers_and_their_replication_are_seen(tmp_path: Path) -> None:
    health = str(stacks.document("mysql@8.4+replica1+orchestrator"))
    assert answer([SOURCE, REPLICA], tmp_path) == "2 servers seen, and replication"
    assert "2 servers seen, and replication" in health
    assert "1 servers seen, and replication" not in str(stacks.document("mysql@8.4+orchestrator"))


def test_a_server_that_was_not_asked_yet_is_not_seen(tmp_path: Path) -> None:
    assert answer([{**SOURCE, "Version": "Unknown"}, REPLICA], tmp_path) == "1 servers seen, and replication"


def test_a_server_that_does_not_answer_is_not_seen(tmp_path: Path) -> None:
    assert answer([{**SOURCE, "IsLastCheckValid": False}, REPLICA], tmp_path) == "1 servers seen, and replication"


def test_replication_that_it_cannot_read_is_not_seen(tmp_path: Path) -> None:
    assert answer([SOURCE, {**REPLICA, "ReplicationDepth": 0}], tmp_path) == "2 servers seen"
