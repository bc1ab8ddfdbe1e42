"""restart: restarts one node and waits until the whole stack is ready again."""

from sandbox.cli.common.options import Name, Node, Timeout
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError
from sandbox.stack import lifecycle
from sandbox.stack.stack import Stack

ABOUT = About(group="stacks", after="collect")


def command(name: Name = None, node: Node = None, timeout: Timeout = None) -> None:
    """Restart one node and wait until the stack is ready again."""
    with ProgressDisplay("restart") as progress:
        stack = quiet_stack(name, progress)
        lifecycle.restart(stack, _needed(node, stack), progress, timeout)


def _needed(node: str | None, stack: Stack) -> str:
    if node is not None:
        return node
    names = [container.node for container in stack.members]
    known = f"the stack '{stack.name}' has {', '.join(names)}"
    raise SandboxError("no NODE was given", known, f"try: make restart NODE={names[0]}")
