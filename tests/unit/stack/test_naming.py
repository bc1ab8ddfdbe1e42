"""Names of stacks and their Compose projects, and which stack a command means."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.naming import (
    check_name,
    choose_project,
    identity,
    name_option,
    project_name,
    stack_name,
)
from sandbox.stack.protocol import Note
from unit.stack.small_stack import Events

HERE, THERE = Path("/home/a/sandbox"), Path("/home/b/sandbox")


@given(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,39}", fullmatch=True))
def test_a_name_comes_back_from_its_project(name: str) -> None:
    assert stack_name(project_name(name, HERE), str(HERE)) == name


def test_two_checkouts_never_share_a_project() -> None:
    assert project_name("default", HERE) != project_name("default", THERE)
    assert identity("a", HERE).checkout == str(HERE)


def test_a_stack_started_by_hand_is_called_as_its_project() -> None:
    assert stack_name("byhand", str(HERE)) == "byhand"
    assert stack_name(project_name("a", THERE), str(HERE)) == project_name("a", THERE)


@pytest.mark.parametrize("name", ["", "A", "-a", "a b", "a;rm -rf x", "$(touch x)", "a" * 41, "ä"])
def test_a_name_that_compose_would_not_take_is_refused(name: str) -> None:
    with pytest.raises(SandboxError) as refused:
        check_name(name)
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert len(refused.value.lines()) == 3


def test_messages_name_the_stack_only_where_it_matters() -> None:
    assert name_option("default") == ""
    assert name_option("a") == " NAME=a"


def projects(
    *names: str, by_hand: tuple[str, ...] = (), foreign: tuple[str, ...] = ()
) -> dict[str, str]:
    """Project → checkout."""
    found = {project_name(name, HERE): str(HERE) for name in names} | dict.fromkeys(
        by_hand, str(HERE)
    )
    return found | {project_name(name, Path("/there")): "/there" for name in foreign}


def test_default_is_taken_where_it_is() -> None:
    assert choose_project(None, projects("default", "a"), Events(), HERE) == project_name(
        "default", HERE
    )


def test_the_only_stack_is_taken_and_reported() -> None:
    events = Events()
    assert choose_project(None, projects("a", foreign=("b",)), events, HERE) == project_name(
        "a", HERE
    )
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
    assert named.value.next_step.startswith("try: make up ") and named.value.next_step.endswith(
        " NAME=x"
    )
