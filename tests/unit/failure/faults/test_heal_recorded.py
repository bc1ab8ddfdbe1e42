"""Healing by what an earlier command has written down: the latest first, and all that can be
healed.
"""

from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode
from sandbox.failure.breaker import heal_recorded, release_helpers
from sandbox.failure.faults.hang import Hang
from sandbox.stack.journal import Breakage, note_breakage
from unit.failure.faults.breaker_rig import broken
from unit.fake_stack import FakeStack

pytestmark = pytest.mark.usefixtures("cache")


def noted(stack: FakeStack, fault: str, node: str, began_utc_s: float, **options: str) -> None:
    """Something that an earlier command has left broken."""
    note_breakage(
        Breakage(
            project=stack.project,
            fault=fault,
            options=dict(options),
            node=node,
            began_utc_s=began_utc_s,
        )
    )


def test_what_is_written_down_is_healed_the_latest_first(stack: FakeStack, log: list[str]) -> None:
    noted(stack, "hang", "mysql1", 1)
    noted(stack, "unplug", "replica1", 3)
    noted(stack, "graceful", "mysql1", 2)
    stack.controls["mysql1"].status = "exited (0)"
    healed: list[Breakage] = []
    assert heal_recorded(stack, healed.append) is None
    assert log == ["connect replica1", "start mysql1", "unpause mysql1"] and not broken(stack)
    assert [each.text for each in healed] == [
        "unplug on replica1",
        "graceful on mysql1",
        "hang on mysql1",
    ]
    assert heal_recorded(stack, healed.append) is None and len(healed) == 3


def test_what_cannot_be_healed_stays_and_hinders_nothing_else(
    stack: FakeStack, log: list[str], cache: Path
) -> None:
    noted(stack, "hang", "mysql1", 1)
    noted(stack, "of-an-older-version", "mysql1", 2)
    noted(stack, "hang", "replica1", 3, of_an_older="version")
    noted(stack, "slow-node", "replica1", 4)
    (cache / "sandbox" / "faults" / stack.project / "9.json").write_text("{")
    healed: list[Breakage] = []
    problem = heal_recorded(stack, healed.append)
    assert [each.text for each in healed] == ["hang on mysql1"] and log == ["unpause mysql1"]
    assert problem and problem.exit_code is ExitCode.ENVIRONMENT and len(problem.lines()) == 3
    stays = ["slow-node on replica1", "hang on replica1", "of-an-older-version on mysql1"]
    assert problem.what == f"not healed: {', '.join(stays)}, 1 file that cannot be read"
    for reason in (
        "KeyError: 'cpus'",
        "no option 'of_an_older'",
        "no fault 'of-an-older-version'",
        "9.json: the file",
    ):
        assert reason in problem.known
    assert "make down" in problem.next_step
    assert sorted(broken(stack)) == sorted(stays)


def test_a_fault_ends_with_its_node(stack: FakeStack, log: list[str]) -> None:
    noted(stack, "hang", "mysql7", 1)
    healed: list[Breakage] = []
    assert heal_recorded(stack, healed.append) is None
    assert [each.node for each in healed] == ["mysql7"] and not log and not broken(stack)


def test_helpers_of_every_node_are_removed(stack: FakeStack, log: list[str]) -> None:
    release_helpers(stack)
    assert sorted(log) == sorted(f"release {node.name}" for node in stack.nodes())


def test_what_outlasts_a_heal_is_waited_for_once_all_is_healed(
    stack: FakeStack, log: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Hang, "outlasts_heal", True)
    monkeypatch.setattr(Hang, "settle", lambda _, node: log.append(f"settle {node.name}"))
    noted(stack, "hang", "mysql1", 2)
    noted(stack, "unplug", "replica1", 1)
    assert heal_recorded(stack, lambda _: None, lambda node: log.append(f"wait {node}")) is None
    assert log == ["unpause mysql1", "connect replica1", "wait mysql1", "settle mysql1"]
