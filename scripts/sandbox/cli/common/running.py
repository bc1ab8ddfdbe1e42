"""How a command finds the running stack that it uses."""

from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.stack.engine import Docker
from sandbox.stack.locks import mark_changed, reading
from sandbox.stack.protocol import OnEvent
from sandbox.stack.stack import Stack, find_stack


def quiet_stack(name: str | None, progress: OnEvent) -> Stack:
    """The stack of a command that may change it; no snapshot of it pauses its servers from now
    on.
    """
    stack = find_stack(name, progress, Docker())
    mark_changed(stack.project)
    return _unpaused(stack)


@contextmanager
def read_stack(name: str | None, progress: OnEvent) -> Iterator[Stack]:
    """The stack of a command that does not change it; a snapshot of it waits with its pause until
    the block ends.
    """
    with undisturbed(find_stack(name, progress, Docker())) as stack:
        yield stack


@contextmanager
def undisturbed(stack: Stack) -> Iterator[Stack]:
    """The stack with servers that no snapshot pauses until the block ends, which does not change
    them.
    """
    with reading(stack.project):
        yield _unpaused(stack)


def _unpaused(stack: Stack) -> Stack:
    """The stack as it is after a pause of its servers, which a snapshot may just have ended."""
    return stack.refreshed() if any(each.state == "paused" for each in stack.members) else stack
