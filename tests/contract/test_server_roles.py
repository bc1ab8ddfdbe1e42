"""What a server of replication says it is: the script of compose/replica, run with a client that
answers for all.

HAProxy's checker has the same rule in Python: one table of situations holds for both.
"""

import re
import socket
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from contract.stacks import document
from contract.test_haproxy_eligibility import checker, eligibility

SOURCE, PROMOTED, OTHER = "mysql1", "replica1", "replica2"


@dataclass(frozen=True)
class Server:
    """What one server answers: whether it takes writes and since when, whom it follows, whether its
    receiver runs.
    """

    writable: bool = False
    follows: str = ""
    receiver: str = "Yes"
    promoted: int = 0

    @property
    def rows(self) -> str:
        """The answer of a client that prints vertically."""
        channel = (
            f"Source_Host: {self.follows}\nReplica_IO_Running:"
            f" {self.receiver}\nReplica_SQL_Running: Yes\n"
        )
        itself = (
            f"read_only: {int(not self.writable)}\nheld: \npromoted: {self.promoted or 'NULL'}\n"
        )
        return itself + (channel if self.follows else "")

    @property
    def verdict(self) -> object:
        """The same, judged by HAProxy's checker."""
        channel = {
            "Source_Host": self.follows,
            "Replica_IO_Running": self.receiver,
            "Replica_SQL_Running": "Yes",
        }
        read_only = "OFF" if self.writable else "ON"
        return eligibility.judge_single(read_only, [channel] if self.follows else [], self.promoted)


FOLLOWS_SOURCE, FOLLOWS_PROMOTED = Server(follows=SOURCE), Server(follows=PROMOTED)
WRITABLE, DETACHED = Server(writable=True), Server()
AT_FIRST = {SOURCE: WRITABLE, PROMOTED: FOLLOWS_SOURCE, OTHER: FOLLOWS_SOURCE}

SITUATIONS: dict[str, tuple[dict[str, Server], dict[str, str]]] = {
    "at first": (AT_FIRST, {SOURCE: "writer", PROMOTED: "reader", OTHER: "reader"}),
    "no replica is there yet": ({SOURCE: WRITABLE}, {SOURCE: "writer"}),
    "promoted, the source gone": (
        {PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED},
        {PROMOTED: "writer", OTHER: "reader"},
    ),
    "the source back, read-only": (
        {SOURCE: DETACHED, PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED},
        {SOURCE: "detached", PROMOTED: "writer", OTHER: "reader"},
    ),
    "the source back, writable": (
        {SOURCE: WRITABLE, PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED},
        {SOURCE: "stale", PROMOTED: "writer", OTHER: "reader"},
    ),
    "the source back, writable, and nobody follows either": (
        {SOURCE: WRITABLE, PROMOTED: WRITABLE},
        {SOURCE: "stale", PROMOTED: "writer"},
    ),
    "both were promoted once, the source last, and nobody follows either": (
        {
            SOURCE: Server(True, promoted=1700000009000000),
            PROMOTED: Server(True, promoted=1700000005000000),
        },
        {SOURCE: "writer", PROMOTED: "stale"},
    ),
    "both were promoted once, the other one last, and nobody follows either": (
        {SOURCE: Server(True, promoted=5), PROMOTED: Server(True, promoted=10)},
        {SOURCE: "stale", PROMOTED: "writer"},
    ),
    "followed, though another one began to take writes later": (
        {
            SOURCE: Server(True, promoted=5),
            PROMOTED: Server(True, promoted=9),
            OTHER: FOLLOWS_SOURCE,
        },
        {SOURCE: "writer", PROMOTED: "stale", OTHER: "reader"},
    ),
    "the source rejoined": (
        {SOURCE: FOLLOWS_PROMOTED, PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED},
        {SOURCE: "reader", PROMOTED: "writer", OTHER: "reader"},
    ),
    "a replica made writable by mistake": (
        {SOURCE: WRITABLE, PROMOTED: Server(True, SOURCE), OTHER: FOLLOWS_SOURCE},
        {SOURCE: "writer", PROMOTED: "stale", OTHER: "reader"},
    ),
    "promoted without forgetting its source": (
        {SOURCE: WRITABLE, PROMOTED: Server(True, SOURCE, "No"), OTHER: FOLLOWS_PROMOTED},
        {SOURCE: "stale", PROMOTED: "writer", OTHER: "reader"},
    ),
    "the promoted one does not answer": (
        {SOURCE: WRITABLE, OTHER: FOLLOWS_PROMOTED},
        {SOURCE: "stale", OTHER: "reader"},
    ),
    "promoted, the source gone, the other one not repointed yet": (
        {PROMOTED: WRITABLE, OTHER: FOLLOWS_SOURCE},
        {PROMOTED: "writer", OTHER: "reader"},
    ),
    "a replica does not answer": (
        {SOURCE: WRITABLE, OTHER: FOLLOWS_SOURCE},
        {SOURCE: "writer", OTHER: "reader"},
    ),
}


