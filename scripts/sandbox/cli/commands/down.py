"""down: removes a stack with its containers, networks and volumes."""

from sandbox.cli.common.options import KeepLogs, Name
from sandbox.cli.common.viewing import removed_text
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.paths import RESULTS
from sandbox.stack import lifecycle
from sandbox.stack.engine import Docker

ABOUT = About(group="stacks", after="start")


def command(name: Name = None, keep_logs: KeepLogs = False) -> None:
    """Remove a stack: containers, networks, volumes."""
    with ProgressDisplay("down") as progress:
        removed = lifecycle.down(
            name, progress, Docker(), keep_logs_in=RESULTS if keep_logs else None
        )
        progress.line(removed_text(removed))
