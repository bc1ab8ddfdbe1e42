"""Server variables: the effective ones of a node, and names checked against those of the server's
own binary.
"""

import difflib
import re
from collections.abc import Mapping
from typing import Any

from sandbox.core.errors import SandboxError
from sandbox.profile.library import Servers
from sandbox.profile.names import PAIR_LISTS, bare, canonical, pairs_of
from sandbox.profile.own_files import server_files
from sandbox.profile.plan import Group, Node, Plan
from sandbox.profile.templates import PLACEHOLDER, node_context, render_text

Names = frozenset[str]
_LISTS = frozenset({"plugin_load_add"})
"""Options that accumulate instead of replacing one another."""
_PLAIN = re.compile(r"[\w./:,=@%+*() -]*", re.ASCII)
_TABLE = re.compile(r"^-{20,} -{5,}$", re.MULTILINE)
_OPTION = re.compile(r"^\s+(?:-\w, )?--([a-z][\w-]+)", re.MULTILINE)
_NO_VALUE = "(No default value)"
_PREFIXES = ("skip_", "enable_", "disable_", "maximum_")
_NEAR = 0.8
"""A name unlike any known one may belong to a plugin: only the server can decide."""


def effective_variables(node: Node, context: Mapping[str, Any]) -> dict[str, str | None]:
    """Variable → value in the order of first mention; None is a bare flag. A later layer wins."""
    layers: list[Mapping[str, Any]] = [
        node.component.spec.variables,
        *_needed_by_proxies(node, context),
    ]
    layers += [variant.variables for _, variant in node.applied]
    merged: dict[str, str | None] = {}
    for layer in layers:
        for name, value in layer.items():
            _lay(merged, name, _rendered(value, context, f"variable {name} of {node.name}"))
    for name, value in node.assignments:
        _assign(merged, name, value)
    return merged


def _assign(merged: dict[str, str | None], name: str, value: str) -> None:
    """Lays a pair of SET= over what stands there, which may have the other spelling with or without
    ``loose_``.

    ``loose_`` stays where it stands: the server reads the option before the plugin that knows it.
    A list of ``key=value`` keeps the keys that the pair does not name.
    """
    key = canonical(name)
    same = [each for each in merged if bare(each) == bare(key)]
    if bare(key) in PAIR_LISTS:
        pairs: dict[str, str] = {}
        for text in (*(merged[each] or "" for each in same), value):
            pairs |= pairs_of(key, text)
        separator = PAIR_LISTS[bare(key)]
        space = " " if separator == ";" else ""
        value = f"{separator}{space}".join(f"{each}={setting}" for each, setting in pairs.items())
    spelling = next((each for each in (*same, key) if each.startswith("loose_")), key)
    if spelling in merged:
        merged[spelling] = value
        return
    for each in same:
        del merged[each]
    merged[spelling] = value


