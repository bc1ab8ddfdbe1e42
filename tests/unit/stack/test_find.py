"""Which stack a command means."""

from pathlib import Path

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.find import all_stacks, choose_project, find_stack, leftover_projects
from sandbox.stack.inventory import inventory
from sandbox.stack.naming import project_name
from sandbox.stack.protocol import Note
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import Events, running_stack

HERE = Path("/here")


def projects(*names: str, by_hand: tuple[str, ...] = (), foreign: tuple[str, ...] = ()) -> dict[str, str]:
    """Project → checkout."""
    found = {project_name(name, HERE): str(HERE) for name in names} | dict.fromkeys(by_hand, str(HERE))
    return found | {project_name(name, Path("/there")): "/there" for name in foreign}


def test_default_is_taken_where_it_is() -> None:
    assert choose_project(None, projects("default", "a"), Events(), HERE) == project_name("default", HERE)


def test_the_only_stack_is_taken_and_told() -> None:
    events = Events()
    assert choose_project(None, projects("a", foreign=("b",)), events, HERE) == project_name("a", HERE)
    assert events == [Note("using the stack 'a', the only one here")]


def test_several_without_a_name_are_listed() -> None:
    with pytest.raises(SandboxError) as unclear:
        choose_project(None, projects("a", "b"), Events(), HERE)
    assert unclear.value.exit_code == ExitCode.BAD_INPUT
    assert unclear.value.known == "there are a, b"


def test_a_stack_started_by_hand_is_found_by_its_project() -> None:
    assert choose_project("byhand", projects("a", by_hand=("byhand",)), Events(), HERE) == "byhand"


def test_a_mistyped_name_gets_a_hint() -> None:
    with pytest.raises(SandboxError) as unknown:
        choose_project("galra", projects("galera", "b"), Events(), HERE)
    assert "did you mean 'galera'?" in unknown.value.known


def test_another_checkouts_stack_is_not_ours() -> None:
    with pytest.raises(SandboxError) as none:
        choose_project(None, projects(foreign=("default",)), Events(), HERE)
    assert "no stacks" in none.value.known
    with pytest.raises(SandboxError) as named:
        choose_project("x", projects(), Events(), HERE)
    assert named.value.next_step.startswith("try: make up ") and named.value.next_step.endswith(" NAME=x")


def test_all_stacks_are_found_by_label() -> None:
    docker = FakeDocker()
    running_stack(docker, "mysql", name="a")
    running_stack(docker, "mysql+replica1", name="b")
    assert {stack.name: stack.profile for stack in all_stacks(docker)} == {"a": "mysql", "b": "mysql+replica1"}
    assert find_stack("b", Events(), docker).profile == "mysql+replica1"


def test_leftovers_are_stacks_of_which_nothing_runs() -> None:
    docker = FakeDocker()
    running_stack(docker, "mysql", name="alive")
    running_stack(docker, "mysql", name="dead")
    for name, container in docker.containers.items():
        container["state"] = "exited" if "dead" in name else "running"
    docker.volumes["v"] = {"sandbox.stack": "volume-only", "sandbox.checkout": "/x"}
    assert leftover_projects(inventory(docker)).keys() == {project_name("dead"), "volume-only"}
