"""The plan of a profile with its options, on this machine; also where that has no engine to ask."""

import shutil
import sys
from collections.abc import Callable
from functools import wraps
from inspect import Signature, signature
from typing import Any, TypeVar

from sandbox.cli.common import options
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.reader import read_configuration_files, read_user_file
from sandbox.stack.binaries import read_binaries
from sandbox.stack.engine import Docker
from sandbox.stack.planning import offline_plan, planned
from sandbox.stack.supply import refusal_of_unavailable

T = TypeVar("T")


def takes_plan(command: Callable[..., T]) -> Callable[..., T]:
    """A command whose first parameter, ``request``, is filled from the options of a plan.

    An option is a parameter of ``plan_request``; they stand before the command's own in its help.
    """

    plan_options = signature(plan_request).parameters
    _request, *own = signature(command).parameters.values()
    parameters = [*plan_options.values(), *own]
    shape = Signature(parameters)

    @wraps(command)
    def with_options(*positional: Any, **named: Any) -> T:
        given = shape.bind(*positional, **named).arguments
        of_plan = {name: given.pop(name) for name in plan_options if name in given}
        return command(plan_request(**of_plan), **given)

    vars(with_options)["__signature__"] = shape
    with_options.__annotations__ = {each.name: each.annotation for each in parameters}
    return with_options


def plan_request(
    expression: options.Expression = None,
    profile: options.Profile = None,
    set_: options.SetValue = None,
    cnf: options.Cnf = None,
    init: options.Init = None,
    cpus: options.Cpus = None,
    memory: options.Memory = None,
    external: options.External = None,
    disk: options.Disk = None,
    replicate: options.Replicate = None,
    image: options.Image = None,
    binary: options.Binary = None,
) -> PlanRequest:
    """The plan request of a profile and its options; the planner checks what they say.

    Raises SandboxError (exit 2) where no profile is given, or two, or a file cannot be read.
    """
    profile = options.need_profile(options.either(expression, profile, "PROFILE"))
    common, own_files = read_configuration_files(cnf)
    return PlanRequest(
        profile,
        tuple(set_ or ()),
        common,
        read_user_file(init, "INIT"),
        cpus,
        memory,
        external,
        disk=disk,
        own_files=own_files,
        links=tuple(replicate or ()),
        images=tuple(image or ()),
        binaries=read_binaries(tuple(binary or ())),
    )


def planned_here(request: PlanRequest) -> tuple[Plan, bool]:
    """The plan, and whether an engine was asked for its images; what is not available here is noted
    on standard error.

    Without the engine's client it is the plan of an engine that has no image yet and reaches its
    registry; variables are checked by the one that brings the images.
    """
    if shutil.which("docker") is None:
        return offline_plan(request, registry=True), False
    made = planned(request)
    if refusal := refusal_of_unavailable(made, Docker()):
        print(f"note: {refusal.what}; {refusal.known}", file=sys.stderr)
    return made, True
