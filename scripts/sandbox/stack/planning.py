"""The plan of a profile on this machine: with the images that its engine has."""

from collections.abc import Mapping

from sandbox.errors import SandboxError
from sandbox.library import load_library, load_lock
from sandbox.plan.base_directory import base_plans, base_requests
from sandbox.plan.images import Availability
from sandbox.plan.library import Library
from sandbox.plan.model import Plan, PlanRequest
from sandbox.plan.planner import make_plan
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability


def planned(request: PlanRequest, library: Library | None = None) -> Plan:
    """The plan of a request on this machine: the engine is asked what images it has.

    Raises SandboxError: exit 2 for a request that no machine can plan, even without an engine; else exit 4.
    """
    known = library or load_library()
    try:
        available = engine_availability(load_lock())
    except SandboxError:
        make_plan(request, known, Availability(lock=load_lock()))  # a typing error is reported first
        raise
    made = make_plan(request, known, available)
    if made.request.assignments:
        _refuse_mistyped_variables(made)
    return made


def _refuse_mistyped_variables(plan: Plan) -> None:
    from sandbox.plan.variable_names import refuse_mistyped
    from sandbox.stack.server_variables import known_variables

    assigned = [node for node in plan.databases if node.assignments]
    refuse_mistyped(plan, known_variables(assigned, Docker()))


def planned_base_directories(plan: Plan) -> Mapping[str, Plan]:
    """Server → plan of the base data directory that it can start from; empty unless every server has one."""
    library = load_library()
    return base_plans(base_requests(plan, library), library, engine_availability(load_lock()))


def offline_plan(request: PlanRequest) -> Plan:
    """The plan as the catalog alone gives it, for machines without an engine."""
    return make_plan(request, load_library(), Availability(lock=load_lock()))
