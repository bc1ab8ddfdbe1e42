"""The process in the background: a snapshot first, then base data directories while nobody waits to measure."""

from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.plan.model import PlanRequest
from sandbox.stack.locks import shared
from sandbox.stack.snapshots import keep as keep_snapshot
from sandbox.stack.snapshots.take import Wish

WANTED = {"wish": asdict(Wish("k", "u", fresh=True)), "base_directories": [asdict(PlanRequest("mysql@8.4"))] * 2}


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What it has made, in order; no engine is asked."""
    made: list[str] = []

    def keeps(what: str) -> Any:
        return lambda *_: made.append(what) or SimpleNamespace(bytes=1 << 20)  # type: ignore[func-returns-value]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(keep_snapshot, "containers", lambda *_: ())
    monkeypatch.setattr(keep_snapshot, "Stack", lambda *_: SimpleNamespace(checkout="here"))
    monkeypatch.setattr(keep_snapshot, "planned", lambda _: SimpleNamespace(profile="mysql@8.4"))
    monkeypatch.setattr(keep_snapshot, "take", keeps("snapshot"))
    monkeypatch.setattr(keep_snapshot, "ensure_base_directory", keeps("base"))
    return made


def test_the_snapshot_comes_first(made: list[str]) -> None:
    assert keep_snapshot._keep("p", WANTED).count("1 MiB") == 3
    assert made == ["snapshot", "base", "base"]


def test_who_waits_to_measure_waits_for_no_further_base_directory(made: list[str]) -> None:
    with shared("measuring"):
        told = keep_snapshot._keep("p", WANTED)
    assert made == ["snapshot"] and told.endswith("a measurement is waiting")