def _needed_by_proxies(node: Node, context: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The variables that the proxies and managers of its group need on a server."""
    group = context["group"]
    if group is None or not node.is_server:
        return []
    return [need.variables for _, need in needed_of_servers(group)]


def needed_of_servers(group: Group) -> list[tuple[str, Servers]]:
    """Component and what it needs from the servers of a group, each proxy and manager once."""
    components = {each.component.name: each.component for each in group.proxies}
    return [
        (name, need)
        for name, component in components.items()
        for need in component.spec.servers
        if need.concerns(group.family, group.topology)
    ]


def overridden_needs(plan: Plan) -> list[tuple[str, str, str, str, str]]:
    """(node, component, variable, value that it needs, value in SET=) of every need that SET=
    overrides.
    """
    found = []
    for group in plan.groups:
        for node in group.servers:
            given = {bare(name): value for name, value in node.assignments}
            context = node_context(plan, node, PLACEHOLDER)
            for component, need in needed_of_servers(group):
                for name, value in need.variables.items():
                    needed = _rendered(value, context, f"variable {name} of {node.name}")
                    own = given.get(bare(name))
                    if needed and own is not None and own != needed:
                        found.append((node.name, component, name, needed, own))
    return found


def _rendered(value: Any, context: Mapping[str, Any], where: str) -> str | None:
    if value is None:
        return None
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    return render_text(str(value), context, where)


def _lay(merged: dict[str, str | None], name: str, value: str | None) -> None:
    key = canonical(name)
    if value == "":
        merged.pop(key, None)
    elif key in _LISTS and merged.get(key):
        # A plugin that is named twice ends the list: the server loads nothing after it.
        merged[key] = ";".join(dict.fromkeys(f"{merged[key]};{value}".split(";")))
    else:
        merged[key] = value


def server_configuration(variables: Mapping[str, str | None]) -> str:
    """A ``[mysqld]`` section."""
    lines = [
        name if value is None else f"{name} = {_quoted(value)}" for name, value in variables.items()
    ]
    return "\n".join(["[mysqld]", *lines, ""])


def _quoted(value: str) -> str:
    """The value, quoted so that an option file returns it unchanged: comment signs, quotes,
    backslashes, outer blanks.

    Source: MySQL manual, Using Option Files (escape sequences, quoting).
    """
    if _PLAIN.fullmatch(value) and value == value.strip():
        return value
    return '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'


def names_in(help_text: str) -> Names:
    """The options and, below the ruled line, the variables that ``mysqld --verbose --help`` lists;
    dashes as ``_``.
    """
    names = _OPTION.findall(help_text)
    ruled = _TABLE.search(help_text)
    if ruled:
        table = help_text[ruled.end() :].strip("\n").partition("\n\n")[0]
        names += [line.split()[0] for line in table.splitlines() if line.strip()]
    return frozenset(canonical(name) for name in names)


def defaults_in(help_text: str) -> dict[str, str | None]:
    """Variable → its value in the table below the ruled line of ``mysqld --no-defaults --verbose
    --help``; None: it has none.
    """
    ruled = _TABLE.search(help_text)
    if ruled is None:
        return {}
    found: dict[str, str | None] = {}
    for line in help_text[ruled.end() :].strip("\n").partition("\n\n")[0].splitlines():
        name, _, value = line.strip().partition(" ")
        if name:
            text = value.strip()
            found[canonical(name)] = None if text == _NO_VALUE else text
    return found


class UnknownVariableError(SandboxError):
    """A name in SET= or CNF= that a server does not know but that resembles one. ``name``: as it
    was typed.
    """

    def __init__(self, variable: str, image: str, name: str, near: str) -> None:
        step = f"try: the same command with {near} in the file"
        if variable == "SET":
            step = f"try: SET={near}=…"
        super().__init__(
            f"{variable}: {image} has no variable '{name}'",
            f"did you mean '{near}'? (with loose_{name} the server starts even if it does not"
            " know it)",
            step,
        )
        self.name = name


def refuse_mistyped(plan: Plan, known: Mapping[str, Names]) -> None:
    """Raises UnknownVariableError (exit 2) for a name in SET= or CNF= that the image does not know.

    ``known``: by image reference, for the images that could be asked. ``loose_`` means that the
    server may not know it.
    """
    for node in plan.databases:
        own = [
            name
            for file in server_files(plan.request, node)
            for group in _server_groups(node)
            for name in names_in_file(file.content).get(group, ())
        ]
        given = [("SET", name) for name, _ in node.assignments] + [("CNF", name) for name in own]
        for variable, name in given:
            if near := _nearest(name, known.get(node.image, frozenset())):
                raise UnknownVariableError(variable, node.image, name, near)


def refuse_groupless(plan: Plan) -> None:
    """Raises SandboxError (exit 2) for an option file whose first options stand in no group: a
    server ignores such a file, and starts.
    """
    for node in plan.databases:
        for file in server_files(plan.request, node):
            names = names_in_file(file.content).get("")
            if names:
                what = f"CNF: in {file.name}, '{names[0]}' stands before any group"
                known = "a server reads options below [mysqld] only"
                raise SandboxError(
                    what, known, f"try: the same command with [mysqld] in {file.name}"
                )


def _server_groups(node: Node) -> tuple[str, ...]:
    """The groups of an option file that every server of its family reads."""
    if node.component.spec.family == "mariadb":
        return ("mysqld", "server", "mariadb", "mariadbd")
    return ("mysqld", "server")


def names_in_file(content: str) -> dict[str, list[str]]:
    """The variables of an option file by the group that they stand in."""
    found: dict[str, list[str]] = {}
    group = ""
    for line in map(str.strip, content.splitlines()):
        if line.startswith("[") and "]" in line:
            group = line[1 : line.index("]")].strip()
        elif line and line[0] not in "#;!":
            found.setdefault(group, []).append(re.split(r"[=\s]", line, maxsplit=1)[0])
    return found


def _nearest(name: str, known: Names) -> str | None:
    """The name that was probably meant; None for a known name, or one that resembles no other.

    Servers accept any unambiguous prefix of a name, and a few words before a name.
    """
    plain = canonical(name)
    bare = next(
        (plain.removeprefix(prefix) for prefix in _PREFIXES if plain.startswith(prefix)), plain
    )
    accepted = {plain, bare} & known or sum(each.startswith(plain) for each in known) == 1
    if accepted or "." in plain or plain.startswith("loose_"):
        return None
    return next(iter(difflib.get_close_matches(plain, known, n=1, cutoff=_NEAR)), None)
