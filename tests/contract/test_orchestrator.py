"""Orchestrator: it is ready once it has seen every server and how they replicate now."""

import json
import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from contract import stacks
from sandbox.profile.files import expected_answer, ready_commands
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables
from sandbox.report.plan import plan_document
from sandbox.report.render import terminal

SOURCE = {
    "Key": {"Hostname": "mysql1"},
    "Version": "8.4.11",
    "ReplicationDepth": 0,
    "IsLastCheckValid": True,
}
REPLICA = {**SOURCE, "Key": {"Hostname": "replica1"}, "ReplicationDepth": 1}
FOLLOWS = "*** 1. row ***\\n  Source_Host: mysql1\\n  Replica_IO_Running: Yes"
DETACHED = {**SOURCE, "Key": {"Hostname": "replica1"}}


@contextmanager
def serving(instances: list[dict[str, Any]]) -> Iterator[int]:
    """The port of a server that answers what Orchestrator would."""

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(instances, separators=(",", ":")).encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  (its name there)
            """Prints nothing."""

    with HTTPServer(("127.0.0.1", 0), Answers) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


def answer(
    instances: list[dict[str, Any]], folder: Path, follows: str = "replica1"
) -> tuple[bool, str]:
    """Whether it is ready, and what its question prints, where Orchestrator lists these instances.

    ``follows``: the server that has a source, by its own words.
    """
    plan = stacks.plan("mysql@8.4+replica1+orchestrator")
    node = plan.node("orchestrator1")
    assert node.ready
    (folder / "mariadb").write_text(
        f"#!/bin/sh\n[ \"$3\" != {follows or 'nobody'} ] || printf '{FOLLOWS}\\n'\n",
        encoding="utf-8",
    )
    (folder / "mariadb").chmod(0o755)
    with serving(instances) as port:
        script = ready_commands(node.ready, node, plan, node_context(plan, node, PLACEHOLDER))
        script = script.replace("/dev/tcp/orchestrator1/3000", f"/dev/tcp/127.0.0.1/{port}")
        environment = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
        ran = subprocess.run(
            ["bash"], input=script, capture_output=True, text=True, env=environment, check=False
        )
    return ran.returncode == 0, ran.stdout.strip()


@pytest.mark.parametrize(
    ("instances", "follows", "ready", "said"),
    [
        ([SOURCE, REPLICA], "replica1", True, "2 servers seen, and replication"),
        (
            [{**SOURCE, "Version": "Unknown"}, REPLICA],
            "replica1",
            False,
            "1 servers seen, and replication",
        ),
        (
            [{**SOURCE, "IsLastCheckValid": False}, REPLICA],
            "replica1",
            False,
            "1 servers seen, and replication",
        ),
        ([SOURCE, {**REPLICA, "ReplicationDepth": 0}], "replica1", False, "2 servers seen"),
        # After a failover of the only replica nobody follows anybody, and the old source is back.
        ([SOURCE, DETACHED], "", True, "2 servers seen"),
        ([SOURCE, DETACHED], "mysql1", False, "2 servers seen"),
    ],
)
def test_it_is_ready_when_it_sees_all_servers_and_the_replication_that_they_have(
    tmp_path: Path, instances: list[dict[str, Any]], follows: str, ready: bool, said: str
) -> None:
    assert answer(instances, tmp_path, follows) == (ready, said)


@pytest.mark.parametrize(
    ("profile", "variable"),
    [
        ("mysql@9.7+replica1+orchestrator", "replica_net_timeout"),
        ("ps@8.0+replica1+orchestrator", "replica_net_timeout"),
        ("mysql@5.6+replica1+orchestrator", "slave_net_timeout"),
        ("mysql@5.7+replica1+orchestrator", "slave_net_timeout"),
        ("mariadb@11.8+replica1+orchestrator", "slave_net_timeout"),
        ("mariadb@11.8+replica1+maxscale", "slave_net_timeout"),
    ],
)
@pytest.mark.parametrize("given", ["", "60"])
def test_replicas_notice_a_silent_source_and_prove_it(
    profile: str, variable: str, given: str
) -> None:
    """What promotes goes by what the replicas say; SET= wins, and the plan says what it wins
    over.
    """
    assignments = (f"{variable}={given}",) if given else ()
    plan = make_plan(PlanRequest(profile, assignments), stacks.LIBRARY, stacks._ONLINE)
    manager = profile.rpartition("+")[2]
    for node in plan.databases:
        context = node_context(plan, node, PLACEHOLDER)
        assert effective_variables(node, context)[variable] == (given or "4")
        (proof,) = [variant.proof for name, variant in node.applied if name == f"{manager}-servers"]
        assert expected_answer(proof, node, context) == f"{given or 4},heartbeats in time"
        note = f"note     {node.name}: {manager} asks for {variable}=4; SET has 60, and wins"
        assert (note in terminal.lines(plan_document(plan))) == bool(given)


def test_servers_that_nobody_promotes_keep_their_own_patience() -> None:
    plan = stacks.plan("galera3+maxscale")
    for node in (*plan.databases, *stacks.plan("mysql@9.7+replica1").databases):
        assert not any(name.endswith("-servers") for name in node.settings)
