"""Snapshots in the background and measurements: never both at once, and neither waits for the other
for ever.

The process takes a snapshot first, then base data directories while nobody waits to measure.
"""

import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.plan import PlanRequest
from sandbox.stack.locks import claimed, shared
from sandbox.stack.snapshots import background
from sandbox.stack.snapshots.background import begin_keeping, give_up, measuring, somebody_measures
from sandbox.stack.snapshots.take import Wish

WISH = Wish("k", "u", fresh=True)
MEASURER = """
from sandbox.stack.snapshots.background import measuring
with measuring(print):
    print("measures", flush=True)
    input()
"""
WANTED = {
    "wish": asdict(Wish("k", "u", fresh=True)),
    "base_directories": [asdict(PlanRequest("mysql@8.4"))] * 2,
}
Started = list["subprocess.Popen[bytes]"]


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of the test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def keepers(monkeypatch: pytest.MonkeyPatch) -> Iterator[Started]:
    """What was started to take snapshots; each takes a minute."""
    started: Started = []

    def slow(_argv: Any, **options: Any) -> "subprocess.Popen[bytes]":
        started.append(subprocess.Popen(["sleep", "60"], **options))
        return started[-1]

    monkeypatch.setattr(
        background, "subprocess", SimpleNamespace(Popen=slow, DEVNULL=subprocess.DEVNULL)
    )
    yield started
    for each in started:
        each.kill()
        each.wait()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits long."""
    monkeypatch.setattr(background, "_KEEPER_ENDS_S", 0.7)


def test_no_snapshot_is_taken_while_another_stack_is_measured(keepers: Started) -> None:
    with measuring(pytest.fail):
        begin_keeping("p", WISH, [])
    assert not keepers
    begin_keeping("p", WISH, [])
    assert len(keepers) == 1


def test_measurements_run_side_by_side_and_so_do_keepers(keepers: Started) -> None:
    with measuring(pytest.fail), measuring(pytest.fail):
        assert somebody_measures()
    assert not somebody_measures()
    for project in ("p", "q"):
        begin_keeping(project, WISH, [])
    assert len(keepers) == 2


@pytest.mark.usefixtures("impatient")
def test_a_measurement_waits_for_the_snapshot_of_any_stack_and_says_so(keepers: Started) -> None:
    begin_keeping("p", WISH, [])
    shown: list[str] = []
    with pytest.raises(SandboxError) as late, measuring(shown.append):
        pytest.fail("a snapshot is being taken")
    assert shown == ["a snapshot is being taken in the background; waiting for it"]
    assert late.value.exit_code is ExitCode.ENVIRONMENT
    assert not somebody_measures()


def test_a_measurement_begins_when_the_keeper_is_killed_or_given_up(keepers: Started) -> None:
    begin_keeping("p", WISH, [])
    begin_keeping("q", WISH, [])
    threading.Timer(0.2, keepers[0].kill).start()
    threading.Timer(0.2, give_up, ["q"]).start()
    with measuring(lambda _: None):
        pass


def test_a_keeper_sees_that_somebody_waits_for_it_to_measure(keepers: Started) -> None:
    begin_keeping("p", WISH, [])
    seen: list[bool] = []

    def waits(_: str) -> None:
        seen.append(somebody_measures())
        keepers[0].kill()

    with measuring(waits):
        begin_keeping("q", WISH, [])
    assert seen == [True] and len(keepers) == 1


def test_a_measurement_that_was_killed_leaves_no_lock(keepers: Started) -> None:
    scripts = str(Path(__file__).parents[4] / "scripts")
    argv, pipe = [sys.executable, "-c", MEASURER], subprocess.PIPE
    process = subprocess.Popen(argv, stdin=pipe, stdout=pipe, text=True, cwd=scripts)
    try:
        assert process.stdout and process.stdout.readline() == "measures\n"
        begin_keeping("p", WISH, [])
        assert not keepers
    finally:
        process.kill()
        process.communicate()
    begin_keeping("p", WISH, [])
    assert len(keepers) == 1


def test_a_keeper_that_leaves_leaves_no_lock(keepers: Started) -> None:
    with measuring(pytest.fail):
        begin_keeping("p", WISH, [])
        with claimed(["p", "snapshots"]) as free:
            assert free and not keepers


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What it has made, in order; no engine is asked."""
    made: list[str] = []

    def keeps(what: str) -> Any:
        return lambda *_: made.append(what) or SimpleNamespace(bytes=1 << 20)  # type: ignore[func-returns-value]

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(background, "containers", lambda *_: ())
    monkeypatch.setattr(background, "Stack", lambda *_: SimpleNamespace(checkout="here"))
    monkeypatch.setattr(background, "planned", lambda _: SimpleNamespace(profile="mysql@8.4"))
    monkeypatch.setattr(background, "take", keeps("snapshot"))
    monkeypatch.setattr(background, "ensure_base_directory", keeps("base"))
    return made


def test_the_snapshot_comes_first(made: list[str]) -> None:
    assert background._keep("p", WANTED).count("1 MiB") == 3
    assert made == ["snapshot", "base", "base"]


def test_who_waits_to_measure_waits_for_no_further_base_directory(made: list[str]) -> None:
    with shared("measuring"):
        shown = background._keep("p", WANTED)
    assert made == ["snapshot"] and shown.endswith("a measurement is waiting")
