"""clean: on a terminal it lists what would go, and asks."""

import sys
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
import typer

from sandbox.cli.commands import clean
from sandbox.cli.common.viewing import removed_text
from sandbox.stack import lifecycle
from sandbox.stack.snapshots import store


@pytest.fixture
def removed(monkeypatch: pytest.MonkeyPatch) -> list[Mapping[str, str]]:
    """What was removed; there is one stack and one snapshot, and somebody sits at a terminal."""
    seen: list[Mapping[str, str]] = []

    def clean_up(projects: Mapping[str, str], *_: Any) -> list[Any]:
        seen.append(projects)
        return []

    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr(lifecycle, "of_checkout", lambda *_: {"sandbox-a-123": "/x"})
    monkeypatch.setattr(lifecycle, "clean", clean_up)
    monkeypatch.setattr(store, "count", lambda *_: 1)
    monkeypatch.setattr(store, "forget_all", lambda *_: (1, 0))
    return seen


@pytest.mark.parametrize("agreed", [True, False])
def test_it_asks_on_a_terminal(
    removed: list[Mapping[str, str]],
    agreed: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(typer, "confirm", lambda _: agreed)
    clean.command()
    assert bool(removed) is agreed
    assert capsys.readouterr().out.splitlines()[1] == "1 snapshot"


def test_it_does_not_ask_who_says_so_or_is_no_terminal(
    removed: list[Mapping[str, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typer, "confirm", lambda _: pytest.fail("it asked"))
    clean.command(yes=True)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(isatty=lambda: False))
    clean.command()
    assert len(removed) == 2


@pytest.mark.parametrize(
    ("counts", "text"),
    [
        ((3, 1, 2), "a: removed 3 containers, 2 volumes, 1 network"),
        ((1, 2, 1), "a: removed 1 container, 1 volume, 2 networks"),
        ((0, 0, 0), "a: nothing to remove"),
    ],
)
def test_one_of_a_thing_is_named_in_the_singular(counts: tuple[int, int, int], text: str) -> None:
    assert removed_text(lifecycle.Removed("a", *counts)) == text


def test_where_nothing_is_it_says_so(
    removed: list[Mapping[str, str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(lifecycle, "of_checkout", lambda *_: {})
    monkeypatch.setattr(store, "count", lambda *_: 0)
    clean.command()
    assert capsys.readouterr().out == "nothing to remove\n" and not removed
