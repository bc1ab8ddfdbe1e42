"""The effective server variables of a node: the component's, its settings', then `SET=`."""

import re
from collections.abc import Mapping
from typing import Any

from sandbox.plan.model import Node
from sandbox.plan.templates import render_text


def canonical(name: str) -> str:
    """One spelling per variable: servers treat ``-`` and ``_`` as the same, and ignore case."""
    return name.lower().replace("-", "_")


def effective_variables(node: Node, context: Mapping[str, Any]) -> dict[str, str | None]:
    """Variable → value in the order of first mention; None is a bare flag. A later layer wins."""
    layers: list[Mapping[str, Any]] = [node.component.spec.variables, *_needed_by_proxies(node, context)]
    layers += [variant.variables for _, variant in node.applied]
    merged: dict[str, str | None] = {}
    for layer in layers:
        for name, value in layer.items():
            _lay(merged, name, _rendered(value, context, f"variable {name} of {node.name}"))
    for name, value in node.assignments:
        merged[canonical(name)] = value
    return merged


def _needed_by_proxies(node: Node, context: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The variables that the proxies and managers of its group need on a server."""
    group = context["group"]
    needs = {each.component.name: each.component.spec.servers for each in group.proxies} if group else {}
    return [need.variables for need in needs.values() if need and need.family == group.family and node.is_server]


def _rendered(value: Any, context: Mapping[str, Any], where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return render_text(str(value), context, where)


_LISTS = frozenset({"plugin_load_add"})
"""Options that accumulate instead of replacing one another."""


def _lay(merged: dict[str, str | None], name: str, value: str | None) -> None:
    key = canonical(name)
    if value == "":
        merged.pop(key, None)
    elif key in _LISTS and merged.get(key):
        merged[key] = f"{merged[key]};{value}"
    else:
        merged[key] = value


def server_configuration(variables: Mapping[str, str | None]) -> str:
    """A ``[mysqld]`` section."""
    lines = [name if value is None else f"{name} = {_quoted(value)}" for name, value in variables.items()]
    return "\n".join(["[mysqld]", *lines, ""])


_PLAIN = re.compile(r"[\w./:,=@%+*() -]*", re.ASCII)


def _quoted(value: str) -> str:
    """The value, quoted so that an option file returns it unchanged: comment signs, quotes, backslashes, outer blanks.

    Source: MySQL manual, Using Option Files (escape sequences, quoting).
    """
    if _PLAIN.fullmatch(value) and value == value.strip():
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
