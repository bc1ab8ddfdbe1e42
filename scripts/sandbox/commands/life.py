"""up, ps, sql, shell, logs, restart, stop, start, down, clean: the life of a stack."""

import json
import sys
import time
from dataclasses import dataclass
from datetime import datetime

from sandbox.commands.viewing import view, view_now
from sandbox.console import Progress
from sandbox.errors import SandboxError
from sandbox.library import CHECKOUT, load_library, load_lock
from sandbox.plan.basis import basis_plans, basis_requests
from sandbox.plan.model import PlanRequest
from sandbox.plan.planner import make_plan
from sandbox.report.snapshot_view import snapshot_lines, snapshots_data
from sandbox.report.stack_view import stack_lines, stacks_data, summary_lines
from sandbox.stack import access, lifecycle, remove
from sandbox.stack.engine import Docker
from sandbox.stack.entry import Entries
from sandbox.stack.facts import begin_info
from sandbox.stack.find import all_stacks, find_stack
from sandbox.stack.images import engine_availability
from sandbox.stack.keeping import begin_keeping, undisturbed
from sandbox.stack.logs import logs as print_logs
from sandbox.stack.naming import check_name
from sandbox.stack.remove import Removed
from sandbox.stack.snapshots import shelf
from sandbox.stack.stack import Stack
from sandbox.stack.up import Started, UpOptions
from sandbox.stack.up import up as bring_up


@dataclass(frozen=True, slots=True)
class SnapshotOptions:
    """``use`` False: neither restored nor taken (``SNAPSHOTS=0``). ``cold``: this start is one from nothing."""

    use: bool = True
    cold: bool = False


def up(
    request: PlanRequest, name: str, publish: bool, timeout_s: int | None, as_json: bool, snapshots: SnapshotOptions
) -> None:
    """Starts the stack of a profile, waits until it is ready, says how to go on; then it is kept as a snapshot."""
    begin = time.monotonic()
    docker, restore = Docker(), snapshots.use and not snapshots.cold
    with Progress("up") as progress:
        info, library = begin_info(docker), load_library()
        available = engine_availability(load_lock(), docker, library.catalog)
        plan = make_plan(request, library, available)
        requests = basis_requests(plan, library)
        options = UpOptions(
            check_name(name), timeout_s, publish, restore, bases=lambda: basis_plans(requests, library, available)
        )
        started = bring_up(plan, options, progress, docker, info)
    _summary(started, time.monotonic() - begin, as_json)
    sys.stdout.flush()
    if snapshots.use and (wish := started.wish):
        begin_keeping(started.stack.project, wish, dict.fromkeys(requests.values()))


def _summary(started: Started, seconds: float, as_json: bool) -> None:
    stack, roles = started.stack, started.roles
    shown = view(stack, roles)
    if as_json:
        print(json.dumps({**stacks_data([shown])["stacks"][0], "ready_s": round(seconds, 3)}, indent=2))
        return
    entries = {entry.via: f"{entry.node}:{entry.port}" for entry in Entries(stack.members, lambda: roles).defaults()}
    print("\n".join(summary_lines(shown, entries, seconds)))


def ps(name: str | None, as_json: bool) -> None:
    """Shows one stack, or all of this tool on the engine."""
    docker = Docker()
    with Progress("ps") as progress:
        stacks = [find_stack(name, progress, docker)] if name else all_stacks(docker)
    shown = [view_now(stack, stack.prove_settings() if as_json else []) for stack in stacks]
    if as_json:
        print(json.dumps(stacks_data(shown), indent=2))
    elif shown:
        print("\n\n".join("\n".join(stack_lines(stack)) for stack in shown))
    else:
        print("no stack is here; try: make up PROFILE=galera3+haproxy", file=sys.stderr)


def sql(name: str | None, node: str | None, via: str | None) -> int:
    """A SQL client; returns its exit code."""
    with Progress("sql") as progress:
        return access.sql(_quiet(name, progress), node or via, progress)


def shell(name: str | None, node: str | None) -> int:
    """A shell in a node; returns its exit code."""
    with Progress("shell") as progress:
        stack = _quiet(name, progress)
        return access.shell(stack, node or stack.client.node)


def logs(name: str | None, node: str | None, follow: bool) -> int:
    """Logs on standard output."""
    with Progress("logs") as progress:
        return print_logs(find_stack(name, progress, Docker()), node, follow)


def restart(name: str | None, node: str | None, timeout_s: int | None) -> None:
    """Restarts one node and waits for the whole stack."""
    with Progress("restart") as progress:
        stack = _quiet(name, progress)
        lifecycle.restart(stack, _needed(node, stack), progress, timeout_s)


def _quiet(name: str | None, progress: Progress) -> Stack:
    """The stack that a command means, once no snapshot is being taken of it."""
    stack = find_stack(name, progress, Docker())
    undisturbed(stack.project, stack.name, progress)
    return stack


def _needed(node: str | None, stack: Stack) -> str:
    if node is not None:
        return node
    names = [container.node for container in stack.members]
    raise SandboxError("no NODE was given", f"the stack '{stack.name}' has {', '.join(names)}", f"try: NODE={names[0]}")


def stop(name: str | None) -> None:
    """Stops a stack; data and containers stay."""
    with Progress("stop") as progress:
        lifecycle.stop(_quiet(name, progress), progress)


def start(name: str | None, timeout_s: int | None) -> None:
    """Starts what is stopped and waits until the stack is ready."""
    begin = time.monotonic()
    with Progress("start") as progress:
        stack = lifecycle.start(_quiet(name, progress), progress, timeout_s)
    _summary(Started(stack, stack.roles()), time.monotonic() - begin, as_json=False)


def down(name: str | None) -> None:
    """Removes a stack."""
    with Progress("down") as progress:
        removed = remove.down(name, progress, Docker())
        progress.line(_told(removed))


def clean(everything: bool) -> None:
    """Removes every stack and every snapshot of this checkout, or of every checkout."""
    docker = Docker()
    with Progress("clean") as progress:
        for removed in remove.clean(everything, progress, docker):
            progress.line(_told(removed))
        gone, others = shelf.forget_all(docker, None if everything else str(CHECKOUT))
        if gone:
            progress.line(f"removed {gone} snapshot{'s' if gone > 1 else ''}")
        if others:
            progress.line(f"snapshots of other checkouts stay: {others} (make clean ALL=1 removes them too)")


def snapshots(as_json: bool) -> None:
    """Lists the snapshots on this engine, last used first."""
    found = shelf.snapshots(Docker())
    if as_json:
        print(json.dumps(snapshots_data(found), indent=2))
    elif found:
        print("\n".join(snapshot_lines(found, _clock)))
    else:
        print("no snapshot is here; the first `make up` of a profile keeps one", file=sys.stderr)


def _told(removed: Removed) -> str:
    if not removed.anything:
        return f"{removed.name}: nothing is there"
    counts = f"{removed.containers} containers, {removed.volumes} volumes, {removed.networks} networks"
    return f"{removed.name}: removed {counts}"


def _clock(unix_s: float) -> str:
    return f"{datetime.fromtimestamp(unix_s).astimezone():%Y-%m-%d %H:%M}"
