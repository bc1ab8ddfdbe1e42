"""What shapes a data directory: the plan of one server, or of a stack, whose directories others can start from."""

import re
from collections.abc import Mapping

from sandbox.plan.credential_rotation import restorable
from sandbox.plan.grammar import parse
from sandbox.plan.images import Availability
from sandbox.plan.library import Library
from sandbox.plan.model import Node, Plan, PlanRequest
from sandbox.plan.planner import make_plan
from sandbox.plan.variables import canonical

_OPTION = re.compile(r"^\s*([A-Za-z][\w-]*)", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*!include", re.MULTILINE)


def base_requests(plan: Plan, library: Library) -> Mapping[str, PlanRequest]:
    """Server → the request of its base data directory; empty unless all of them can start from one.

    Two servers of one image have the same base data directory unless something that shapes a data directory differs
    between them: a variable (``shaping`` of the component), or SQL that a setting runs at the first start.
    """
    if not restorable(plan) or any(_shaped_by_file(plan, node) for node in plan.databases):
        return {}
    found = {node.name: _base_request(plan, node, library) for node in plan.databases}
    return {name: request for name, request in found.items() if request} if all(found.values()) else {}


def base_plans(requests: Mapping[str, PlanRequest], library: Library, available: Availability) -> Mapping[str, Plan]:
    """Server → the plan of its base data directory; servers with the same base data directory share it."""
    made = {each: make_plan(each, library, available) for each in set(requests.values())}
    return {node: made[each] for node, each in requests.items()}


def data_request(plan: Plan) -> PlanRequest | None:
    """The request of the stack that prepares a stack's data: its servers with everything that shapes their directories.

    Stacks that differ otherwise, by a proxy or the thread pool, then have identical data. None if a stack of the plan
    cannot be restored.
    """
    if not restorable(plan) or any(_shaped_by_file(plan, node) for node in plan.databases):
        return None
    terms, servers = [], {node.component.name for node in plan.databases}
    groups = iter(plan.groups)
    shaping: set[str] = set()
    for term in parse(plan.profile):
        if term.name in servers and term.name != "replica":
            shaping = {name for node in next(groups).servers for name in _settings(node)}
        if term.name in servers or term.name in shaping:
            terms.append(term.text)
    pairs = {f"{node.name}:{pair}" for node in plan.databases for pair in _shaping_pairs(node)}
    return PlanRequest("+".join(terms), assignments=tuple(sorted(pairs)), image=plan.request.image)


def _base_request(plan: Plan, node: Node, library: Library) -> PlanRequest | None:
    component = node.component.spec.base_directory
    if component is None or component not in library.components.names():
        return None
    usual = library.catalog.images[node.choice.key].series[node.series].version == node.version
    terms = [f"{component}@{node.series if usual else node.version}", *_settings(node)]
    image = plan.request.image if node.choice.origin == "given" else None
    return PlanRequest("+".join(terms), assignments=tuple(sorted(_shaping_pairs(node))), image=image)


def _shaping_pairs(node: Node) -> list[str]:
    """The ``SET=`` pairs that apply to it and shape its directory."""
    return [f"{canonical(name)}={_quoted(value)}" for name, value in node.assignments if _shapes(node, name)]


def _settings(node: Node) -> list[str]:
    """The settings in effect that shape its directory."""
    return sorted(
        name
        for name, variant in node.applied
        if variant.first_start or any(_shapes(node, each) for each in variant.variables)
    )


def _shapes(node: Node, variable: str) -> bool:
    return canonical(variable).removeprefix("loose_") in node.component.spec.shaping


def _shaped_by_file(plan: Plan, node: Node) -> bool:
    """Whether the user's own file shapes the data directory, as far as its text shows."""
    if plan.request.cnf is None:
        return False
    text = plan.request.cnf.content
    return _INCLUDE.search(text) is not None or any(_shapes(node, name) for name in _OPTION.findall(text))


def _quoted(value: str) -> str:
    return "'" + value.replace("'", "'\"'\"'") + "'"
