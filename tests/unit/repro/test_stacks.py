"""The stacks of repros, on an engine that is made up: which start, which are kept, which go."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from sandbox.core.errors import MachineError
from sandbox.repro import stacks as module
from sandbox.repro.result import lock_of
from sandbox.repro.sessions import Sessions
from sandbox.repro.stacks import Lease, ReproStacks, WantedStack
from sandbox.stack.engine import Docker
from sandbox.stack.locks import claimed

CHECKOUT = "/somewhere"


class Engine:
    """Stacks by name; ``fails``: how often the next starts fail."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.up: list[str] = []
        self.started: list[str] = []
        self.removed: list[str] = []
        self.fails = 0
        self.is_as_new = True
        nothing = SimpleNamespace(states={}, roles={})
        monkeypatch.setattr(module, "up", self._start)
        monkeypatch.setattr(module, "down", self._remove)
        monkeypatch.setattr(module, "of_checkout", lambda *_: dict.fromkeys(self.up, CHECKOUT))
        monkeypatch.setattr(module, "stack_name", lambda project, _: project)
        monkeypatch.setattr(module, "look_at", lambda _: nothing)
        monkeypatch.setattr(Sessions, "start", lambda _: None)
        monkeypatch.setattr(module, "reset", lambda *_: nothing if self.is_as_new else None)
        monkeypatch.setattr(module, "needs_supply", lambda _: False)
        monkeypatch.setattr(module, "planned_base_directories", lambda _: {})
        monkeypatch.setattr(module, "usable", lambda *_: True)

    def _start(self, _: Any, options: Any, *__: Any) -> SimpleNamespace:
        self.started.append(options.name)
        self.up.append(options.name)
        if self.fails:
            self.fails -= 1
            raise MachineError(f"{options.name} is not ready", "no memory", "try: make doctor")
        client = SimpleNamespace(name="client1", kind="client")
        return SimpleNamespace(stack=SimpleNamespace(name=options.name, nodes=lambda: [client]))

    def _remove(self, name: str, *_: Any) -> None:
        self.removed.append(name)
        if name in self.up:
            self.up.remove(name)


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An engine with nothing on it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return Engine(monkeypatch)


@contextmanager
def shows() -> Iterator[Any]:
    yield lambda _: None


def stacks(own: str = "0123ab") -> ReproStacks:
    return ReproStacks(own, shows, cast("Docker", None))


def wanted(key: str) -> WantedStack:
    return WantedStack(cast("Any", SimpleNamespace(profile=key)), key, f"made-up.{key}")


def leased(pool: ReproStacks, key: str) -> Lease:
    found = pool.lease(wanted(key))
    assert isinstance(found, Lease)
    return found


def test_one_plan_is_one_stack_and_another_plan_takes_its_place(engine: Engine) -> None:
    pool = stacks()
    first = leased(pool, "a")
    assert leased(pool, "a") is first
    second = leased(pool, "b")
    assert engine.started == [first.name, second.name] == ["repro-0123ab-0", "repro-0123ab-1"]
    pool.close()
    assert not engine.up


def test_a_stack_that_starts_beside_the_one_in_use_is_taken(engine: Engine) -> None:
    pool = stacks()
    leased(pool, "a")
    pool.begin(wanted("b"))
    pool.begin(wanted("b"))
    assert leased(pool, "b").wanted.key == "b"
    assert len(engine.started) == 2
    pool.close()


def test_one_that_nobody_wants_any_more_is_removed(engine: Engine) -> None:
    pool = stacks()
    leased(pool, "a")
    pool.begin(wanted("b"))
    leased(pool, "c")
    pool.close()
    assert not engine.up and len(engine.started) == 3


def test_a_start_that_fails_is_tried_again_alone(engine: Engine) -> None:
    engine.fails = 1
    pool = stacks()
    lease = leased(pool, "a")
    assert engine.started == [lease.name, lease.name]
    assert engine.removed == [lease.name]
    pool.close()


def test_a_stack_that_does_not_start_says_why(engine: Engine) -> None:
    engine.fails = 2
    pool = stacks()
    found = pool.lease(wanted("a"))
    assert isinstance(found, MachineError) and found.known == "no memory"
    pool.close()
    assert not engine.up, "what is left of it goes, too"


def test_a_used_stack_is_reset_or_restored(engine: Engine) -> None:
    pool = stacks()
    lease = leased(pool, "a")
    assert pool.as_new(lease, fresh=True) is lease, "nobody has used it"
    lease.used = True
    assert pool.as_new(lease, fresh=False) is lease
    again = pool.as_new(lease, fresh=True)
    assert isinstance(again, Lease) and again is not lease and again.name == lease.name
    engine.is_as_new = False
    again.used = True
    third = pool.as_new(again, fresh=False)
    assert isinstance(third, Lease) and third is not again
    assert leased(pool, "a") is third
    assert engine.started == [lease.name] * 3
    pool.close()


def test_what_a_killed_command_left_is_removed_and_nothing_else(engine: Engine) -> None:
    left = ["repro-0123ab-4", "repro-ffffff-0", "repro-eeeeee-1", "default", "repro-mine"]
    engine.up += left
    with claimed([lock_of("eeeeee")]) as is_ours:
        assert is_ours
        pool = stacks()
        leased(pool, "a")
        pool.close()
    assert engine.up == ["repro-eeeeee-1", "default", "repro-mine"]
