"""Applies settings and `SET=` assignments to the nodes they concern."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.profile.grammar import parse, split_assignments
from sandbox.profile.library import Library, Setting, Variant, When
from sandbox.profile.names import PAIR_LISTS, bare, pairs_of
from sandbox.profile.own_files import is_replaced
from sandbox.profile.plan import Group, Node, Plan
from sandbox.profile.refusal import Change, ProfileError, instead, without
from sandbox.profile.templates import PLACEHOLDER, node_context, render_text
from sandbox.profile.variables import needed_of_servers
from sandbox.profile.versions import at_least

_ON = ("ON", "1", "TRUE", "FORCE", "FORCE_PLUS_PERMANENT")
"""Values that turn a plugin on (MySQL manual, "Installing and Uninstalling Plugins")."""


def settings(group: Group, library: Library) -> Group:
    """The group with every setting of its profile applied to its nodes.

    Raises SandboxError (exit 2) if a setting applies to none of them, or not to all the servers it
    must cover.
    """
    chosen = [library.settings[name] for name in group.settings]
    for setting in chosen:
        _refuse_conflicts(setting, group)
        group = _with_setting(group, setting, library)
    return group


def proofs_of_needs(group: Group) -> Group:
    """The group whose servers prove, as they prove a setting, what its proxies and managers need
    from them.
    """
    proofs = tuple(
        (f"{component}-servers", Variant(proof=need.proof))
        for component, need in needed_of_servers(group)
        if need.proof
    )
    return _with_nodes(
        group,
        lambda node: replace(node, applied=(*node.applied, *proofs)) if node.is_server else node,
    )


def _refuse_conflicts(setting: Setting, group: Group) -> None:
    parts = {
        group.component,
        *(name for name in group.settings if _meet(name, setting.name, group)),
        *(node.component.name for node in (*group.replicas, *group.proxies)),
    }
    clashing = [name for name in setting.conflicts if name in parts]
    if clashing:
        what = f"'{setting.name}' and '{clashing[0]}' cannot be in the same group"
        known = f"'{setting.name}' excludes {', '.join(setting.conflicts)}"
        raise ProfileError(what, known, *_without_one_of(clashing[0], setting, group))
    if setting.needs and not parts & set(setting.needs):
        known = f"the group of '{group.component}' has {', '.join(sorted(parts - {setting.name}))}"
        changes = [instead(setting.name, needed, setting.name) for needed in setting.needs]
        raise ProfileError(
            f"'{setting.name}' needs {' or '.join(setting.needs)} in its group", known, *changes
        )


def _meet(one: str, other: str, group: Group) -> bool:
    """Whether two settings are on the same node."""
    places = [places for name in (one, other) if (places := group.places_of(name))]
    nodes = [{node.name for place in each for node in _at(place, group)} for each in places]
    return len(nodes) < 2 or not nodes[0].isdisjoint(nodes[1])


def _at(place: str, group: Group) -> list[Node]:
    """The nodes of a group that a node's name, or a component's, means."""
    every = (*group.servers, *group.proxies)
    return [node for node in every if place in (node.name, node.component.name)]


def _without_one_of(clashing: str, setting: Setting, group: Group) -> Iterator[Change]:
    """The profile without what clashes with a setting, then without the setting."""
    attached = {
        node.term for node in (*group.replicas, *group.proxies) if node.component.name == clashing
    }
    if clashing in group.settings:
        attached.add(clashing)
    yield from (without(term) for term in sorted(attached))
    yield without(setting.name)


def _with_setting(group: Group, setting: Setting, library: Library) -> Group:
    targets = {
        "databases": group.servers,
        "members": group.databases,
        "replicas": group.replicas,
        "proxies": group.proxies,
    }[setting.applies_to]
    if group.places_of(setting.name):
        targets = _placed(setting, targets, group)
    found = {node.name: _variant_for(node, setting, group, library) for node in targets}
    missing = [node for node in targets if found[node.name] is None]
    if not any(found.values()) or (missing and setting.applies_to != "proxies"):
        _refuse(setting, missing, group, library)
    _refuse_partial_sql(setting, found, group)

    def update(node: Node) -> Node:
        variant = found.get(node.name)
        if variant is None:
            return node
        return replace(node, applied=(*node.applied, (setting.name, variant)))

    return _with_nodes(group, update)


def _placed(setting: Setting, targets: tuple[Node, ...], group: Group) -> tuple[Node, ...]:
    """Those of its targets that a setting is for. Raises ProfileError where it cannot be for them
    alone.
    """
    names: set[str] = set()
    for place in group.places_of(setting.name):
        text = f"{place}:{setting.name}"
        whole = instead(text, setting.name)
        if setting.whole_group:
            what = f"'{text}': '{setting.name}' is for a whole group"
            raise ProfileError(what, setting.whole_group, whole)
        nodes = {node.name for node in _at(place, group)}
        possible = [node.name for node in targets]
        if not nodes:
            what = f"'{text}': '{place}' is not in the group of '{group.component}'"
            others = (instead(text, f"{name}:{setting.name}") for name in possible)
            raise ProfileError(what, did_you_mean(place, possible), *others)
        if nodes.isdisjoint(possible):
            what = f"the setting '{setting.name}' does not apply to {place}"
            known = f"it applies to {', '.join(possible) or setting.applies_to}"
            raise ProfileError(what, known, whole)
        names |= nodes
    return tuple(node for node in targets if node.name in names)


def _refuse_partial_sql(
    setting: Setting, found: Mapping[str, Variant | None], group: Group
) -> None:
    """Raises ProfileError for a setting whose SQL only some members of a cluster would run: they
    share their data.
    """
    places = group.places_of(setting.name)
    if group.topology == "single" or not places:
        return
    variants = {name: found.get(name) for name in group.database_names}
    members = [name for name, variant in variants.items() if variant and variant.first_start]
    if members and len(members) < len(variants):
        what = f"'{places[0]}:{setting.name}': '{setting.name}' is for every member of a cluster"
        known = "it has tables of its own, and the members share their data"
        raise ProfileError(what, known, instead(f"{places[0]}:{setting.name}", setting.name))


def _variant_for(node: Node, setting: Setting, group: Group, library: Library) -> Variant | None:
    for variant in setting.variants:
        if _fits(variant.when, node, group, library):
            return variant
    return None


def _with_nodes(group: Group, update: Callable[[Node], Node]) -> Group:
    databases, replicas, proxies = (
        tuple(map(update, nodes)) for nodes in (group.databases, group.replicas, group.proxies)
    )
    return replace(group, databases=databases, replicas=replicas, proxies=proxies)


def _fits(when: When, node: Node, group: Group, library: Library) -> bool:
    return (
        (when.component is None or (node.server_component or node.service) in when.component)
        and (when.family is None or group.family == when.family)
        and (when.topology is None or group.topology in when.topology)
        and (when.since is None or at_least(node.version, when.since))
        and (when.before is None or not at_least(node.version, when.before))
        and (
            when.capability is None
            or library.catalog.images[node.choice.key].has(when.capability, node.version)
        )
    )


def _refuse(setting: Setting, missing: list[Node], group: Group, library: Library) -> None:
    works = "; ".join(dict.fromkeys(variant.when.describe() for variant in setting.variants))
    if missing:
        first = missing[0]
        component = first.server_component or first.service
        target = f"{first.name} ({component} {first.version})"
    elif setting.applies_to == "replicas":
        target = "a group without replicas"
    elif setting.applies_to == "proxies":
        target = "a group without a proxy"
    else:
        target = f"a group of {group.component}"
    what = f"the setting '{setting.name}' does not apply to {target}"
    changes = _where_it_applies(setting, missing, group, library)
    raise ProfileError(what, f"it works on: {works}", *changes, last_resort=without(setting.name))


def _where_it_applies(
    setting: Setting, missing: list[Node], group: Group, library: Library
) -> Iterator[Change]:
    """The group with what the setting applies to: servers of another series, another component, an
    attached one.
    """
    named = [name for variant in setting.variants for name in variant.when.component or []]
    components = list(dict.fromkeys(named))
    for node in {each.term: each for each in missing}.values():
        (term,) = parse(node.term)
        series = library.catalog.image(node.choice.key).series
        yield from (instead(term.text, term.in_version(each)) for each in reversed(series))
    if setting.applies_to == "replicas":
        yield instead(setting.name, "replica", setting.name)
    elif setting.applies_to == "proxies":
        yield from (instead(proxy.term, name) for name in components for proxy in group.proxies)
        yield from (instead(setting.name, name, setting.name) for name in components)
    else:
        yield from (instead(node.term, name) for name in components for node in group.databases[:1])


def assignments(plan: Plan) -> Plan:
    """The plan with each ``SET=`` pair applied to its servers.

    Raises SandboxError (exit 2) if a pair names a term that is not in the profile.
    """
    triples = split_assignments(plan.request.assignments)
    servers = {node.component.name for node in plan.databases}
    servers |= {node.name for node in plan.databases}
    others = {
        node.component.name: node
        for node in plan.nodes
        if node.component.spec.adjustable and node.service == node.component.name
    }
    for term, name, value in triples:
        _refuse_keyless(name, value)
        if term in others and term not in servers:
            _refuse_option(others[term], name, value, plan)
        elif term is not None and term not in servers:
            what = f"SET: '{term}:{name}' names no server or proxy of the profile {plan.profile}"
            known = did_you_mean(term, {*servers, *others})
            raise SandboxError(what, known, f"try: SET='{name}=…'   (for every database node)")

    def update(node: Node) -> Node:
        component = node.component.name
        if not node.is_server:
            given = {name: value for term, name, value in triples if term == component}
            return _adjusted(node, given)
        names = (None, component, node.name)
        pairs = tuple((name, value) for term, name, value in triples if term in names)
        return _with_ports(replace(node, assignments=pairs)) if pairs else node

    return map_nodes(plan, update)


def _refuse_keyless(name: str, value: str) -> None:
    """Raises SandboxError (exit 2) for a list of ``key=value`` with a piece that is none."""
    if bare(name) not in PAIR_LISTS:
        return
    keyless = [key for key, setting in pairs_of(name, value).items() if not setting]
    if keyless or not pairs_of(name, value):
        what = f"SET: {name}={value} is not a list of key=value"
        known = "a key that is given replaces ours, every other stays"
        example = {"wsrep_provider_options": "gmcast.segment=1", "optimizer_switch": "mrr=on"}
        raise SandboxError(what, known, f"try: SET='{bare(name)}={example[bare(name)]}'")


def _with_ports(node: Node) -> Node:
    """The server with the ports that its own variables open; they take no load."""
    spec = node.component.spec
    for name, port in spec.ports_of_variables.items():
        if str(node.assigned(name, "OFF")).upper() in _ON:
            proof = Variant(proof=spec.proofs_of_ports[name])
            proved = (f"{node.component.name}-{name}", proof)
            ports = {**node.ports, name: port}
            node = replace(node, ports=ports, applied=(*node.applied, proved))
    return node


def _refuse_option(node: Node, name: str, value: str, plan: Plan) -> None:
    """Raises SandboxError (exit 2) for an option that a node's component does not have or use, or a
    value not valid.
    """
    component = node.component
    known = component.spec.adjustable
    if name not in known:
        what = f"SET: {component.name} has no option '{name}'"
        raise SandboxError(
            what, did_you_mean(name, known), f"try: SET='{component.name}:{min(known)}=…'"
        )
    if not re.fullmatch(known[name].pattern, value):
        what = f"SET: {component.name}:{name}={value} is not valid"
        raise SandboxError(
            what, f"{name}: {known[name].help}", f"try: SET='{component.name}:{name}=…'"
        )
    if is_replaced(plan.request, node):
        what = f"SET: {component.name}:{name} changes nothing: a file of CNF= is in its place"
        where = f"the option stands in the file that CNF={component.name}!… replaces"
        raise SandboxError(what, where, f"try: CNF={component.name}:…   (added to it)")
    context = node_context(plan, node, PLACEHOLDER)
    reason = render_text(
        known[name].no_effect, context, f"the option {name} of {component.name}"
    ).strip()
    if reason:
        what = f"SET: {component.name}:{name} changes nothing in {plan.profile}"
        raise SandboxError(what, reason, f"try: make plan PROFILE={plan.profile}")


def _adjusted(node: Node, given: Mapping[str, str]) -> Node:
    """The node with options of its component set, each proved as a setting is where the component
    itself runs.
    """
    if not given:
        return node
    component = node.component
    options = {name: int(value) if value.isdecimal() else value for name, value in given.items()}
    proved: list[tuple[str, Variant]] = []
    if node.service == component.name:
        for name in given:
            proof = component.spec.adjustable[name].proof
            proved.append((f"{component.name}-{name}", Variant(proof=proof)))
    return replace(
        node, base_options={**node.base_options, **options}, applied=(*node.applied, *proved)
    )


def map_nodes(plan: Plan, update: Callable[[Node], Node]) -> Plan:
    """The plan with ``update`` applied to every node; groups keep referring to the same objects."""
    changed = {node.name: update(node) for node in plan.nodes}
    groups = tuple(_with_nodes(group, lambda node: changed[node.name]) for group in plan.groups)
    return replace(plan, groups=groups, nodes=tuple(changed.values()))
