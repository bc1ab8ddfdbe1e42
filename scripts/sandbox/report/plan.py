"""PURE: what is said about a plan, and the list of terms."""

from collections.abc import Iterator
from typing import Any

from sandbox.profile.compose import plan_hash
from sandbox.profile.grammar import external_address
from sandbox.profile.library import Library
from sandbox.profile.plan import Group, Node, Plan, PlanRequest
from sandbox.profile.templates import PLACEHOLDER, node_context, render_text
from sandbox.profile.variables import effective_variables, overridden_needs
from sandbox.profile.versions import at_least, version_key
from sandbox.report.document import Document, Fact, FactList, Medium, Part, Said, Section, Table
from sandbox.report.text import ports_text, wrapped

_SOURCES = {
    "local": "local",
    "pull": "pulled on first up",
    "build": "built on first up",
    "unavailable": "NOT AVAILABLE HERE",
}
_TITLES = {
    "databases": (
        "Database terms open a group (pxc, galera, gr, psgr: 3 nodes if no count is given)"
    ),
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
        return (
            every
            if "multi-primary" in group.settings
            else "elected: one writer, the others readers"
        )
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
    variables = (
        effective_variables(node, node_context(plan, node, PLACEHOLDER)) if node.is_server else {}
    )
    return {
        "name": node.name,
        "term": node.term,
        "kind": node.kind,
        "group": node.group_index,
        "series": node.series,
        "version": node.version,
        "image": node.image,
        "image_source": node.choice.source,
        "role": role_hint(plan, node),
        "ports": dict(node.ports),
        "settings": [name for name, _ in node.applied],
        "memory_mb": node.memory_mb,
        "variables": variables,
    }


def plan_document(plan: Plan) -> Document:
    """What is known about a stack before it starts."""
    images = [
        [node.name, node.version, node.image, _SOURCES[node.choice.source]] for node in plan.nodes
    ]
    roles = [[node.name, role_hint(plan, node), ports_text(node.ports)] for node in plan.nodes]
    size = f"about {plan.memory_mb} MiB in {len(plan.nodes)} containers"
    parts: list[Part] = [
        FactList([Fact("profile", f"{plan.profile}   (plan {plan_hash(plan)})")]),
        Table.of(["node", "version", "image", "source"], images),
        Table.of(["node", "role", "ports"], roles),
        FactList(list(_external_servers(plan))),
        FactList(
            [*_settings(plan), *_variables(plan), *_requested(plan.request), *_plan_notes(plan)]
        ),
        FactList([Fact("memory", size, plan.memory_mb)]),
    ]
    return Document(Said(f"Plan of {plan.profile}", Medium.PAPER), [Section(parts)])


def _external_servers(plan: Plan) -> Iterator[Fact]:
    for group in plan.groups:
        if group.external:
            address = external_address(group.external)
            yield Fact(
                f"external{group.index}", f"{address}: somebody else's server, not started here"
            )


def _settings(plan: Plan) -> Iterator[Fact]:
    """Each setting of each group, with the nodes that have it."""
    for group in plan.groups:
        for setting in group.settings:
            names = [
                node.name for node in (*group.servers, *group.proxies) if setting in node.settings
            ]
            yield Fact("setting", f"{setting}: {', '.join(names)}")


def _requested(request: PlanRequest) -> Iterator[Fact]:
    """What was asked for in addition to the profile."""
    if request.cnf:
        yield Fact(
            "CNF",
            f"{request.cnf.name} (sha256 {request.cnf.sha256[:12]}), read last by every server",
        )
    if request.init:
        yield Fact(
            "INIT",
            f"{request.init.name} (sha256 {request.init.sha256[:12]}), run once on the writer",
        )
    limits = {"CPUS": request.cpus, "MEMORY": request.memory}
    given = ", ".join(f"{name} {value}" for name, value in limits.items() if value)
    if given:
        yield Fact("limits", f"{given} for each database node")
    if request.disk:
        yield Fact(
            "disk", f"{request.disk} of its own for the data directory of each database node"
        )


def _plan_notes(plan: Plan) -> Iterator[Fact]:
    for node, source in _older_replicas(plan):
        older = (
            f"{node.name} ({node.series}) is older than its source {source.name} ({source.series})"
        )
        yield Fact("note", f"{older}: replication to an older series is unsupported")
    for name, component, variable, needed, own in overridden_needs(plan):
        yield Fact(
            "note", f"{name}: {component} asks for {variable}={needed}; SET has {own}, and wins"
        )


def _older_replicas(plan: Plan) -> list[tuple[Node, Node]]:
    """Replicas of an older series than their source, each with it: this works, but the vendor does
    not support it.
    """
    return [
        (node, group.databases[0])
        for group in plan.groups
        for node in group.replicas
        if group.databases and version_key(node.series) < version_key(group.databases[0].series)
    ]


def _variables(plan: Plan) -> Iterator[Fact]:
    """The server variables that this plan sets, per distinct set of servers."""
    seen: dict[tuple[str, ...], list[str]] = {}
    for node in plan.databases:
        variables = effective_variables(node, node_context(plan, node, PLACEHOLDER))
        pairs = tuple(
            _assignment(name, value, node)
            for name, value in variables.items()
            if name != "server_id"
        )
        seen.setdefault(pairs, []).append(node.name)
    for pairs, names in seen.items():
        yield Fact("servers", f"{', '.join(names)}: {'  '.join(pairs)}")


def _assignment(name: str, value: str | None, node: Node) -> str:
    """One variable; the node's own name as ``<node>``, so that what is the same on all nodes is
    shown once.
    """
    if value is None:
        return name
    host, colon, port = value.partition(":")
    return f"{name}=<node>{colon}{port}" if host == node.name else f"{name}={value}"


def profile_data(library: Library) -> dict[str, dict[str, str]]:
    """Every term with its line of help, by kind."""
    groups: dict[str, dict[str, str]] = {room: {} for room in _TITLES}
    for name in library.components.names():
        spec = library.components.get(name).spec
        if spec.kind != "client":
            room = {None: "databases", "group": "attached", "stack": "watching"}[spec.attaches]
            groups[room][name] = spec.help
    groups["settings"] |= {name: setting.help for name, setting in library.settings.items()}
    groups["named"] |= {
        name: f"{named.help} ({named.profile})" for name, named in library.named.items()
    }
    return groups


def profile_lines(library: Library) -> list[str]:
    """Every term, one line each, for a terminal."""
    lines = [
        (
            "profile = term + term …   term = name[count][@version]   such as"
            " pxc3@8.4+proxysql+threadpool"
        ),
        "",
    ]
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
