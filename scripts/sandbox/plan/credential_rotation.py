"""Data directories made elsewhere: which plans can start from them, and the SQL that makes them a server's own."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.plan.model import Node, Plan
from sandbox.plan.templates import render_text
from sandbox.plan.variables import canonical

_OWN_INIT_FILE = re.compile(r"^\s*(loose[-_])?init[-_]file\b", re.MULTILINE | re.IGNORECASE)


def rotation_sql(node: Node, context: Mapping[str, Any]) -> str:
    """One statement per line, as ``init_file`` requires; empty if the server cannot be restored.

    Source: MySQL manual, Server Command Options, ``init_file``: run at startup, before connections are accepted.
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
    """The statements of first-start files, each on one line and without its semicolon, which ends a line there."""
    text = "\n".join(_rendered(node, name, context) for name in names)
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.lstrip().startswith("--")]
    found = "\n".join(lines).split(";\n")
    return [" ".join(statement.rstrip(";").splitlines()) for statement in found if statement.strip(";")]


def restorable(plan: Plan) -> bool:
    """Whether a stack of the plan can be kept as a snapshot and restored from it.

    Every server must be able to set new passwords before it accepts connections, so the user's own ``init_file``, or an
    external server, rules it out.
    """
    request = plan.request
    if request.cnf is not None and _OWN_INIT_FILE.search(request.cnf.content):
        return False
    if any(canonical(name) == "init_file" for node in plan.databases for name, _ in node.assignments):
        return False
    if not plan.databases or any(group.external for group in plan.groups):
        return False
    return all(_can_rotate(node) for node in plan.databases)


def _can_rotate(node: Node) -> bool:
    """``ALTER USER … IDENTIFIED BY`` exists from MySQL 5.7.6 and MariaDB 10.2 on."""
    old = node.component.spec.family == "mysql" and not node.at_least("5.7.6")
    return node.component.spec.credential_rotation is not None and not old
