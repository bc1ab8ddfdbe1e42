"""heal: ends the faults that `fault`, or a trial that was killed, has left in a stack, and waits
until it is ready.
"""

from typing import Annotated

import typer

from sandbox.cli.common.options import Json, Name, Timeout
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.heal import Healed, heal
from sandbox.stack.journal import forget_all
from sandbox.stack.naming import DEFAULT_NAME, AmbiguousStackError, project_name
from sandbox.stack.protocol import OnEvent
from sandbox.stack.stack import Stack

ABOUT = About(group="stacks", after="fault")


def command(
    name: Name = None,
    repair: Annotated[
        bool, typer.Option("--repair", help="Bring back servers that do not return by themselves.")
    ] = False,
    timeout: Timeout = None,
    json: Json = False,
) -> None:
    """Heal everything that was broken on purpose, and wait until the stack is ready."""
    with ProgressDisplay("heal") as progress:
        stack = _stack(name, progress)
        done = heal(stack, progress, timeout, repair) if stack else Healed()
    data = [{"fault": each.fault, "node": each.node} for each in done.healed]
    gone = f"the stack '{name or DEFAULT_NAME}' is gone, and with it what was broken"
    text = f"{done.text}; every node is ready" if stack else gone
    show(json, {"healed": data, "repaired": done.repaired, "ready": bool(stack)}, [text])


def _stack(name: str | None, progress: OnEvent) -> Stack | None:
    """The stack; None for one that is gone and has left something in the journal, which is
    forgotten.
    """
    try:
        return quiet_stack(name, progress)
    except AmbiguousStackError:
        raise
    except SandboxError as absent:
        if absent.exit_code is ExitCode.BAD_INPUT and forget_all(
            project_name(name or DEFAULT_NAME)
        ):
            return None
        raise
