"""shell: opens a shell in a node."""

from sandbox.cli.common.options import Name, Node
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.stack.stack import open_shell

ABOUT = About(group="stacks", after="sql")


def command(name: Name = None, node: Node = None) -> int:
    """Open a shell in a node (default: the client)."""
    with ProgressDisplay("shell") as progress:
        stack = quiet_stack(name, progress)
        return open_shell(stack, node or stack.client.node)
