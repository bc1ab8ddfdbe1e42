"""Terms → Plan: which nodes, of which images, in which groups."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile import apply
from sandbox.profile.drafts import Draft, expanded_terms, read_terms
from sandbox.profile.grammar import ADDRESS_EXAMPLE, Term, external_address, parse
from sandbox.profile.images import Availability, ImageChoice, choose_image
from sandbox.profile.library import Auxiliary, Component, Library, Servers, ServiceSpec, as_source
from sandbox.profile.limits import check_limits, read_limit, refuse_unknown_places
from sandbox.profile.links import with_links
from sandbox.profile.own_files import refuse_misplaced_files, taken_in
from sandbox.profile.own_images import OwnImages
from sandbox.profile.plan import Group, Node, Plan, PlanRequest, memory_mb
from sandbox.profile.refusal import (
    ProfileError,
    Proposal,
    Search,
    instead,
    only,
    unchanged,
    without_last,
)
from sandbox.profile.templates import render_text
from sandbox.profile.variables import refuse_groupless
from sandbox.profile.versions import at_least

ONE_CLIENT = Term("client", None, None, "client")
"""The client of a profile that says nothing of it."""


def make_plan(request: PlanRequest, library: Library, available: Availability) -> Plan:
    """The plan of a profile.

    Raises SandboxError (exit 2) for anything that cannot work, naming the term, why, and a profile
    that plans.
    """
    check_limits(request.cpus, request.memory, request.cpuset, request.disk)
    try:
        return _planned(request, library, available)
    except ProfileError as refusal:
        search = Search(
            plan=lambda other: _planned(_request_of(other), library, available),
            texts=lambda profile: [term.text for term in expanded_terms(parse(profile), library)],
        )
        search.propose(refusal, Proposal(request.profile, request.external))
        raise


def _request_of(proposal: Proposal) -> PlanRequest:
    return PlanRequest(proposal.profile, external=proposal.external, memory=proposal.memory)


def _planned(request: PlanRequest, library: Library, available: Availability) -> Plan:
    """The plan of a profile. Raises SandboxError; the next step of a ProfileError proposes nothing
    yet.
    """
    terms = expanded_terms(parse(request.profile), library)
    drafts, watchers = read_terms(terms, library)
    if request.external and not any(draft.component.spec.kind == "external" for draft in drafts):
        what = "EXTERNAL= is given, but the profile has no term 'external'"
        known = "EXTERNAL is the address of the server that the term 'external' stands for"
        raise ProfileError(what, known, only("external"), external=request.external)
    builder = _Builder(library, available, request)
    groups = tuple(builder.group(index, draft, request) for index, draft in enumerate(drafts, 1))
    servers = [node for group in groups for node in group.servers]
    clients = [term for term in watchers if term.name == "client"]
    watching = [
        node
        for term in watchers
        if term not in clients
        for node in builder.stack_wide(term, servers)
    ]
    client = builder.stack_wide(clients[0] if clients else ONE_CLIENT, servers)
    nodes = (
        [node for group in groups for node in (*group.servers, *group.proxies)]
        + builder.auxiliary
        + watching
        + client
    )
    profile = "+".join(term.text for term in terms)
    made = Plan(request, profile, groups, tuple(nodes))
    builder.own_images.refuse_unused(profile, nodes)
    refuse_unknown_places(made)
    made = apply.assignments(_with_memory(made))
    refuse_misplaced_files(made)
    refuse_groupless(made)
    return with_links(apply.map_nodes(made, lambda node: taken_in(made, node)))


def _with_memory(plan: Plan) -> Plan:
    """The plan with MEMORY= as the limit of the nodes that have it. Raises SandboxError (exit 2) if
    it is too little.
    """
    limit = read_limit("MEMORY", plan.request.memory)
    own = {node.name: memory_mb(value) for node in plan.nodes if (value := limit.of(node))}
    for node in plan.nodes:
        if node.name in own and own[node.name] < node.memory_mb / 2:
            place = limit.place_of(node)
            alike = [
                each.memory_mb
                for each in plan.nodes
                if each.name in own and limit.place_of(each) == place
            ]
            values = limit.values | {place: f"{max(alike)}m"}
            enough = [f"{name}:{value}" if name else value for name, value in values.items()]
            what = f"MEMORY={plan.request.memory} is too little for {node.name}"
            known = f"{node.component.name} takes about {node.memory_mb} MiB with its defaults"
            raise ProfileError(what, known, unchanged, memory=" ".join(enough))
    return apply.map_nodes(
        plan, lambda node: replace(node, memory_mb=own.get(node.name, node.memory_mb))
    )


class _Builder:
    """Numbers nodes and gives each its image; numbers run through the whole stack."""

    def __init__(self, library: Library, available: Availability, request: PlanRequest) -> None:
        self.library = library
        self.available = available
        self.versions = dict(request.versions)
        self.own_images = OwnImages(request, library.catalog, available)
        self.counts: Counter[str] = Counter()
        self.server_ids = 0
        self.auxiliary: list[Node] = []

    def group(self, index: int, draft: Draft, request: PlanRequest) -> Group:
        """A group with its nodes; its settings checked and applied."""
        spec = draft.component.spec
        name = draft.component.name
        external = request.external if spec.kind == "external" else None
        if spec.kind == "external" and not external:
            what = "the term 'external' needs an address"
            raise ProfileError(
                what, f"EXTERNAL={ADDRESS_EXAMPLE}", unchanged, external=ADDRESS_EXAMPLE
            )
        if external:
            external_address(external)  # refused before anything starts
        databases: list[Node] = []
        if not external:
            count = draft.term.count or spec.count
            version = draft.term.version
            databases = self._nodes(draft.term, draft.component, count, index, version)
        topology = spec.topology or "external"
        family = spec.family or "mysql"
        group = Group(
            index,
            name,
            topology,
            family,
            tuple(databases),
            settings=tuple(draft.settings),
            places=tuple(draft.places),
            external=external,
        )
        for term, component in draft.members:
            version = term.version or self._followed_version(component, group)
            nodes = self._nodes(term, component, term.count or component.spec.count, index, version)
            followers = self.own_images.following(nodes, term, group)
            group = _with_attached(group, component, followers)
        for term, component in draft.members:
            _check_company(term, component, draft)
            _check_servers(term, component, group)
        group = apply.proofs_of_needs(apply.settings(group, self.library))
        for _, component in draft.members:
            own = [
                node
                for node in (*group.replicas, *group.proxies)
                if node.component.name == component.name
            ]
            self.auxiliary += self._auxiliary(component, group, own, group.servers)
        return group

    def stack_wide(self, term: Term, servers: list[Node]) -> list[Node]:
        """Nodes of a term that belongs to the whole stack, including its auxiliary nodes."""
        component = self.library.components.get(term.name)
        nodes = self._nodes(term, component, term.count or 1, None, term.version)
        return nodes + self._auxiliary(component, None, nodes, servers)

    def _followed_version(self, component: Component, group: Group) -> str | None:
        """The group's version, if the component follows it and the catalog has it."""
        if not group.databases or not component.spec.image:
            return None
        first = group.databases[0].choice
        follows = component.spec.version_from == "group" or component.spec.kind == "replica"
        image = self.library.catalog.image(component.spec.image)
        if not follows or first.series not in image.series:
            return None
        same_image = component.spec.image == first.key
        return first.exact if same_image and first.exact else first.series

    def _nodes(
        self, term: Term, component: Component, count: int, group: int | None, version: str | None
    ) -> list[Node]:
        spec = component.spec
        choice = self._choice(term, component, version)
        based_on = component.name
        if spec.kind == "replica" and isinstance(spec.based_on, str):
            based_on = spec.based_on
        nodes = []
        for _ in range(count):
            node = self._node(component, component.name, spec, term.text, group, choice)
            node = self._upgraded(self.own_images.on(node, term))
            _check_version(term, component, node.choice)
            self.server_ids += node.is_server
            number = self.server_ids if node.is_server else None
            nodes.append(replace(node, server_id=number, server_component=based_on, role=spec.role))
        return nodes

    def _choice(self, term: Term, component: Component, version: str | None) -> ImageChoice:
        """The image of a term. Raises ProfileError for a version that it has not."""
        key = component.spec.image or term.name
        try:
            choice = choose_image(self.library.catalog, key, version, self.available)
        except SandboxError as problem:
            if problem.exit_code is not ExitCode.BAD_INPUT:
                raise
            default = self.library.catalog.image(key).default
            change = instead(term.text, term.in_version(default))
            raise ProfileError(problem.what, problem.known, change) from problem
        return choice

    def _upgraded(self, node: Node) -> Node:
        """The node in the version that it has by now."""
        version = self.versions.get(node.name)
        if version is None:
            return node
        choice = choose_image(self.library.catalog, node.choice.key, version, self.available)
        return replace(node, choice=choice, user=node.component.spec.user or choice.user)

    def _auxiliary(
        self,
        component: Component,
        group: Group | None,
        own: Sequence[Node],
        servers: Sequence[Node],
    ) -> list[Node]:
        """The auxiliary nodes of a component. ``own``: its main nodes; ``servers``: those that it
        looks after.
        """
        nodes = []
        index = group.index if group else None
        for service, spec in component.spec.auxiliary.items():
            beside = [node for node in own if _has_auxiliary(node, service, spec, group)]
            if own and not beside:
                continue
            choice = choose_image(self.library.catalog, spec.image, None, self.available)
            watched_names: list[str | None] = [None]
            if spec.per == "database":
                watched_names = [node.name for node in servers]
            elif spec.per == "node":
                watched_names = [None] * len(beside)
            for watched in watched_names:
                node = self._node(component, service, spec, component.name, index, choice)
                node = self.own_images.on(node)
                options = {**component.spec.options, **spec.options}
                nodes.append(replace(node, watches=watched, base_options=options))
        return nodes

    def _node(
        self,
        component: Component,
        service: str,
        spec: ServiceSpec,
        term: str,
        group: int | None,
        choice: ImageChoice,
    ) -> Node:
        self.counts[service] += 1
        index = self.counts[service]
        return Node(
            name=f"{service}{index}",
            index=index,
            service=service,
            component=component,
            term=term,
            kind=spec.kind,
            group_index=group,
            choice=choice,
            ports=spec.ports,
            memory_mb=spec.memory_mb,
            user=spec.user or choice.user,
            ready=spec.ready,
            base_options=spec.options,
        )


