"""MHA: an sshd beside each server reads its logs; a script keeps the manager watching what the
group is by then.
"""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from contract import stacks

PROFILE = "mariadb+replica2+mha+haproxy"
SOURCE = "read_only: 0\n"
ADDRESSES = {
    "mariadb1": "10.0.0.1",
    "replica1": "10.0.0.2",
    "replica2": "10.0.0.3",
    "sshd1": "10.0.1.1",
    "sshd2": "10.0.1.2",
    "sshd3": "10.0.1.3",
}
# Statements are kept in a file for each server; one that is no question may change what the server
# says next.
_MARIADB = """#!/bin/bash
read -ra words <<<"$*"
for number in "${!words[@]}"; do [ "${words[number]}" != -h ] || host=${words[number + 1]}; done
asked=$(cat)
printf '%s\\n' "$asked" >>"$FAKES/asked-$host"
case $asked in
  select*held*) printf 'held: 0-1-7\\n' ;;
  select*) cat "$FAKES/state-$host" ;;
  *) [ ! -f "$FAKES/then-$host" ] || mv "$FAKES/then-$host" "$FAKES/state-$host" ;;
esac
"""
_GETENT = '#!/bin/sh\nsed -n "s/^$4 //p" "$FAKES/addresses"\n'


def follower(
    source: str, by_gtid: str = "Slave_Pos", receiver: str = "Yes", error: str = ""
) -> str:
    """What a replica says of itself, in part."""
    return (
        f"read_only: 1\n*** 1. row ***\n  Master_Host: {source}\n  Slave_IO_Running: {receiver}\n"
        f"  Using_Gtid: {by_gtid}\n  Last_IO_Error: {error}\n"
    )


class Fakes:
    """The group as the script finds it: each server's answers and addresses; then what it makes of
    that.
    """

    def __init__(self, folder: Path, answers: Mapping[str, str]) -> None:
        self.folder = folder
        self.addresses = dict(ADDRESSES)
        script = str(stacks.document(PROFILE)["configs"]["mha-manager"]["content"]).replace(
            "$$", "$"
        )
        for place, here in (
            ("/run/mha", "run"),
            ("/sandbox/mha.cnf", "mha.cnf"),
            ("/etc/hosts", "hosts"),
        ):
            script = script.replace(place, str(folder / here))
        (folder / "manager").write_text(script)
        (folder / "run").mkdir()
        (folder / "mha.cnf").write_text("[server default]\nrepl_password=secret\n")
        for name, text in (("mariadb", _MARIADB), ("getent", _GETENT), ("sleep", "#!/bin/sh\n")):
            (folder / name).write_text(text)
            (folder / name).chmod(0o755)
        for server, text in answers.items():
            self.answers(server, text)

    def answers(self, server: str, text: str, when: str = "state") -> None:
        """Its state from now on, or (``then``) after it was changed."""
        (self.folder / f"{when}-{ADDRESSES[server]}").write_text(text)

    def run(self, *commands: str) -> list[str]:
        """Runs functions of the script in one shell; the lines on both outputs."""
        (self.folder / "addresses").write_text(
            "".join(f"{name} {at}\n" for name, at in self.addresses.items())
        )
        text = f". {self.folder}/manager; {'; '.join(commands)}"
        environment = {
            **os.environ,
            "PATH": f"{self.folder}:{os.environ['PATH']}",
            "FAKES": str(self.folder),
        }
        done = subprocess.run(
            ["bash", "-c", text], capture_output=True, text=True, env=environment, check=False
        )
        return (done.stdout + done.stderr).splitlines()

    def changed(self, server: str) -> str:
        """The statements that a server got, without questions."""
        asked = self.folder / f"asked-{ADDRESSES[server]}"
        lines = asked.read_text().splitlines() if asked.exists() else []
        return "\n".join(line for line in lines if not line.startswith("select"))


@pytest.fixture
def fakes(tmp_path: Path) -> Fakes:
    """A source and two replicas."""
    replica = follower("mariadb1")
    return Fakes(tmp_path, {"mariadb1": SOURCE, "replica1": replica, "replica2": replica})


@pytest.fixture
def failed_over(tmp_path: Path) -> Fakes:
    """The old source is back and follows nobody; MHA has pointed the other replica by file and
    position.
    """
    answers = {
        "mariadb1": "read_only: 1\n",
        "replica1": SOURCE,
        "replica2": follower("replica1", by_gtid="No"),
    }
    return Fakes(tmp_path, answers)


def managed(fakes: Fakes) -> list[str]:
    """Servers in MHA's configuration."""
    lines = (fakes.folder / "run" / "group.cnf").read_text().splitlines()
    return [line.removeprefix("hostname=") for line in lines if line.startswith("hostname=")]


def test_each_sshd_reads_the_volume_of_its_server_and_stands_on_its_host() -> None:
    composed, planned = stacks.document(PROFILE), stacks.plan(PROFILE)
    for companion, server in (("sshd1", "mariadb1"), ("sshd2", "replica1"), ("sshd3", "replica2")):
        assert composed["services"][companion]["volumes"] == [f"{server}-data:/var/lib/mysql:ro"]
        assert composed["services"][server]["volumes"] == [f"{server}-data:/var/lib/mysql"]
        assert planned.node(companion).host_of == server
        assert (
            f'"host_of": "{server}"' in composed["services"][companion]["labels"]["sandbox.about"]
        )


