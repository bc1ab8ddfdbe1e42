"""stop: stops a stack; its data and containers stay."""

from sandbox.cli.common.options import Name
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.stack import lifecycle

ABOUT = About(group="stacks", after="restart")


def command(name: Name = None) -> None:
    """Stop a stack; its data is kept."""
    with ProgressDisplay("stop") as progress:
        lifecycle.stop(quiet_stack(name, progress), progress)
