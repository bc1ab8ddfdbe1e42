"""How a stack is reset between repeated trials: what is asked of it, and which one cannot be
restored.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.measure.trial import reset as module
from sandbox.record.record import Inputs
from sandbox.stack.nodes import UPGRADED
from sandbox.stack.up import UpOptions
from unit.fake_stack import CLIENT, server


class KnownStack:
    """A stack on the engine, of which a test says what it knows."""

    def __init__(self, **given: Any) -> None:
        self.name = "a"
        self.docker = object()
        self.plan = "0123"
        self.inputs = Inputs()
        self.members = [SimpleNamespace(is_server=True, running=True)]
        self.known = [server("mysql1"), CLIENT]
        vars(self).update(given)

    def nodes(self) -> list[Any]:
        return self.known

    def refreshed(self) -> "KnownStack":
        return KnownStack(name="refreshed")


@contextmanager
def quiet() -> Iterator[Any]:
    """Progress that nobody sees."""
    yield lambda _: None


@pytest.fixture
def done(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was done to stacks, in order; every one of them has a snapshot."""
    found: list[str] = []

    def up(_plan: Any, options: UpOptions, *_: Any) -> Any:
        found.append(f"up {options.name}, restore {options.restore}, publish {options.publish}")
        return SimpleNamespace(stack=KnownStack(name="new"))

    def heal(stack: KnownStack, _: Any, timeout: None, repair: bool) -> None:
        found.append(f"heal {stack.name}, repair {repair}, timeout {timeout}")

    monkeypatch.setattr(module, "Stack", KnownStack)
    monkeypatch.setattr(module, "planned", lambda _: "plan")
    monkeypatch.setattr(module, "request_of", lambda *_: "request")
    monkeypatch.setattr(module, "plan_hash", lambda _: "0123")
    monkeypatch.setattr(module, "usable", lambda *_: "snapshot")
    monkeypatch.setattr(module, "usable_base_directories", lambda *_: {})
    monkeypatch.setattr(module, "planned_base_directories", lambda _: {})
    monkeypatch.setattr(module, "addresses", lambda _: [])
    monkeypatch.setattr(module, "down", lambda name, *_: found.append(f"down {name}"))
    monkeypatch.setattr(module, "up", up)
    monkeypatch.setattr(module, "heal", heal)
    return found


def test_a_stack_is_healed_and_repaired(done: list[str]) -> None:
    stack: Any = KnownStack()
    assert module.healing(quiet)(stack).name == "refreshed"
    assert done == ["heal a, repair True, timeout None"]


def test_a_stack_is_removed_and_restored(done: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "addresses", lambda _: ["127.0.0.1:3306"])
    stack: Any = KnownStack()
    reset = module.restoring(stack, quiet)
    assert not done, "nothing before the first trial"
    assert reset(stack).name == "new"
    assert done == ["down a", "up a, restore True, publish True"]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"plan": UPGRADED}, "upgraded"),
        ({"known": [server("external1", "external"), CLIENT]}, "somebody else"),
        ({"inputs": Inputs(init_name="my.sql", init_sha256="1")}, "INIT=my.sql"),
        ({"members": [SimpleNamespace(is_server=True, running=False)]}, "none of its servers runs"),
        ({"plan": "4567"}, "are not those of this checkout now"),
    ],
)
def test_a_stack_that_cannot_be_made_again_is_refused(
    done: list[str], given: dict[str, Any], why: str
) -> None:
    stack: Any = KnownStack(**given)
    with pytest.raises(SandboxError) as refused:
        module.restoring(stack, quiet)
    assert why in refused.value.known and refused.value.exit_code is ExitCode.BAD_INPUT
    assert len(refused.value.lines()) == 3 and not done


def test_a_stack_without_snapshot_or_base_data_is_refused(
    done: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "usable", lambda *_: None)
    stack: Any = KnownStack()
    with pytest.raises(SandboxError, match="cannot be restored"):
        module.restoring(stack, quiet)
    monkeypatch.setattr(module, "usable_base_directories", lambda *_: {"mysql1": "base"})
    module.restoring(stack, quiet)
    assert not done
