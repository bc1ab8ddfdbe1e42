"""The forming script of Group Replication: what it sends its server when it joins, asked of its
shell functions.
"""

import os
import subprocess
from pathlib import Path

from sandbox.core.paths import CHECKOUT

FORMING = CHECKOUT / "compose" / "gr" / "forming.sh"
CLIENT = """#!/bin/sh
cat >"$SENT"
"""


def run(tmp_path: Path, call: str) -> str:
    """What a call of the script's functions prints; the client answers as `CLIENT` does."""
    client = tmp_path / "mysql"
    client.write_text(CLIENT)
    client.chmod(0o755)
    functions, loop, _ = FORMING.read_text().rpartition("\nwhile :; do")
    assert loop
    environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}", "SENT": str(tmp_path / "sent")}
    nodes = {"SANDBOX_NODE": "gr3", "SANDBOX_NODES": "gr1 gr2 gr3", "SANDBOX_REPLICA": "replica"}
    argv = ["bash", "-c", f"{functions}\n{call}"]
    return subprocess.run(
        argv, env=environment | nodes, check=True, capture_output=True, text=True, timeout=60
    ).stdout


def sent_by(tmp_path: Path, call: str) -> list[str]:
    """The statements that a function of the script gives to the server's client."""
    run(tmp_path, call)
    return [line for line in (tmp_path / "sent").read_text().splitlines() if line]


def test_a_member_that_joins_has_its_seeds_ten_times_while_it_asks_them(tmp_path: Path) -> None:
    """Asked once each, they turn one of two away that join in the same instant, and it asks again 5
    s later.
    """
    statements = sent_by(tmp_path, "start joining")
    begin = statements.index("start group_replication;")
    assert statements[:2] == [
        "set @seeds = @@global.group_replication_group_seeds;",
        (
            "set global group_replication_group_seeds = concat(repeat(concat(@seeds, ','), 9),"
            " @seeds);"
        ),
    ]
    assert "set global group_replication_group_seeds = @seeds;" in statements[begin:]


def test_only_the_first_member_forms_a_group(tmp_path: Path) -> None:
    for call, switch in (("start joining", "OFF"), ("start forming ON", "ON")):
        statements = sent_by(tmp_path, call)
        begin = statements.index("start group_replication;")
        assert statements[begin - 1] == f"set global group_replication_bootstrap_group = {switch};"
        assert statements[begin + 1] == "set global group_replication_bootstrap_group = OFF;"


def test_a_forced_membership_that_nobody_cleared_keeps_no_member_out(tmp_path: Path) -> None:
    statements = sent_by(tmp_path, "start joining")
    cleared = statements.index("set global group_replication_force_members = '';")
    assert cleared < statements.index("start group_replication;")


def test_nobody_leaves_while_another_membership_is_forced(tmp_path: Path) -> None:
    """The stop would wait for that statement, and then a minute for a view that it has missed."""
    (tmp_path / "sent").touch()
    for answer, sent in (("1", ""), ("0", "stop group_replication;")):
        run(tmp_path, f"ask() {{ answer={answer}; }}; leave 'in no group'")
        assert (tmp_path / "sent").read_text().strip() == sent


def test_a_connection_that_has_ended_ends_nothing_but_the_question(tmp_path: Path) -> None:
    """Bash unsets a coprocess that has ended; the loop then connects again. No answer counts for a
    later question.
    """
    call = """
        coproc own { read -r _; echo 1; }
        ask 'select 1'; echo "answer: $answer"
        while [ -n "${own_PID-}" ]; do sleep 0.01; done
        drop_channel; unreadable || echo 'nothing is known'
        ask 'select 1' || echo "no answer: $answer"
    """
    assert run(tmp_path, call).splitlines() == ["answer: 1", "nothing is known", "no answer: "]
    assert not (tmp_path / "sent").exists()


def test_a_question_to_a_connection_that_is_just_ending_does_not_end_the_script(
    tmp_path: Path,
) -> None:
    """A server that loses the first connection while the host is busy: bash has not unset the
    coprocess yet, and writes into a pipe that nobody reads.
    """
    call = """
        own=(9 8)
        exec 9</dev/null 8> >(exit)
        sleep 0.2
        ask 'select 1' || echo "no answer: $answer"
    """
    assert run(tmp_path, call) == "no answer: \n"


def test_the_question_of_a_repair_keeps_the_answer_about_the_position(tmp_path: Path) -> None:
    """What this node holds is compared with the others' afterwards: with another answer no group
    ever forms.
    """
    coproc = "ask() { answer=0; }\n"
    assert (
        run(tmp_path, f"{coproc}answer='OFFLINE|0|a:1-64'\nrepaired || echo \"$answer\"")
        == "OFFLINE|0|a:1-64\n"
    )
