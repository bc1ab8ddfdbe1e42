"""The program beside a node: how it writes rows, runs scripts, and keeps to its time."""

import io
import json
import queue
import time
from typing import Any

import pytest

from sandbox.collect.in_helper import look
from sandbox.collect.plan import ROOT


@pytest.fixture
def answers(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What it says."""
    said: list[dict[str, Any]] = []
    monkeypatch.setattr(look, "say", lambda **answer: said.append(answer))
    return said


NAMES = ["Id", "Info"]
ROWS = [(1, "a\tb\nc"), (2, None), (3, b"\xff")]


@pytest.mark.parametrize(
    ("layout", "text"),
    [
        ("table", "Id\tInfo\n1\ta\\tb\\nc\n2\tNULL\n3\t\ufffd\n"),
        ("text", "a\tb\nc\nNULL\n\ufffd\n"),
    ],
)
def test_rows_are_text(layout: str, text: str) -> None:
    assert look.written(NAMES, list(ROWS), layout) == text


def test_rows_of_many_columns_are_a_line_a_field() -> None:
    text = look.written(NAMES, [(1, "x")], "vertical")
    assert text == "*** row 1 of 1 ***\nId: 1\nInfo: x\n"
    assert look.written(NAMES, [], "vertical") == "no rows\n"


def run(script: str, limit_s: float = 5.0) -> None:
    """Runs one script."""
    piece = {"file": "f", "script": script, "limit_s": limit_s}
    look.run_script(piece, "greet() { echo $WORD; }", {"WORD": "hello"}, time.monotonic() + 60)


def test_a_script_may_call_what_it_is_given(answers: list[dict[str, Any]]) -> None:
    run("greet")
    assert answers == [{"file": "f", "text": "hello\n"}]


def test_a_script_that_fails_says_why(answers: list[dict[str, Any]]) -> None:
    run("echo why >&2; exit 3")
    run("exit 3")
    assert [each["reason"] for each in answers] == ["why", "exit code 3"]


def test_one_that_says_nothing_is_no_failure(answers: list[dict[str, Any]]) -> None:
    run("true")
    assert answers == [{"file": "f", "text": ""}]


def test_one_that_does_not_end_is_ended_and_what_it_said_kept(
    answers: list[dict[str, Any]],
) -> None:
    began_s = time.monotonic()
    run("echo part; sleep 60 & wait", 0.3)
    assert time.monotonic() - began_s < 5
    assert answers[0] == {"file": "f", "text": "part\n"}
    assert answers[1] == {"missing": "f", "reason": "no end within 0.3 s, cut there"}


def test_a_server_that_nobody_reaches_is_one_reason_for_all(
    answers: list[dict[str, Any]],
) -> None:
    pieces = [{"file": name, "statements": ["select 1"], "layout": "table"} for name in "abcd"]
    request = {
        "account": "/nowhere", "address": {"host": "127.0.0.1", "port": 1},
        "limit_s": 1.0, "pieces": pieces,
    }  # fmt: skip
    look.ask_server(request)
    assert [each["missing"] for each in answers] == ["a", "b", "c", "d"]
    assert all(each["reason"].startswith("no connection within 1 s: ") for each in answers)


def test_a_request_is_a_line_and_ends_in_time(
    answers: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    request = {
        "deadline_s": 2.5, "functions": "", "sql": [], "core_limit_s": 0,
        "scripts": [
            {"file": "first", "script": "echo 0", "limit_s": 1, "is_late": False},
            {"file": "late", "script": "echo 1", "limit_s": 1, "is_late": True},
            {"file": "slow", "script": "sleep 9", "limit_s": 8, "is_late": False},
        ],
    }  # fmt: skip
    monkeypatch.setattr("sys.stdin", io.StringIO(json.dumps(request) + "\n"))
    ended = queue.SimpleQueue[int]()
    monkeypatch.setattr("os._exit", ended.put)
    look.main()
    assert ended.get_nowait() == 0
    assert answers[0] == {"file": "first", "text": "0\n"}
    assert {"missing": "late", "reason": "the others left no time for it"} in answers
    assert answers[-1] == {"done": True}
    (cut,) = (each for each in answers if each.get("missing") == "slow")
    assert cut["reason"].startswith("no end within")


def test_both_sides_mean_one_folder() -> None:
    assert look.ROOT == ROOT
