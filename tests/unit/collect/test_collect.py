"""A collection: every node at once, what never answers has its reason, nothing is lost with it."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import zstandard

from sandbox.collect.archive import read_archive
from sandbox.collect.collect import collect, without_environment
from sandbox.collect.plan import SMALL, CollectOptions
from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.stack.protocol import Event, ExecResult
from unit.fake_stack import PASSWORD, FakeStack, is_a_running_stack


class FakeControl:
    """Says in which state its container is."""

    def __init__(self, state: str = "running") -> None:
        self._state = state

    def state(self) -> str:
        return self._state

    def in_volumes(self, _script: str) -> ExecResult:
        return ExecResult(0, "ibdata1\n", "")


def line(**answer: Any) -> str:
    """An answer of the program beside a node."""
    return json.dumps(answer)


def stack_of(**states: str) -> FakeStack:
    """A source, its replica, a client."""
    stack = FakeStack()
    stack.controls = {
        name: FakeControl(states.get(name, "running")) for name in ("mysql1", "replica1", "client1")
    }
    stack.within = {
        name: [
            line(file="processlist.tsv", text="Id\n1\n"),
            line(file="variables.tsv", text=f"report_host\t{PASSWORD}\nsome_password\tx\n"),
            line(missing="status.tsv", reason="no answer within 3.0 s"),
            line(file="own-logs.txt", text=""),
            line(done=True),
        ]
        for name in ("mysql1", "replica1", "client1")
    }
    return stack


def taken(
    stack: FakeStack, folder: Path, options: CollectOptions = SMALL
) -> tuple[dict[str, str], dict[str, str]]:
    """Files without the archive's folder, and what could not be had."""
    archive = folder / "evidence.tar.zst"
    found = collect(
        is_a_running_stack(stack), archive, options, also=lambda: {"plan.txt": "as planned\n"}
    )
    files = {
        path.removeprefix("evidence/"): content.decode("utf-8", "replace")
        for path, content in read_archive(archive)
    }
    assert files.keys() == found.files.keys()
    return files, dict(found.missing)


def test_every_node_gives_a_log_a_description_and_its_answers(tmp_path: Path) -> None:
    files, missing = taken(stack_of(), tmp_path)
    for name in ("mysql1", "replica1"):
        assert files[f"{name}/processlist.tsv"] == "Id\n1\n"
        assert files[f"{name}/log.txt"].startswith("2025-")
        assert missing[f"{name}/status.tsv"] == "no answer within 3.0 s"
        assert missing[f"{name}/innodb-status.txt"] == "no answer within 12 s"
    assert files["plan.txt"] == "as planned\n"
    assert json.loads(files["stack.json"])["roles"] == {"mysql1": "writer", "replica1": "reader"}
    assert "mysql1/own-logs.txt" not in files and "mysql1/own-logs.txt" not in missing
    assert "no answer within 3.0 s\n      mysql1/status.tsv\n" in files["README.txt"]


def test_no_password_of_the_stack_is_in_the_archive(tmp_path: Path) -> None:
    files, _ = taken(stack_of(), tmp_path)
    assert not [path for path, text in files.items() if PASSWORD in text]
    assert files["mysql1/variables.tsv"] == "report_host\t********\nsome_password\t********\n"
    assert "hidden" not in files["mysql1/container.json"]


def test_one_that_has_ended_still_gives_its_log_and_its_directory(tmp_path: Path) -> None:
    files, missing = taken(stack_of(replica1="exited (139)"), tmp_path)
    assert files["replica1/stopped-data-directory.txt"] == "ibdata1\n"
    assert "replica1/log.txt" in files and "replica1/processlist.tsv" not in files
    assert "exited (139)" in missing["replica1"]


def test_a_program_that_does_not_start_beside_a_node_has_the_engines_words(tmp_path: Path) -> None:
    stack = stack_of()
    stack.within["mysql1"] = ["docker: Error response from daemon: cannot join PID namespace."]
    files, missing = taken(stack, tmp_path)
    assert "cannot join" in missing["mysql1"]
    assert "mysql1/log.txt" in files and "replica1/processlist.tsv" in files


def test_what_one_part_cannot_give_keeps_no_other_from_it(tmp_path: Path) -> None:
    class Silent(FakeStack):
        def readiness(self) -> Any:
            raise MachineError("the engine does not answer", "no end", "try: make doctor")

    stack = Silent()
    made = stack_of()
    stack.controls, stack.within = made.controls, made.within
    files, missing = taken(stack, tmp_path)
    assert missing["-"] == "the engine does not answer: no end"
    assert "mysql1/processlist.tsv" in files


def test_a_core_comes_in_parts(tmp_path: Path) -> None:
    stack = stack_of()
    packed = zstandard.compress(f"memory {PASSWORD} memory".encode())
    parts = [base64.b64encode(each).decode() for each in (packed[:9], packed[9:])]
    stack.within["mysql1"][:0] = [line(file="core.mysqld.7", base64=each) for each in parts]
    files, _ = taken(stack, tmp_path, CollectOptions(core=True, tools=False))
    assert files["mysql1/core.mysqld.7"] == f"memory {'*' * len(PASSWORD)} memory"


def test_only_some_nodes_and_a_mistyped_one(tmp_path: Path) -> None:
    files, _ = taken(stack_of(), tmp_path, CollectOptions(nodes=("replica1",), tools=False))
    assert {path.partition("/")[0] for path in files if "/" in path} == {"replica1"}
    with pytest.raises(SandboxError) as caught:
        taken(stack_of(), tmp_path, CollectOptions(nodes=("replica2",)))
    assert caught.value.exit_code == ExitCode.BAD_INPUT
    assert "replica1" in caught.value.known


def test_progress_is_a_line_a_node(tmp_path: Path) -> None:
    events: list[Event] = []
    stack = is_a_running_stack(stack_of())
    collect(stack, tmp_path / "a.tar.zst", SMALL, events.append)
    names = {getattr(event, "text", "").partition(":")[0] for event in events}
    assert len(events) == 3 and names == {
        "mysql1", "replica1", "client1",
    }  # fmt: skip


def test_variables_of_an_environment_keep_their_names() -> None:
    described = {"Id": "1", "Config": {"Env": ["A_PASSWORD=x", "A_PASSWORD_FILE=/run/x", "B="]}}
    assert without_environment(described) == {
        "Id": "1",
        "Config": {"Env": ["A_PASSWORD=********", "A_PASSWORD_FILE=/run/x", "B="]},
    }
