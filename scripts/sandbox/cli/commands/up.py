"""up: starts the stack of a profile, waits until it is ready, then keeps it as a snapshot."""

import sys
import time
from functools import partial
from typing import Annotated

import typer

from sandbox.cli.common import options
from sandbox.cli.common.plans import takes_plan
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.profile.data_directory import base_requests
from sandbox.profile.plan import PlanRequest
from sandbox.profile.reader import load_library
from sandbox.stack.engine import Docker
from sandbox.stack.engine_facts import begin_info
from sandbox.stack.naming import DEFAULT_NAME, check_name
from sandbox.stack.planning import planned, planned_base_directories
from sandbox.stack.up import UpOptions
from sandbox.stack.up import up as bring_up

ABOUT = About(group="stacks", plans=True)


@takes_plan
def command(
    request: PlanRequest,
    name: options.NameOfUp = None,
    publish: Annotated[
        bool, typer.Option("--publish", help="Publish free ports on 127.0.0.1.")
    ] = False,
    timeout: options.Timeout = None,
    cold: Annotated[
        bool, typer.Option("--cold", help="Start from scratch, not from a snapshot.")
    ] = False,
    snapshots: Annotated[
        int, typer.Option(min=0, max=1, help="0: neither restore nor keep a snapshot (1).")
    ] = 1,
    json: options.Json = False,
) -> None:
    """Start a stack and wait until it is ready."""
    begin = time.monotonic()
    docker, restore = Docker(), snapshots == 1 and not cold
    with ProgressDisplay("up") as progress:
        info, library = begin_info(docker), load_library()
        plan = planned(request, library, docker)
        bases = partial(planned_base_directories, plan, library)
        wanted = UpOptions(
            check_name(name or DEFAULT_NAME), timeout, publish, restore, base_directories=bases
        )
        started = bring_up(plan, wanted, progress, docker, info)
    # Late, for start-up time: while the stack starts, nobody waits for what follows.
    from sandbox.cli.common.viewing import show_ready
    from sandbox.stack.snapshots.background import begin_keeping

    show_ready(started, time.monotonic() - begin, json)
    sys.stdout.flush()
    if snapshots and (wish := started.wish):
        begin_keeping(
            started.stack.project,
            wish,
            dict.fromkeys(base_requests(started.plan or plan, library).values()),
        )