@pytest.fixture(scope="module")
def script() -> str:
    """The script as it stands in the Compose file."""
    configs = document("mysql@9.7+replica2")["configs"]
    return str(configs["mysql-role"]["content"]).replace("$$", "$")


class Stage:
    """A folder with a client that answers for the servers of a situation, and a port that
    listens.
    """

    def __init__(self, folder: Path, script: str, port: int) -> None:
        self.folder = folder
        (folder / "role").write_text(
            script.replace("/tcp/127.0.0.1/3306", f"/tcp/127.0.0.1/{port}")
        )
        # The server asked is what follows -h, or the one that asks; a missing file is a server that
        # does not answer.
        client = (
            'asked=$HOSTNAME; while [ $# -gt 0 ]; do [ "$1" != -h ] || asked=$2; last=$1; shift;'
            " done\n"
        )
        client += f'echo "$asked $last" >>{folder}/asked\n'
        client += (
            f"case $last in *gtid_subtract*) cat {folder}/missing ;; *) exec cat"
            f' "{folder}/$asked.rows" ;; esac\n'
        )
        (folder / "mysql").write_text(f"#!/bin/sh\n{client}")
        (folder / "mysql").chmod(0o755)
        (folder / "missing").touch()

    def set(self, situation: Mapping[str, Server]) -> None:
        """These servers answer, and no others."""
        for old in self.folder.glob("*.rows"):
            old.unlink()
        for name, server in situation.items():
            (self.folder / f"{name}.rows").write_text(server.rows)

    def ask(self, server: str, question: str) -> tuple[int, str]:
        """Exit status and answer."""
        done = subprocess.run(
            ["bash", str(self.folder / "role"), question],
            env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOSTNAME": server},
            text=True,
            capture_output=True,
            check=False,
        )
        assert done.stderr == ""
        return done.returncode, done.stdout.strip()

    def decide(self, server: str) -> tuple[int, str, bool]:
        """What a server that came back read-only decides: exit status, what it says, whether it
        takes writes again.
        """
        text = (self.folder / "role").read_text().rpartition("\ncase $1 in")[0]
        (self.folder / "asked").write_text("")
        done = subprocess.run(
            ["bash", "-c", text + '\ndecided; status=$?; echo "$standing"; exit $status'],
            env={"PATH": f"{self.folder}:/usr/bin:/bin", "HOSTNAME": server},
            text=True,
            capture_output=True,
            check=False,
        )
        opened = (
            "set global super_read_only = off; set global read_only = off"
            in (self.folder / "asked").read_text()
        )
        return done.returncode, done.stdout.splitlines()[-1], opened