def test_replicas_keep_the_relay_logs_that_others_are_completed_from() -> None:
    composed = stacks.document(PROFILE)
    for server in ("mariadb1", "replica1"):
        mounted = {
            each["target"]: each["source"] for each in composed["services"][server]["configs"]
        }
        assert (
            "relay_log_purge = OFF"
            in composed["configs"][mounted["/etc/mysql/conf.d/50-sandbox.cnf"]]["content"]
        )


@pytest.mark.parametrize(
    "profile", ["mariadb+mha", "mariadb+replica+mha2", "mysql+replica+mha", "galera3+replica+mha"]
)
def test_it_stands_once_before_replicas_of_a_mariadb_server(profile: str) -> None:
    assert stacks.refusal(profile)


def test_mha_gets_the_source_and_those_that_follow_it(fakes: Fakes) -> None:
    assert fakes.run("survey", "pin", "configure", "echo $source") == ["mariadb1"]
    text = (fakes.folder / "run" / "group.cnf").read_text()
    assert managed(fakes) == ["mariadb1", "replica1", "replica2"]
    assert "[server2]\nhostname=replica1\nip=10.0.0.2\nssh_host=sshd2\n" in text
    assert "10.0.1.1 sshd1" in (fakes.folder / "hosts").read_text()


def test_an_unreachable_source_is_managed_for_it_is_what_must_be_replaced(fakes: Fakes) -> None:
    fakes.answers("mariadb1", "")
    fakes.run("survey", "pin", "configure")
    assert managed(fakes) == ["mariadb1", "replica1", "replica2"]


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ("true", "current"),
        ("read_only[replica1]=0; source=replica1", "outdated"),
        ("place[replica2]='10.0.0.9 10.0.1.3'", "outdated"),
        ("place[replica2]='10.0.0.3 10.0.1.9'", "outdated"),
        ("place[replica2]='10.0.0.9 '", "current"),
        ("unset 'read_only[replica2]'", "current"),
        ("unset 'watched[replica2]'", "outdated"),
        ("unset 'watched[replica2]' 'follows[replica2]'", "current"),
        ("unset 'read_only[mariadb1]'; source=''", "current"),
    ],
    ids=[
        "as it was",
        "another source",
        "another address",
        "another sshd",
        "no sshd",
        "gone",
        "new",
        "apart",
        "no source",
    ],
)
def test_it_begins_anew_only_where_it_would_act_on_what_is_no_more(
    fakes: Fakes, change: str, expected: str
) -> None:
    assert fakes.run(
        "survey", "pin", "configure", change, "outdated && echo outdated || echo current"
    ) == [expected]


def test_the_old_source_rejoins_by_gtid_and_the_other_replicas_too(failed_over: Fakes) -> None:
    failed_over.answers("mariadb1", follower("replica1"), "then")
    said = failed_over.run("survey", "follow_source")
    assert {line.partition("[manager] ")[2] for line in said} == {
        "mariadb1 rejoined: it follows replica1 from 0-1-7 on",
        "replica2 follows replica1 by GTID",
    }
    assert "MASTER_HOST = 'replica1'" in failed_over.changed("mariadb1")
    assert failed_over.changed("mariadb1").startswith(
        "SET GLOBAL read_only = ON;\nSET GLOBAL gtid_slave_pos = "
    )
    assert "MASTER_USE_GTID = slave_pos" in failed_over.changed("replica2")
    assert failed_over.changed("replica1") == ""


def test_a_history_that_the_source_refuses_is_left_alone_and_not_tried_again(
    failed_over: Fakes,
) -> None:
    error = "Got fatal error 1236 from master: not in the master's binlog"
    failed_over.answers("mariadb1", follower("replica1", receiver="No", error=error), "then")
    said = failed_over.run("survey", "rejoin mariadb1", "rejoin mariadb1")
    (refusal,) = said
    assert f"mariadb1 cannot follow replica1 and stays read-only: {error}" in refusal
    assert failed_over.changed("mariadb1").count("START SLAVE") == 1
    assert failed_over.changed("mariadb1").endswith("STOP SLAVE; RESET SLAVE ALL")


def test_a_source_that_cannot_be_reached_is_tried_again(failed_over: Fakes) -> None:
    error = "error connecting to master 'replication@replica1:3306': 2003"
    failed_over.answers(
        "mariadb1", follower("replica1", receiver="Connecting", error=error), "then"
    )
    said = failed_over.run("survey", "rejoin mariadb1", "rejoin mariadb1")
    assert len(said) == 2 and failed_over.changed("mariadb1").count("START SLAVE") == 2


def test_nobody_is_changed_while_the_source_takes_no_writes(failed_over: Fakes) -> None:
    failed_over.answers("replica1", "read_only: 1\n")
    assert failed_over.run("survey", "follow_source") == []
    assert not any(map(failed_over.changed, ("mariadb1", "replica1", "replica2")))


def test_it_is_ready_when_mha_watches_all_servers(fakes: Fakes) -> None:
    health = fakes.folder / "run" / "group.master_status.health"
    fakes.run("survey", "pin", "configure")
    assert fakes.run("ready") == ["MHA does not watch: it does not run"]
    health.write_text("7\t50:FAILOVER_RUNNING\tmaster:mariadb1")
    assert fakes.run("ready") == ["MHA does not watch: 50:FAILOVER_RUNNING"]
    health.write_text("7\t0:PING_OK\tmaster:mariadb1")
    assert fakes.run("ready") == ["watching 3 servers"]
    node = stacks.plan(PROFILE).node("mha1")
    assert node.ready and "watching 3 servers" in str(stacks.document(PROFILE))
