"""PURE: a plan, and the list of terms, as text lines and as data."""

from typing import Any

from sandbox.profile.compose import plan_hash
from sandbox.profile.grammar import external_address
from sandbox.profile.images import at_least, version_key
from sandbox.profile.library import Library
from sandbox.profile.plan import Group, Node, Plan
from sandbox.profile.templates import PLACEHOLDER, node_context, render_text
from sandbox.profile.variables import effective_variables, overridden_needs
from sandbox.report.rendering import rendered_lines
from sandbox.report.text import WIDTH, ports_text, wrapped

_SOURCES = {
    "local": "local",
    "pull": "pulled on first up",
    "build": "built on first up",
    "unavailable": "NOT AVAILABLE HERE",
}
_TITLES = {
    "databases": "Database terms open a group (pxc, galera, gr, psgr: 3 nodes if no count is given)",
    "attached": "Terms that attach to the group before them",
    "settings": "Settings of the group before them (no count, no version)",
    "watching": "Terms that watch the whole stack",
    "named": "Named profiles",
}


def role_hint(plan: Plan, node: Node) -> str:
    """The expected role of the node; with several possible writers only the server knows it."""
    group = plan.group_of(node)
    if node.kind == "replica" and group:
        return f"reader, replicates from {group.first if group.databases else group.external}"
    if node.kind == "database" and group:
        return _database_role(group, node)
    if node.kind == "proxy" and group and not node.watches and node.service == node.component.name:
        behind = [server.name for server in group.behind(node)] or [group.external or ""]
        about = f"the note of {node.name}"
        note = render_text(node.component.spec.note, node_context(plan, node, PLACEHOLDER), about)
        return f"proxy in front of {_joined(behind)}{f'; {note}' if note else ''}"
    if node.host_of:
        return f"on the host of {node.host_of}"
    return f"{node.kind} of {node.watches}" if node.watches else node.kind


def _joined(names: list[str]) -> str:
    return f"{names[0]}…{names[-1]}" if len(names) > 3 else ", ".join(names)


def _database_role(group: Group, node: Node) -> str:
    every = "writer (every node is)"
    if group.topology == "galera":
        return every if len(group.databases) > 1 else "writer"
    if group.topology == "gr":
        return every if "multi-primary" in group.settings else "elected: one writer, the others readers"
    is_source = group.replicas and node.name == group.first
    return f"writer, source of {_joined(group.replica_names)}" if is_source else "writer"


def plan_data(plan: Plan) -> dict[str, Any]:
    """A plan as JSON data."""
    return {
        "profile": plan.profile,
        "plan_hash": plan_hash(plan),
        "memory_mb": plan.memory_mb,
        "nodes": [_node_data(plan, node) for node in plan.nodes],
        "groups": [
            {
                "index": group.index,
                "component": group.component,
                "settings": list(group.settings),
                "databases": group.database_names,
                "replicas": group.replica_names,
                "proxies": [node.name for node in group.proxies],
                "external": group.external,
            }
            for group in plan.groups
        ],
        "assignments": list(plan.request.assignments),
        "cnf_sha256": plan.request.cnf.sha256 if plan.request.cnf else None,
        "init_sha256": plan.request.init.sha256 if plan.request.init else None,
        "cpus": plan.request.cpus,
        "memory": plan.request.memory,
        "disk": plan.request.disk,
    }


def _node_data(plan: Plan, node: Node) -> dict[str, Any]:
    variables = effective_variables(node, node_context(plan, node, PLACEHOLDER)) if node.is_server else {}
    return {
        "name": node.name, "term": node.term, "kind": node.kind, "group": node.group_index, "series": node.series,
        "version": node.version, "image": node.image, "image_source": node.choice.source, "role": role_hint(plan, node),
        "ports": dict(node.ports), "settings": [name for name, _ in node.applied], "memory_mb": node.memory_mb,
        "variables": variables,
    }  # fmt: skip


def plan_lines(plan: Plan) -> list[str]:
    """A plan for a terminal of 100 columns."""
    return rendered_lines(
        "plan.txt",
        plan=plan,
        request=plan.request,
        hash=plan_hash(plan),
        images=[[node.name, node.version, node.image, _SOURCES[node.choice.source]] for node in plan.nodes],
        roles=[[node.name, role_hint(plan, node), ports_text(node.ports)] for node in plan.nodes],
        external={group.index: external_address(group.external) for group in plan.groups if group.external},
        variables=_variable_lines(plan),
        older=_older_replicas(plan),
        overridden=overridden_needs(plan),
    )


def _older_replicas(plan: Plan) -> list[tuple[Node, Node]]:
    """Replicas of an older series than their source, each with it: this works, but the vendor does not support it."""
    return [
        (node, group.databases[0])
        for group in plan.groups
        for node in group.replicas
        if group.databases and version_key(node.series) < version_key(group.databases[0].series)
    ]


def _variable_lines(plan: Plan) -> list[str]:
    """The server variables that this plan sets, per distinct set of servers."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for node in plan.databases:
        variables = effective_variables(node, node_context(plan, node, PLACEHOLDER))
        pairs = tuple(_assignment(name, value, node) for name, value in variables.items() if name != "server_id")
        seen.setdefault(pairs, []).append(node.name)
    return [line for pairs, names in seen.items() for line in _wrapped(f"servers  {', '.join(names)}: ", list(pairs))]


def _assignment(name: str, value: str | None, node: Node) -> str:
    """One variable; the node's own name as ``<node>``, so that what is the same on all nodes is shown once."""
    if value is None:
        return name
    host, colon, port = value.partition(":")
    return f"{name}=<node>{colon}{port}" if host == node.name else f"{name}={value}"


def _wrapped(head: str, words: list[str]) -> list[str]:
    lines, current = [], head
    for word in words:
        if len(current) + len(word) > WIDTH and current.strip():
            lines.append(current.rstrip())
            current = " " * 9
        current += word + "  "
    return [*lines, current.rstrip()]


def profile_data(library: Library) -> dict[str, dict[str, str]]:
    """Every term with its line of help, by kind."""
    groups: dict[str, dict[str, str]] = {room: {} for room in _TITLES}
    for name in library.components.names():
        spec = library.components.get(name).spec
        if spec.kind != "client":
            room = {None: "databases", "group": "attached", "stack": "watching"}[spec.attaches]
            groups[room][name] = spec.help
    groups["settings"] |= {name: setting.help for name, setting in library.settings.items()}
    groups["named"] |= {name: f"{named.help} ({named.profile})" for name, named in library.named.items()}
    return groups


def profile_lines(library: Library) -> list[str]:
    """Every term, one line each, for a terminal."""
    lines = ["profile = term + term …   term = name[count][@version]   such as pxc3@8.4+proxysql+threadpool", ""]
    for room, terms in profile_data(library).items():
        width = max(20, *(len(name) + 2 for name in terms))
        lines.append(_TITLES[room])
        for name, text in terms.items():
            aliases = [alias for alias, of in library.components.aliases().items() if of == name]
            also = f"; also {', '.join(aliases)}" if aliases else ""
            words = f"{text}{also}{_versions(library, name)}"
            lines += wrapped(words, f"  {name:<{width}}")
        lines.append("")
    return lines[:-1]


def _versions(library: Library, name: str) -> str:
    image = library.components.get(name).spec.image if name in library.components.names() else None
    if image is None:
        return ""
    since = library.components.get(name).spec.since or "0"
    series = [each for each in library.catalog.image(image).series if at_least(each, since)]
    return f"   ({' '.join(series)})" if len(series) > 1 else ""
