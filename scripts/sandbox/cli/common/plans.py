"""The plan of a profile with its options, on this machine; also where that has no engine to ask."""

import shutil
import sys

from sandbox.cli.common.options import either, need_profile
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.reader import read_user_file
from sandbox.stack.engine import Docker
from sandbox.stack.planning import offline_plan, planned
from sandbox.stack.supply import refusal_of_unavailable


def plan_request(
    typed: str | None,
    profile: str | None,
    assignments: list[str] | None,
    cnf: str | None,
    init: str | None,
    cpus: str | None,
    memory: str | None,
    external: str | None,
    disk: str | None = None,
) -> PlanRequest:
    """The plan request of a profile and its options; the planner checks what they say.

    Raises SandboxError (exit 2) where no profile is given, or two, or a file cannot be read.
    """
    return PlanRequest(
        need_profile(either(typed, profile, "PROFILE")),
        tuple(assignments or ()),
        read_user_file(cnf, "CNF"),
        read_user_file(init, "INIT"),
        cpus,
        memory,
        external,
        disk=disk,
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
