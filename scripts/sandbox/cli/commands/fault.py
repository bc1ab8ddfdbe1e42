"""fault: breaks nodes of a running stack on purpose, until `heal`."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.options import Json, Name, Via, chosen
from sandbox.cli.common.running import quiet_stack
from sandbox.cli.common.showing import show
from sandbox.cli.common.viewing import follow
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.core.plugin_options import parse_options
from sandbox.failure.breaker import Breaker
from sandbox.failure.fault import (
    EXAMPLE,
    FAULT_KINDS,
    FaultRequest,
    Injection,
    fault_named,
    refuse_broken,
)
from sandbox.failure.targets import PATIENT_S, chosen_nodes
from sandbox.measure.trial.watch import Watch
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.stack import Stack

ABOUT = About(group="stacks", after="snapshots")


def command(
    name: Name = None,
    fault: Annotated[str | None, chosen("Fault, such as server-crash.", completion.fault)] = None,
    target: Annotated[
        str, typer.Option(help="writer, one-reader, minority, …, proxy, or a node.")
    ] = "writer",
    options: Annotated[
        list[str] | None, typer.Option(help="Options of the fault: 'away_from=proxies'.")
    ] = None,
    via: Via = None,
    seed: Annotated[
        int, typer.Option(help="Draws the nodes of one-reader, minority and majority (1).")
    ] = 1,
    watch: Annotated[
        bool, typer.Option("--watch", help="Go on printing each change of a server until Ctrl-C.")
    ] = False,
    json: Json = False,
) -> None:
    """Break nodes on purpose: crash, hang, cut off, slow down; `heal` ends it."""
    if not fault:
        known = f"known: {', '.join(FAULT_KINDS.names())}"
        raise SandboxError("no FAULT was given", known, "try: make fault FAULT=server-crash")
    given = parse_options(options or (), EXAMPLE)
    fault_named(fault, given)
    with ProgressDisplay("fault") as progress:
        stack = quiet_stack(name, progress)
        request = FaultRequest(
            fault, given, chosen_nodes(stack, target, via, seed, answer_s=PATIENT_S)
        )
        refuse_broken(stack, request)
        with _watched(stack, progress):
            injection = _injected(Breaker(stack), request, name_option(stack.name))
    option, ms = name_option(stack.name), (injection.ended_ns - injection.began_ns) / 1e6
    if injection.missing:
        known = "; ".join(f"{node}: {missing}" for node, missing in injection.missing.items())
        raise MachineError(
            f"{fault} is not in effect", known, f"try: make heal{option}   (undoes the attempt)"
        )
    data = {"fault": fault, "options": given, "nodes": list(request.nodes), "ms": round(ms, 1)}
    text = f"{fault} on {', '.join(request.nodes)}: in effect after {ms:.0f} ms"
    show(json, data, [text, f"state  make ps{option}      heal  make heal{option}"])
    if watch:
        follow(stack)


@contextmanager
def _watched(stack: Stack, progress: OnEvent) -> Iterator[None]:
    """Says what changes meanwhile; a stack whose client cannot observe is broken all the same."""
    with ExitStack() as watching:
        with suppress(SandboxError):
            watching.enter_context(Watch(stack, lambda text: progress(Note(text))))
        yield


def _injected(breaker: Breaker, request: FaultRequest, option: str) -> Injection:
    """Breaks the nodes; what a failure or an interruption leaves half done is healed."""
    try:
        breaker.prepare("1", request)
        return breaker.inject("1")
    except BaseException as problem:
        breaker.close()
        if isinstance(problem, KeyboardInterrupt):
            known, step = "what was broken is healed", f"try: make ps{option}"
            raise SandboxError("interrupted", known, step, ExitCode.INTERRUPTED) from None
        raise
