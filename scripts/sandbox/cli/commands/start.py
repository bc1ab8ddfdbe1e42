"""start: starts the stopped nodes of a stack again."""

import time

from sandbox.cli.common.options import Name, Timeout
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.viewing import show_ready
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.stack import lifecycle
from sandbox.stack.up import Started

ABOUT = About(group="stacks", after="stop")


def command(name: Name = None, timeout: Timeout = None) -> None:
    """Start the stopped nodes and wait until the stack is ready."""
    begin = time.monotonic()
    with ProgressDisplay("start") as progress:
        stack = lifecycle.start(quiet_stack(name, progress), progress, timeout)
    started = Started(stack, stack.roles(), stack.versions())
    show_ready(started, time.monotonic() - begin, as_json=False)