@pytest.fixture
def stage(tmp_path: Path, script: str):  # type: ignore[no-untyped-def]
    """Ready to ask."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield Stage(tmp_path, script, listener.getsockname()[1])


@pytest.mark.parametrize("name", SITUATIONS)
def test_a_server_knows_what_it_is_now(stage: Stage, name: str) -> None:
    situation, expected = SITUATIONS[name]
    stage.set(situation)
    found = {server: re.match(r"\w+", stage.ask(server, "role")[1]) for server in situation}
    assert {server: word and word[0] for server, word in found.items()} == expected


@pytest.mark.parametrize("name", SITUATIONS)
def test_haproxy_routes_by_the_same_rule(name: str) -> None:
    situation, expected = SITUATIONS[name]
    judged = eligibility.Election(first=SOURCE).judge(heard(situation))
    assert {server: routed(verdict) for server, verdict in judged.items() if verdict.heard} == {
        server: "aside" if word in ("stale", "detached") else word
        for server, word in expected.items()
    }


def heard(situation: Mapping[str, Server]) -> dict[str, Any]:
    """The verdicts on three servers, of which some may say nothing."""
    silent = dict.fromkeys((SOURCE, PROMOTED, OTHER), eligibility.unknown("no answer"))
    return silent | {server: each.verdict for server, each in situation.items()}


def routed(verdict: Any) -> str:
    """What HAProxy has a server for."""
    writer, reader = not verdict.not_writer, not verdict.not_reader
    assert [writer, reader, verdict.aside].count(True) <= 1
    return "writer" if writer else "reader" if reader else "aside" if verdict.aside else ""


@pytest.mark.parametrize("replicas", [{OTHER: FOLLOWS_PROMOTED}, {}])
def test_who_was_stale_is_no_writer_when_the_writer_falls_silent(
    replicas: dict[str, Server],
) -> None:
    """The checker remembers: a slow answer of the promoted server must not send a write to the old
    source.
    """
    election = eligibility.Election(first=SOURCE)
    both = {SOURCE: WRITABLE, PROMOTED: WRITABLE}

    def source(*situations: dict[str, Server]) -> str:
        return [routed(election.judge(heard(each | replicas))[SOURCE]) for each in situations][-1]

    assert source(both) == "aside"
    assert source({SOURCE: WRITABLE}, {}, {SOURCE: WRITABLE}) == "aside"
    assert source(both) == "aside"
    assert source({SOURCE: DETACHED}, {SOURCE: WRITABLE}) == "writer"


def test_who_is_followed_again_is_the_writer_again() -> None:
    election = eligibility.Election(first=SOURCE)
    election.judge(heard({SOURCE: WRITABLE, PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED}))
    judged = election.judge(heard({SOURCE: WRITABLE, OTHER: FOLLOWS_SOURCE}))
    assert routed(judged[SOURCE]) == "writer"


def writers(*situations: dict[str, Server]) -> list[str]:
    """Whom the checker has for the writer, situation after situation; empty: nobody."""
    election = eligibility.Election(first=SOURCE)
    judged = [election.judge(heard(situation)) for situation in situations]
    return [
        next((name for name, each in verdicts.items() if routed(each) == "writer"), "")
        for verdicts in judged
    ]


def test_a_replaced_writer_is_not_the_writer_again_by_answering() -> None:
    """A replica that nobody has pointed to the new writer yet still follows it."""
    hung = {PROMOTED: WRITABLE, OTHER: FOLLOWS_SOURCE}
    back = {**hung, SOURCE: WRITABLE}
    only_old = {SOURCE: WRITABLE, OTHER: FOLLOWS_SOURCE}
    assert writers(AT_FIRST, hung, back, only_old) == [SOURCE, PROMOTED, PROMOTED, ""]


def test_a_replaced_writer_is_the_writer_again_once_another_server_follows_it() -> None:
    hung = {PROMOTED: WRITABLE, OTHER: FOLLOWS_PROMOTED}
    followed = {SOURCE: WRITABLE, PROMOTED: FOLLOWS_SOURCE, OTHER: FOLLOWS_PROMOTED}
    assert writers(AT_FIRST, hung, {**hung, SOURCE: WRITABLE}, followed) == [
        SOURCE,
        PROMOTED,
        PROMOTED,
        SOURCE,
    ]


def test_a_writer_that_was_silent_and_not_replaced_is_the_writer_again() -> None:
    assert writers(AT_FIRST, {PROMOTED: FOLLOWS_SOURCE, OTHER: FOLLOWS_SOURCE}, AT_FIRST) == [
        SOURCE,
        "",
        SOURCE,
    ]


def test_of_two_that_cannot_say_who_was_promoted_last_the_writer_stays_the_writer() -> None:
    """Servers before MySQL 8.0, with one replica: the second failover, and what was hung is
    back.
    """
    rejoined = {SOURCE: FOLLOWS_PROMOTED, PROMOTED: WRITABLE}
    assert writers(rejoined, {SOURCE: WRITABLE}, {SOURCE: WRITABLE, PROMOTED: WRITABLE}) == [
        PROMOTED,
        SOURCE,
        SOURCE,
    ]


def test_the_checker_says_the_roles_of_all_servers_in_one_line() -> None:
    situation = SITUATIONS["the source back, writable"][0]
    told = checker.roles(eligibility.Election(first=SOURCE).judge(heard(situation)))
    assert told == "mysql1=none replica1=writer replica2=reader"
    every = {"gr1": eligibility.Verdict("", ""), "gr2": eligibility.unknown("no answer")}
    assert checker.roles(every) == "gr1=both gr2=none"


def test_what_is_neither_says_why(stage: Stage) -> None:
    stage.set(SITUATIONS["the source back, writable"][0])
    status, message = stage.ask(SOURCE, "ready")
    assert status == 0
    assert message == "stale: writable, but replica1 is the writer"


@pytest.mark.parametrize(
    ("situation", "server", "message"),
    [
        (
            AT_FIRST | {SOURCE: DETACHED},
            SOURCE,
            (
                "read-only and follows nobody, and no server of its group takes writes"
                "; the others follow it: make restart NODE=mysql1"
            ),
        ),
        (
            {SOURCE: DETACHED},
            SOURCE,
            "read-only and follows nobody, and no server of its group takes writes",
        ),
        (
            AT_FIRST | {SOURCE: DETACHED},
            OTHER,
            "it follows mysql1, which is read-only and follows nobody",
        ),
        ({OTHER: Server(follows="db7")}, OTHER, "it follows db7, which is no server of its group"),
        (
            {OTHER: Server(follows=SOURCE, receiver="Connecting")},
            OTHER,
            "receiver Connecting, applier Yes:",
        ),
    ],
)
def test_what_cannot_last_is_not_ready(
    stage: Stage, situation: dict[str, Server], server: str, message: str
) -> None:
    stage.set(situation)
    assert stage.ask(server, "ready") == (1, message)


def test_a_reader_is_ready_when_it_has_all_that_its_source_holds(stage: Stage) -> None:
    stage.set(SITUATIONS["promoted, the source gone"][0])
    assert stage.ask(OTHER, "ready") == (0, "reader, caught up")
    (stage.folder / "missing").write_text("uuid:7\n")
    assert stage.ask(OTHER, "ready") == (1, "uuid:7 is not applied yet")


@pytest.mark.parametrize(
    ("situation", "server", "opened", "message"),
    [
        ({SOURCE: DETACHED, PROMOTED: FOLLOWS_SOURCE}, SOURCE, True, "takes writes again"),
        (
            {SOURCE: DETACHED, PROMOTED: WRITABLE},
            SOURCE,
            False,
            "stays read-only and follows nobody: replica1 is",
        ),
        (
            {SOURCE: DETACHED, PROMOTED: WRITABLE, OTHER: FOLLOWS_SOURCE},
            SOURCE,
            False,
            "stays read-only",
        ),
        ({SOURCE: DETACHED, PROMOTED: Server(True, SOURCE)}, SOURCE, True, "takes writes again"),
        (
            {SOURCE: DETACHED, PROMOTED: DETACHED},
            SOURCE,
            None,
            "stays read-only and follows nobody: replica1 is",
        ),
        (
            {SOURCE: DETACHED, OTHER: FOLLOWS_PROMOTED},
            SOURCE,
            None,
            "read-only until it is known whom these follow",
        ),
        (
            {SOURCE: DETACHED},
            SOURCE,
            None,
            "read-only until it is known whom these follow: replica1 replica2",
        ),
        ({PROMOTED: DETACHED, OTHER: FOLLOWS_PROMOTED}, PROMOTED, True, "takes writes again"),
        (
            {SOURCE: DETACHED, PROMOTED: DETACHED, OTHER: FOLLOWS_PROMOTED},
            PROMOTED,
            True,
            "takes writes again",
        ),
        (
            {PROMOTED: DETACHED},
            PROMOTED,
            None,
            "read-only until it is known whom these follow: replica2",
        ),
        (
            {PROMOTED: DETACHED, OTHER: FOLLOWS_SOURCE},
            PROMOTED,
            None,
            "read-only until it is known whom these follow",
        ),
        ({PROMOTED: FOLLOWS_SOURCE}, PROMOTED, False, "follows mysql1"),
        ({SOURCE: FOLLOWS_PROMOTED, PROMOTED: WRITABLE}, SOURCE, False, "follows replica1"),
        (
            {SOURCE: DETACHED, PROMOTED: DETACHED, OTHER: FOLLOWS_PROMOTED},
            SOURCE,
            False,
            "stays read-only",
        ),
        (
            {SOURCE: DETACHED, PROMOTED: DETACHED, OTHER: FOLLOWS_SOURCE},
            SOURCE,
            True,
            "takes writes again",
        ),
    ],
)
def test_a_server_that_comes_back_asks_before_it_takes_writes(
    stage: Stage, situation: dict[str, Server], server: str, opened: bool | None, message: str
) -> None:
    """None: it goes on asking."""
    stage.set(situation)
    status, said, takes_writes = stage.decide(server)
    assert said.startswith(message)
    assert (status == 0, takes_writes) == (opened is not None, bool(opened))


@pytest.mark.parametrize(
    ("profile", "variable"),
    [
        ("mysql@9.7+replica2+semisync", "rpl_semi_sync_source_enabled"),
        ("mysql@8.0.25+replica2+semisync", "rpl_semi_sync_master_enabled"),
    ],
)
def test_a_server_that_comes_back_waits_for_replicas_if_it_is_the_writer(
    tmp_path: Path, profile: str, variable: str
) -> None:
    """Its file has what it was when the stack began; a replica that waited would wait for
    nobody.
    """
    configs = document(profile)["configs"]
    role = next(
        str(config["content"]).replace("$$", "$")
        for name, config in configs.items()
        if name.endswith("-role")
    )
    with socket.create_server(("127.0.0.1", 0)) as listener:
        made = Stage(tmp_path, role, listener.getsockname()[1])
        for situation, word in (
            ({PROMOTED: DETACHED, SOURCE: FOLLOWS_PROMOTED, OTHER: FOLLOWS_PROMOTED}, "on"),
            ({PROMOTED: FOLLOWS_SOURCE, SOURCE: WRITABLE}, "off"),
        ):
            made.set(situation)
            assert made.decide(PROMOTED)[0] == 0
            assert f"set global {variable} = {word}" in (tmp_path / "asked").read_text()
