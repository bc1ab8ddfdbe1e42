"""A stack of one server on a scripted engine."""

import pytest

from sandbox.stack.control import Control
from sandbox.stack.stack import Stack
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine with a stack of one server."""
    return FakeDocker()


@pytest.fixture
def stack(docker: FakeDocker) -> Stack:
    return running_stack(docker, "mysql")


@pytest.fixture
def node(stack: Stack) -> Control:
    """Its server."""
    made = stack.control("mysql1")
    assert isinstance(made, Control)
    return made
