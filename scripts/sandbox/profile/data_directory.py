"""Data directories made elsewhere: which plans start from them, what shapes them, how a server
makes one its own.
"""

import re
import shlex
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.profile.grammar import parse
from sandbox.profile.images import Availability
from sandbox.profile.library import Library
from sandbox.profile.names import bare, canonical
from sandbox.profile.own_files import server_files
from sandbox.profile.plan import Node, Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.templates import render_text

_OPTION = re.compile(r"^\s*([A-Za-z][\w-]*)", re.MULTILINE)
_INCLUDE = re.compile(r"^\s*!include", re.MULTILINE)
_OWN_INIT_FILE = re.compile(r"^\s*(loose[-_])?init[-_]file\b", re.MULTILINE | re.IGNORECASE)


def base_requests(plan: Plan, library: Library) -> Mapping[str, PlanRequest]:
    """Server → the request of its base data directory; empty unless all of them can start from one.

    Two servers of one image have the same base data directory unless something that shapes a data
    directory differs between them: a variable (``shaping`` of the component), or SQL that a setting
    runs at the first start.
    """
    if not _replaceable(plan):
        return {}
    found = {node.name: _base_request(node, library) for node in plan.databases}
    if not all(found.values()):
        return {}
    return {name: request for name, request in found.items() if request}


def base_plans(
    requests: Mapping[str, PlanRequest], library: Library, available: Availability
) -> Mapping[str, Plan]:
    """Server → the plan of its base data directory; servers with the same base data directory share
    it.
    """
    made = {each: make_plan(each, library, available) for each in set(requests.values())}
    return {node: made[each] for node, each in requests.items()}


def data_request(plan: Plan) -> PlanRequest | None:
    """The request of the stack that prepares a stack's data: its servers with everything that
    shapes their directories.

    Stacks that differ otherwise, by a proxy or the thread pool, then have identical data. None if a
    stack of the plan cannot be restored.
    """
    if plan.links or not _replaceable(plan):
        return None
    terms = []
    servers = {node.component.name for node in plan.databases}
    groups = iter(plan.groups)
    shaping: set[str] = set()
    for term in parse(plan.profile):
        if term.name in servers and term.name != "replica":
            shaping = {name for node in next(groups).servers for name in _settings(node)}
        if term.name in servers or term.name in shaping:
            terms.append(term.text)
    pairs = {f"{node.name}:{pair}" for node in plan.databases for pair in _shaping_pairs(node)}
    images = [f"{node.name}={node.image}" for node in plan.databases if _is_own(node)]
    return PlanRequest(
        "+".join(terms), assignments=tuple(sorted(pairs)), images=tuple(sorted(images))
    )


def _base_request(node: Node, library: Library) -> PlanRequest | None:
    component = node.component.spec.base_directory
    if component is None or component not in library.components.names():
        return None
    term = f"{component}@{node.choice.exact or node.series}"
    images: tuple[str, ...] = ()
    if _is_own(node):  # its version may be none of the catalog's
        term = component
        images = (f"{component}={node.image}",)
    profile = "+".join([term, *_settings(node)])
    return PlanRequest(profile, assignments=tuple(_shaping_pairs(node)), images=images)


def _is_own(node: Node) -> bool:
    """Whether it has an image of the user's own."""
    return node.choice.origin == "given"


def _shaping_pairs(node: Node) -> list[str]:
    """The ``SET=`` pairs that apply to it and shape its directory; of several for one variable only
    the last.
    """
    shaping = {
        bare(name): (canonical(name), value)
        for name, value in node.assignments
        if _shapes(node, name)
    }
    return sorted(f"{name}={shlex.quote(value)}" for name, value in shaping.values())


def _settings(node: Node) -> list[str]:
    """The settings in effect that shape its directory, in their order: a later one wins."""
    return [
        name
        for name, variant in node.applied
        if variant.first_start or any(_shapes(node, each) for each in variant.variables)
    ]


def _shapes(node: Node, variable: str) -> bool:
    return bare(variable) in node.component.spec.shaping


def _replaceable(plan: Plan) -> bool:
    """Whether its data can be made elsewhere: restorable, and shaped by nothing in the user's own
    file.
    """
    shaped = any(
        _INCLUDE.search(file.content)
        or any(_shapes(node, name) for name in _OPTION.findall(file.content))
        for node in plan.databases
        for file in server_files(plan.request, node)
    )
    return restorable(plan) and not shaped


def rotation_sql(node: Node, context: Mapping[str, Any]) -> str:
    """One statement per line, as ``init_file`` requires; empty if the server cannot be restored.

    Source: MySQL manual, Server Command Options, ``init_file``: run at startup, before connections
    are accepted.
    """
    spec = node.component.spec
    if spec.credential_rotation is None:
        return ""
    parts = {
        "beginning": [f"{each};" for each in _statements(node, spec.rotation_begins_with, context)],
        "once": _statements(node, spec.rotation_once, context),
    }
    text = _rendered(node, spec.credential_rotation, {**context, **parts})
    return "".join(f"{line.strip()}\n" for line in text.splitlines() if line.strip())


def _rendered(node: Node, name: str, context: Mapping[str, Any]) -> str:
    where = f"compose/{node.component.name}"
    file = render_text(name, context, where)
    return render_text(node.component.files[file], context, f"{where}/{file}")


def _statements(node: Node, names: Iterable[str], context: Mapping[str, Any]) -> list[str]:
    """The statements of first-start files, each on one line and without its semicolon, which ends a
    line there.
    """
    text = "\n".join(_rendered(node, name, context) for name in names)
    lines = [
        line.strip()
        for line in text.splitlines()
        if line.strip() and not line.lstrip().startswith("--")
    ]
    found = "\n".join(lines).split(";\n")
    return [
        " ".join(statement.rstrip(";").splitlines()) for statement in found if statement.strip(";")
    ]


def restorable(plan: Plan) -> bool:
    """Whether a stack of the plan can be kept as a snapshot and restored from it.

    Every server must be able to set new passwords before it accepts connections, so the user's own
    ``init_file``, or an external server, rules it out; ``ALTER USER … IDENTIFIED BY`` exists from
    MySQL 5.7.6 and MariaDB 10.2 on.
    """
    files = [file for node in plan.databases for file in server_files(plan.request, node)]
    set_by_user = {bare(name) for node in plan.databases for name, _ in node.assignments}
    in_file = any(_OWN_INIT_FILE.search(file.content) for file in files)
    own = in_file or "init_file" in set_by_user
    external = any(group.external for group in plan.groups)
    can_rotate = [
        node.component.spec.credential_rotation is not None
        and (node.component.spec.family != "mysql" or node.at_least("5.7.6"))
        for node in plan.databases
    ]
    return bool(plan.databases) and not own and not external and all(can_rotate)