def _has_auxiliary(node: Node, service: str, spec: Auxiliary, group: Group | None) -> bool:
    if spec.where is None:
        return True
    where = f"compose/{node.component.name} auxiliary {service}"
    return bool(render_text(spec.where, {"node": node, "group": group}, where).strip())


def _check_version(term: Term, component: Component, choice: ImageChoice) -> None:
    since = component.spec.since
    if since and not at_least(choice.version, since):
        what = f"'{term.text}' does not work: {component.name} needs {since} or newer"
        known = f"the requested version is {choice.version}"
        raise ProfileError(what, known, instead(term.text, term.in_version(since)))


def _check_company(term: Term, component: Component, group: Draft) -> None:
    """Refuses an attached component whose group lacks what it needs, or has more of it than the one
    it may have.
    """
    needed = component.spec.needs
    if needed and not any(each.name == needed for each, _ in group.members):
        what = f"'{term.text}' needs a {needed} in its group"
        raise ProfileError(
            what, f"'{group.term.text}' has none", instead(term.text, needed, term.text)
        )
    asked_for = sum(each.count or 1 for each, _ in group.members if each.name == term.name)
    if component.spec.alone and asked_for > 1:
        what = f"'{term.text}': a group has one {term.name}"
        single = replace(term, count=None).in_version(term.version)
        changes = (instead(term.text, single), without_last(term.text))
        raise ProfileError(what, "two would act against each other", *changes)


