"""down: removes a stack with its containers, networks and volumes."""

from sandbox.commands.common.options import Name
from sandbox.commands.common.viewing import removed_text
from sandbox.console import ProgressDisplay
from sandbox.stack import lifecycle
from sandbox.stack.engine import Docker

HELP = ("a stack", 10)


def command(name: Name = None) -> None:
    """Remove a stack: containers, networks, volumes."""
    with ProgressDisplay("down") as progress:
        progress.line(removed_text(lifecycle.down(name, progress, Docker())))
