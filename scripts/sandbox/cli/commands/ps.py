"""ps: shows one stack, or all stacks of this tool on the engine; or each change of a stack's
servers as it comes.
"""

import sys
from typing import Annotated

import typer

from sandbox.cli.common.options import Json, NameOfPs
from sandbox.cli.common.running import undisturbed
from sandbox.cli.common.showing import show
from sandbox.cli.common.viewing import StackData, follow, stack_lines, view_now
from sandbox.cli.console import ProgressDisplay, as_typed
from sandbox.cli.registry import About
from sandbox.core.errors import SandboxError
from sandbox.stack.engine import Docker
from sandbox.stack.stack import Stack, all_stacks, find_stack

ABOUT = About(group="stacks", after="up")
LOOK_S = 7.0
"""How long the nodes may take to answer each question: a source asks its replicas, and waits 3 s
for one that hangs.
"""


def command(
    name: NameOfPs = None,
    watch: Annotated[
        bool, typer.Option("--watch", help="Print each change of a server until Ctrl-C.")
    ] = False,
    json: Json = False,
) -> None:
    """Show every stack with its nodes, roles and ports."""
    if watch and json:
        raise SandboxError(
            "WATCH and JSON contradict each other", "a watch prints lines", "try: make ps WATCH=1"
        )
    docker = Docker()
    with ProgressDisplay("ps") as progress:
        stacks = [find_stack(name, progress, docker)] if name or watch else all_stacks(docker)
    if watch:
        follow(stacks[0])
        return
    shown = [_shown(stack, json) for stack in stacks]
    if shown or json:
        show(
            json, {"stacks": shown}, ["\n\n".join("\n".join(stack_lines(stack)) for stack in shown)]
        )
    else:
        print(as_typed("there is no stack; try: make up PROFILE=galera3+haproxy"), file=sys.stderr)


def _shown(found: Stack, prove: bool) -> StackData:
    """The stack with what its servers report now."""
    with undisturbed(found) as stack:
        stack.patience_s = LOOK_S
        return view_now(stack, stack.prove_settings() if prove else [])