def _check_servers(term: Term, component: Component, group: Group) -> None:
    """Refuses an attached component if one of its group's servers is too new for it."""
    for needed in component.spec.servers:
        if needed.before and needed.concerns(group.family, group.topology):
            _refuse_too_new(term, needed, needed.before, group)


def _refuse_too_new(term: Term, needed: Servers, before: str, group: Group) -> None:
    too_new = next((node for node in group.servers if at_least(node.version, before)), None)
    if too_new is None:
        return
    what = f"'{term.text}' cannot be attached to '{too_new.component.name}@{too_new.series}'"
    known = f"{needed.why}: {group.component} and its replicas can be {needed.suggested} or older"
    (changed,) = parse(too_new.term)
    raise ProfileError(what, known, instead(changed.text, changed.in_version(needed.suggested)))


def _with_attached(group: Group, component: Component, nodes: tuple[Node, ...]) -> Group:
    if component.spec.kind != "replica":
        return replace(group, proxies=(*group.proxies, *nodes))
    databases = group.databases
    if group.topology == "single" and not group.replicas:  # from now on either may be the writer
        source = as_source(databases[0].component, component)
        ready = source.spec.ready
        role = source.spec.role
        databases = tuple(
            replace(node, component=source, ready=ready, role=role) for node in databases
        )
    return replace(group, databases=databases, replicas=(*group.replicas, *nodes))
