"""The forming script of Group Replication: what it sends its server when it joins, asked of its shell functions."""

import os
import subprocess
from pathlib import Path

from sandbox.places import CHECKOUT

FORMING = CHECKOUT / "compose" / "gr" / "forming.sh"
CLIENT = """#!/bin/sh
cat >"$SENT"
"""


def sent_by(tmp_path: Path, call: str) -> list[str]:
    """The statements that a function of the script gives to the server's client."""
    client, statements = tmp_path / "mysql", tmp_path / "sent"
    client.write_text(CLIENT)
    client.chmod(0o755)
    functions, loop, _ = FORMING.read_text().rpartition("\nwhile :; do")
    assert loop
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SENT": str(statements)}
    nodes = {"SANDBOX_NODE": "gr3", "SANDBOX_NODES": "gr1 gr2 gr3"}
    subprocess.run(["bash", "-c", f"{functions}\n{call}"], env=environment | nodes, check=True, capture_output=True)
    return [line for line in statements.read_text().splitlines() if line]


def test_a_member_that_joins_has_its_seeds_ten_times_while_it_asks_them(tmp_path: Path) -> None:
    """Asked once each, they turn one of two away that join in the same instant, and it asks again 5 s later."""
    statements = sent_by(tmp_path, "start joining")
    begin = statements.index("start group_replication;")
    assert statements[:2] == [
        "set @seeds = @@global.group_replication_group_seeds;",
        "set global group_replication_group_seeds = concat(repeat(concat(@seeds, ','), 9), @seeds);",
    ]
    assert "set global group_replication_group_seeds = @seeds;" in statements[begin:]


def test_only_the_first_member_forms_a_group(tmp_path: Path) -> None:
    for call, switch in (("start joining", "OFF"), ("start forming ON", "ON")):
        statements = sent_by(tmp_path, call)
        begin = statements.index("start group_replication;")
        assert statements[begin - 1] == f"set global group_replication_bootstrap_group = {switch};"
        assert statements[begin + 1] == "set global group_replication_bootstrap_group = OFF;"
