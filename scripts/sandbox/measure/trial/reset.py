"""How a stack is made ready for the next of repeated trials: healed and repaired, or started anew
from its snapshot.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial

from sandbox.core.errors import SandboxError
from sandbox.failure.heal import heal
from sandbox.measure.trial.repeats import Reset
from sandbox.profile.compose import plan_hash
from sandbox.profile.plan import Plan
from sandbox.stack.lifecycle import down
from sandbox.stack.naming import name_option
from sandbox.stack.nodes import UPGRADED
from sandbox.stack.planning import planned, planned_base_directories
from sandbox.stack.protocol import OnEvent, RunningStack
from sandbox.stack.publish import addresses
from sandbox.stack.snapshots.restore import usable, usable_base_directories
from sandbox.stack.stack import Stack
from sandbox.stack.up import UpOptions, up
from sandbox.stack.upgrade import request_of

Progress = Callable[[], AbstractContextManager[OnEvent]]
"""Shows the events of a stack while it is reset."""


def healing(progress: Progress) -> Reset:
    """Heals what is broken, starts what has ended, repairs what does not come back by itself."""

    def reset(stack: RunningStack) -> RunningStack:
        assert isinstance(stack, Stack)  # noqa: S101  (a stack on the engine is one)
        with progress() as show:
            heal(stack, show, timeout=None, repair=True)
        return stack.refreshed()

    return reset


def restoring(stack: Stack, progress: Progress) -> Reset:
    """Removes the stack and starts it again from its snapshot, or its servers' base data.

    Raises SandboxError (exit 2), before anything is removed, for a stack that cannot be restored.
    """
    plan = _plan_of(stack)
    bases = partial(planned_base_directories, plan)
    _refuse_without_snapshot(stack, plan, bases)
    is_published = bool(addresses(stack))
    options = UpOptions(stack.name, publish=is_published, restore=True, base_directories=bases)

    def reset(_: RunningStack) -> RunningStack:
        with progress() as show:
            down(stack.name, show, stack.docker)
            return up(plan, options, show, stack.docker).stack

    return reset


def _plan_of(stack: Stack) -> Plan:
    """The plan that the stack was started from, made again from what it knows of itself."""
    if stack.plan == UPGRADED:
        raise _unrestorable(stack, "some of its servers were upgraded since")
    if any(node.kind == "external" for node in stack.nodes()):
        raise _unrestorable(stack, "somebody else runs its external server")
    if stack.inputs.init_name:
        raise _unrestorable(stack, f"what INIT={stack.inputs.init_name} says is not kept")
    if stack.inputs.cnf_files:
        raise _unrestorable(stack, "the files of CNF= for single nodes are not kept")
    server = next((each for each in stack.members if each.is_server and each.running), None)
    if server is None:
        raise _unrestorable(stack, "none of its servers runs")
    plan = planned(request_of(stack, server))
    if plan_hash(plan) != stack.plan:
        raise _unrestorable(
            stack, "its components, images or options are not those of this checkout now"
        )
    return plan


def _refuse_without_snapshot(
    stack: Stack, plan: Plan, bases: Callable[[], Mapping[str, Plan]]
) -> None:
    if usable(stack.docker, plan) is None and not usable_base_directories(stack.docker, bases()):
        raise _unrestorable(
            stack, "it has no snapshot, and its servers have no base data directory"
        )


def _unrestorable(stack: Stack, why: str) -> SandboxError:
    option = name_option(stack.name)
    step = f"try: the same without FRESH=1, or make down{option} && make up{option} PROFILE=…"
    return SandboxError(f"FRESH=1: the stack '{stack.name}' cannot be restored", why, step)
