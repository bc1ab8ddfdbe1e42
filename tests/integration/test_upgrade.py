"""An upgrade check on real servers: what differs in a log, and what is refused before it starts."""

import json
from pathlib import Path
from typing import Any

import pytest

from integration.live import SANDBOX, run

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
LOG = "tests/data/slow.log"
DUMP = "tests/data/library.sql"
SERVERS = ("mariadb@10.11", "mariadb@11.8")


def sides(servers: tuple[str, str] = SERVERS) -> list[str]:
    """The options for two servers."""
    return ["--from", servers[0], "--to", servers[1]]


def checked(*argv: str, code: int, servers: tuple[str, str] = SERVERS) -> dict[str, Any]:
    """The record of a check; nothing of its stack is left."""
    done = run(
        [SANDBOX, "upgrade-check", *argv, *sides(servers), "--json"], check=False, timeout_s=900
    )
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    folder = Path(json.loads(done.stdout)["result"]) / "runs" / "upgrade.1"
    assert (folder / "pt-upgrade.txt").is_file()
    record = json.loads((folder / "record.json").read_text())
    containers = run(["docker", "ps", "-a", "--format", "{{.Names}}"]).stdout.split()
    assert not [name for name in containers if f"{record['stack']}-" in name]
    found: dict[str, Any] = record["upgrade"]
    return found


def test_a_log_with_its_data() -> None:
    upgrade = checked("--log", LOG, "--dump", DUMP, code=1)
    kinds = {each["kind"] for each in upgrade["findings"] if each["matters"]}
    assert kinds >= {"refused", "rows", "conflict"}
    (conflict,) = [each for each in upgrade["findings"] if each["kind"] == "conflict"]
    assert "1020" in conflict["on_to"] and conflict["on_from"] == "no error"
    met = {each["variable"] for each in upgrade["defaults"] if each["met"]}
    assert "innodb_snapshot_isolation" in met
    assert upgrade["replication"]["caught_up_s"] is not None
    by_itself = [each for each in upgrade["findings"] if "uuid()" in (each["query"] or "")]
    assert by_itself and not any(each["matters"] for each in by_itself)


@pytest.mark.long
def test_a_log_without_data_and_a_log_of_the_server_itself(tmp_path: Path) -> None:
    upgrade = checked("--log", LOG, code=1)
    assert {each["kind"] for each in upgrade["findings"] if each["matters"]} == {"refused"}
    assert upgrade["unjudged"]
    log = tmp_path / "same.sql"
    log.write_text("create table t (id int primary key) engine=innodb;\nselect id from t;\n")
    assert not [each for each in checked("--log", str(log), code=0)["findings"] if each["matters"]]


@pytest.mark.long
def test_a_replica_of_the_newer_version_that_stops(tmp_path: Path) -> None:
    """A check that the statement skips is not skipped by the replica (MDEV-32447)."""
    log = tmp_path / "check.sql"
    log.write_text(
        "create table t (a int check (a > 0)) engine=innodb;\n"
        "set session binlog_format = statement;\n"
        "set session check_constraint_checks = 0;\n"
        "insert into t values (-1);\n"
    )
    upgrade = checked("--log", str(log), code=1, servers=("mariadb@10.5", "mariadb@10.11"))
    (found,) = [each for each in upgrade["findings"] if each["matters"]]
    assert found["kind"] == "replication" and "4025" in found["on_to"]
    assert upgrade["replication"]["caught_up_s"] is None


@pytest.mark.parametrize(
    ("argv", "what"),
    [
        (("--log", "gone.log"), "LOG=gone.log cannot be read"),
        (("--log", "Makefile"), "LOG=Makefile is no log that can be run"),
        (("--log", LOG, "--dump", "README.md"), "DUMP=README.md is no dump"),
        (("--log", LOG, "--cnf", DUMP), f"CNF={DUMP} has no option of a server"),
    ],
)
def test_what_cannot_be_checked_is_refused_in_three_lines(argv: tuple[str, ...], what: str) -> None:
    done = run([SANDBOX, "upgrade-check", *argv, *sides()], check=False)
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 3 and lines[0].startswith(what), done.stderr
