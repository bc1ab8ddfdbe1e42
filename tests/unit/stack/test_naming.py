"""Names of stacks and their Compose projects."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.naming import check_name, identity, name_option, project_name, stack_name

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
