"""Repros on real servers: a verdict a version, races with their rate, what a killed one leaves."""

import hashlib
import json
import os
import re
import signal
import subprocess
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from integration.live import SANDBOX, run
from integration.turns import of_today
from sandbox.collect.archive import read_archive
from sandbox.repro.file import repro_names
from sandbox.stack.naming import project_name

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
STACK = re.compile(r" as '(repro-[^']+)'")
"""In the first line of a stack that starts."""
HOLDS = """\
title: A session that waits for ever
question: Does it wait?
profile: mysql
load:
  sql: create table t (id int primary key); insert into t values (1)
steps:
  - s1 @mysql1: begin
  - s1: update t set id = 2
  - s2 @mysql1: update t set id = 3
    name: second
    blocks: true
  - wait: 60s
expect:
  bug: [{result: second, blocked: true}]
  fixed: [{result: second}]
"""


def carried_out(*argv: str, code: int = 0, stdin: str | None = None) -> dict[str, Any]:
    """What `repro` prints as data."""
    done = run([SANDBOX, "repro", *argv, "--json"], check=False, stdin=stdin, timeout_s=900)
    assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def records_of(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The records of its result, in order of their names."""
    folder = Path(data["result"])
    return [json.loads(each.read_text()) for each in sorted(folder.glob("runs/*/record.json"))]


def test_a_bug_is_reproduced_in_the_versions_that_have_it() -> None:
    data = carried_out("--repro", "snapshot-isolation-1020", "--versions", "10.11,11.8")
    records = {each["repro"]["version"][:5]: each["repro"] for each in records_of(data)}
    assert {name: each["verdict"] for name, each in records.items()} == {
        "10.11": "fixed", "11.8.": "reproduced",
    }  # fmt: skip
    update = next(each for each in records["11.8."]["steps"] if each["name"] == "update")
    assert update["error_code"] == 1020


def test_sessions_wait_for_one_another_and_repeats_share_a_stack() -> None:
    data = carried_out("--repro", "gap-lock-deadlock", "--repeat", "5")
    records = records_of(data)
    assert len(records) == 5
    assert {each["repro"]["verdict"] for each in records} == {"reproduced"}
    waiting = records[0]["repro"]["steps"][4]
    assert waiting["blocked"] is True and waiting["waited_for"].startswith("s2 (")
    assert waiting["ended_ms"] is None


def test_clients_that_go_away_are_told_apart_by_their_causes() -> None:
    data = carried_out("--repro", "communication-packets")
    (record,) = records_of(data)
    assert record["repro"]["verdict"] == "reproduced", record["repro"]["seen"]
    half = next(each for each in record["repro"]["steps"] if each["text"].endswith("(half of it)"))
    assert half["blocked"] is True and half["ended_ms"] is None


def test_a_file_from_standard_input_that_does_not_go_as_it_says() -> None:
    text = HOLDS.replace("  - wait: 60s\n", "").replace("update t set id = 2", "updat t")
    data = carried_out("--repro", "-", code=3, stdin=text)
    (record,) = records_of(data)
    assert record["repro"]["verdict"] == "neither"
    assert record["repro"]["seen"].startswith("step 2 (s1: updat t): error 1064")
    (archive,) = Path(data["result"]).glob(f"runs/*/{record['files']['evidence']}")
    evidence = {path.partition("/")[2] for path, _ in read_archive(archive)}
    assert {"mysql1/stacks.txt", "mysql1/innodb-status.txt", "mysql1/log.txt"} <= evidence
    assert "mysql1/pt-stalk.txt" not in evidence


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGKILL])
def test_one_that_is_ended_leaves_nothing(tmp_path: Path, ending: signal.Signals) -> None:
    path = tmp_path / "holds.yaml"
    path.write_text(HOLDS)
    process = subprocess.Popen(
        [SANDBOX, "repro", "--repro", str(path)], stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    name = ""
    for line in process.stderr:
        if found := STACK.search(line):
            name = found[1]
        if "repeat 1" in line:
            break
    time.sleep(2)  # a moment of its steps
    os.killpg(process.pid, ending)
    process.communicate(timeout=120)
    if ending is signal.SIGINT:
        assert process.returncode == 130
    else:  # nobody was left to remove it
        run([SANDBOX, "down", "--name", name])
    label = f"label=sandbox.stack={project_name(name)}"
    assert name and not run(["docker", "ps", "-aq", "--filter", label]).stdout


def test_one_that_was_killed_is_resumed_and_leaves_nothing(tmp_path: Path) -> None:
    """The repro has a name of its own: no other result is unfinished for it."""
    path = tmp_path / f"deadlock-{os.getpid()}.yaml"
    path.write_text(Path("profiles/repros/gap-lock-deadlock.yaml").read_text())
    command: list[str | Path] = [SANDBOX, "repro", "--repro", str(path), "--repeat", "6"]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
        start_new_session=True,
    )  # fmt: skip
    assert process.stderr
    for line in process.stderr:
        if "repeat 4" in line:
            break
    os.killpg(process.pid, signal.SIGKILL)
    process.communicate(timeout=120)
    (folder,) = Path("results").glob(f"2*-{path.stem}")
    before = {each.parent.name: each.read_text() for each in folder.glob("runs/*/record.json")}
    assert len(before) >= 3
    done = run([*command, "--json"], timeout_s=300)
    assert f"resumes  {folder.name}, " in done.stderr
    after = {each.parent.name: each.read_text() for each in folder.glob("runs/*/record.json")}
    assert len(after) == 6 and before.items() <= after.items(), "none is made again"
    assert json.loads(done.stdout)["result"] == f"results/{folder.name}"
    own = hashlib.sha256(folder.name.encode()).hexdigest()[:6]
    labels = run(["docker", "ps", "-a", "--format", "{{.Labels}}"]).stdout
    assert f"repro-{own}-" not in labels


@pytest.mark.long
def test_the_variable_that_makes_the_difference_is_found() -> None:
    argv: list[str | Path] = [
        SANDBOX,
        "bisect",
        "--repro",
        "snapshot-isolation-1020",
        "--profile",
        "mariadb@11.8",
    ]
    good = "innodb_snapshot_isolation=OFF max_connections=60 sort_buffer_size=262144"
    bad = (
        "max_connections=70 sort_buffer_size=524288 innodb_snapshot_isolation=ON tmp_table_size=1M"
    )
    done = run([*argv, "--over", "settings", "--good", good, "--bad", bad, "--new", "--json"])
    found = json.loads(done.stdout)
    assert found["variables"] == {"innodb_snapshot_isolation": {"good": "OFF", "bad": "ON"}}
    assert found["differing"] == 4


def server_tree(version: str, tree: Path) -> None:
    """The server of an image, unpacked as a person would unpack its packages."""
    planned = run([SANDBOX, "plan", "--profile", f"mariadb@{version}", "--json"]).stdout
    image = json.loads(planned)["nodes"][0]["image"]
    container = run(["docker", "create", image]).stdout.strip()
    archive = tree.with_suffix(".tar")
    try:
        run(["docker", "export", "--output", archive, container])
    finally:
        run(["docker", "rm", container])
    wanted = ("usr/sbin/m", "usr/bin/m", "usr/bin/resolveip", "usr/share/m", "usr/lib/mysql")
    with tarfile.open(archive) as file:
        members = [each for each in file.getmembers() if each.name.startswith(wanted)]
        file.extractall(tree, members, filter="tar")
    archive.unlink()


@pytest.mark.long
def test_the_commit_with_which_a_bug_came_is_found(tmp_path: Path) -> None:
    """Its sources are the name of a version, and its build takes that server."""
    for version in ("10.11", "11.8"):
        server_tree(version, tmp_path / version)
    repo = tmp_path / "server"
    repo.mkdir()
    me = ["-c", "user.name=Somebody", "-c", "user.email=somebody@example.org"]
    run(["git", "-C", repo, "init", "--quiet", "--initial-branch=main"])
    for number, version in enumerate(["10.11", "no", "10.11", "11.8", "11.8", "11.8"], 1):
        (repo / "version").write_text(version)
        (repo / "number").write_text(str(number))
        run(["git", "-C", repo, "add", "version", "number"])
        run(["git", "-C", repo, *me, "commit", "--quiet", "-m", f"MDEV-{number}"])
        run(["git", "-C", repo, "tag", f"c{number}"])
    argv: list[str | Path] = [
        SANDBOX,
        "bisect",
        "--repro",
        "snapshot-isolation-1020",
        "--over",
        "commits",
        "--new",
    ]
    build = f'rm -rf out && cp -al "{tmp_path}/$(cat version)" out'
    argv += ["--repo", repo, "--build", build, "--binary", "out", "--good", "c1", "--bad", "c6"]
    done = run([*argv, "--json"], timeout_s=900)
    found = json.loads(done.stdout)
    assert found["subject"] == "MDEV-4"
    assert run(["git", "-C", repo, "symbolic-ref", "--short", "HEAD"]).stdout.strip() == "main"
    images = run(["docker", "image", "ls", "--format", "{{.Tag}}", "sandbox/mariadb"]).stdout
    assert "-binary-" not in images


@pytest.mark.long
@pytest.mark.parametrize("name", of_today(repro_names(), days=3))
def test_every_repro_that_ships_is_as_its_file_says(name: str) -> None:
    data = carried_out("--repro", name)
    for record in records_of(data):
        repro = record["repro"]
        assert repro["verdict"] in ("reproduced", "fixed"), (record["profile"], repro["seen"])
