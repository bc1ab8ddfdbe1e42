"""PURE: what is said of a stack that has not begun: its plan."""

from collections.abc import Iterator
from typing import Any

from sandbox.profile.compose import plan_hash
from sandbox.profile.grammar import external_address
from sandbox.profile.plan import Group, GroupLink, Node, Plan
from sandbox.profile.templates import PLACEHOLDER, node_context, render_text
from sandbox.profile.variables import effective_variables, overridden_needs
from sandbox.profile.versions import version_key
from sandbox.report.document import (
    Document,
    Fact,
    FactList,
    Medium,
    Part,
    Said,
    Section,
    Table,
)
from sandbox.report.plan_request import limit_facts, requested_facts
from sandbox.report.text import ports_text

_SOURCES = {
    "local": "local",
    "pull": "pulled on first up",
    "build": "built on first up",
    "unavailable": "NOT AVAILABLE HERE",
}

NO_ENGINE = (
    "this machine has no docker client: images were not looked up, and variables were not checked"
)


def role_hint(plan: Plan, node: Node) -> str:
    """The expected role of the node; with several possible writers only the server knows it."""
    role = _role_in_group(plan, node)
    links = [_link_text(link) for link in node.links if link.targets[0] == node.name]
    return "; ".join([role, *links])


def _link_text(link: GroupLink) -> str:
    """``replicates from galera1…galera3 by channel b, 30 s delayed, by file and position``."""
    text = f"replicates from {_joined([*link.sources])}"
    if link.channel:
        text += f" by channel {link.channel}"
    if link.delay_s:
        text += f", {link.delay_s} s delayed"
    return text if link.gtid else f"{text}, by file and position"


def _role_in_group(plan: Plan, node: Node) -> str:
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


def plan_data(plan: Plan, engine_asked: bool = True) -> dict[str, Any]:
    """A plan as JSON data. ``engine_asked``: what images it has, and what variables they know."""
    return {
        "profile": plan.profile,
        "plan_hash": plan_hash(plan),
        "engine_asked": engine_asked,
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
        "cnf_files": {each.typed: each.file.sha256 for each in plan.request.own_files},
        "cpus": plan.request.cpus,
        "memory": plan.request.memory,
        "disk": plan.request.disk,
        "images": list(plan.request.images),
        "replicate": [_link_data(link) for link in plan.links],
    }


def _link_data(link: GroupLink) -> dict[str, Any]:
    return {
        "link": link.text,
        "sources": list(link.sources),
        "targets": list(link.targets),
        "channel": link.channel,
        "delay_s": link.delay_s,
        "gtid": link.gtid,
        "follows": "managed by the server" if link.managed else "re-pointed beside the server",
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


def _source(node: Node) -> str:
    """Where the image of a node comes from."""
    text = _SOURCES[node.choice.source]
    if node.choice.origin != "given":
        return text
    return f"{text} ({'BINARY' if node.choice.binary else 'IMAGE'})"


def plan_document(plan: Plan, engine_asked: bool = True) -> Document:
    """What is known about a stack before it starts. ``engine_asked``: whether an engine was."""
    images = [[node.name, node.version, node.image, _source(node)] for node in plan.nodes]
    roles = [[node.name, role_hint(plan, node), ports_text(node.ports)] for node in plan.nodes]
    size = f"about {plan.memory_mb} MiB in {len(plan.nodes)} containers"
    parts: list[Part] = [
        FactList([Fact("profile", f"{plan.profile}   (plan {plan_hash(plan)})")]),
        Table.of(["node", "version", "image", "source"], images),
        Table.of(["node", "role", "ports"], roles),
        FactList(list(_external_servers(plan))),
        FactList(
            [
                *_settings(plan),
                *_variables(plan),
                *requested_facts(plan.request),
                *limit_facts(plan),
                *_plan_notes(plan),
                *([] if engine_asked else [Fact("note", NO_ENGINE)]),
            ]
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
