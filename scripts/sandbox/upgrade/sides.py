"""PURE: the two servers of an upgrade check: what FROM= and TO= name, and the profile of both."""

from dataclasses import dataclass

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.profile.grammar import Term, parse
from sandbox.profile.library import Component, Library
from sandbox.profile.plan import Plan
from sandbox.profile.versions import version_key

EXAMPLE = "try: make upgrade-check LOG=slow.log FROM=mariadb@10.11 TO=mariadb@11.8"
VERSIONS = "try: make list WHAT=versions"


@dataclass(frozen=True, slots=True)
class UpgradeSides:
    """The older and the newer server. ``no_replica``: why the newer one does not replicate from the
    older one; None: it does.
    """

    old: Term
    new: Term
    no_replica: str | None = None

    @property
    def profile(self) -> str:
        """One stack: the older server, with a replica of the newer version, and the newer one."""
        replica = [] if self.no_replica else [f"replica1@{self.new.version}"]
        return "+".join([self.old.in_version(self.old.version), *replica, self.new.text])

    @property
    def nodes(self) -> tuple[str, str, str | None]:
        """Names of the nodes: old, new, replica."""
        same = self.old.name == self.new.name
        new = f"{self.new.name}{2 if same else 1}"
        return f"{self.old.name}1", new, None if self.no_replica else "replica1"


def sides_of(old: str | None, new: str | None, library: Library) -> UpgradeSides:
    """The servers that FROM= and TO= name.

    Raises SandboxError (exit 2) for a missing one, one that is no single server, and a version
    that is none.
    """
    if not old or not new:
        missing = "FROM" if not old else "TO"
        known = "an upgrade has the server that is there and the one that is to come"
        raise SandboxError(f"no {missing} was given", known, EXAMPLE)
    first = _server(old, "FROM", library)
    second = _server(new, "TO", library)
    return UpgradeSides(first, second, _no_replica(first, second, library))


def _server(text: str, variable: str, library: Library) -> Term:
    terms = parse(text)
    singles = _single_servers(library)
    term = terms[0]
    if len(terms) > 1 or term.count not in (None, 1) or term.place is not None:
        known = "a server such as mariadb@10.11: the check starts both, and a replica, by itself"
        raise SandboxError(f"{variable}={text} is not one server", known, EXAMPLE)
    if term.name not in library.words():
        what = f"{variable}: unknown term '{term.text}'"
        raise SandboxError(what, did_you_mean(term.name, singles), EXAMPLE)
    if term.name not in singles:
        what = f"{variable}={text} is no single server"
        raise SandboxError(what, f"single servers: {', '.join(singles)}", EXAMPLE)
    image = library.catalog.image(_component(term, library).spec.image or term.name)
    version = term.version or image.default
    image.resolve(term.name, version)
    return Term(term.name, None, version, f"{term.name}@{version}")


def _single_servers(library: Library) -> list[str]:
    components = [library.components.get(name) for name in library.components.names()]
    return [each.name for each in components if _is_single(each)]


def _is_single(component: Component) -> bool:
    spec = component.spec
    return spec.kind == "database" and spec.topology == "single" and spec.image is not None


def _component(term: Term, library: Library) -> Component:
    return library.components.get(term.name)


def _no_replica(old: Term, new: Term, library: Library) -> str | None:
    families = [_component(each, library).spec.family for each in (old, new)]
    if families[0] != families[1]:
        return f"{new.name} does not replicate from {old.name} by GTID: they are of two families"
    if old.name != new.name:
        return f"a replica of {old.name} is {old.name}, not {new.name}"
    return None


def refuse_downgrade(plan: Plan, sides: UpgradeSides) -> None:
    """Raises SandboxError (exit 2) for a TO that is older than FROM, or the same version."""
    old, new, _ = sides.nodes
    before = plan.node(old).version
    after = plan.node(new).version
    if sides.old.name != sides.new.name or version_key(before) < version_key(after):
        return
    if before == after and sides.old.version == sides.new.version:
        known = "an upgrade goes to another version"
        raise SandboxError(f"FROM and TO are the same: {sides.new.text}", known, VERSIONS)
    if before == after:
        known = f"{sides.old.text} and {sides.new.text} are the same version here"
        raise SandboxError(f"FROM and TO are both {before}", known, VERSIONS)
    what = f"TO={sides.new.text} is older than FROM={sides.old.text}"
    known = "that is a downgrade: no server starts on the data of a newer one"
    step = f"try: make upgrade-check LOG=slow.log FROM={sides.new.text} TO={sides.old.text}"
    raise SandboxError(what, known, step)


def refuse_unavailable_sides(plan: Plan) -> None:
    """Raises SandboxError (exit 4) for a server whose image is not here and cannot be made."""
    missing = sorted({node.image for node in plan.unavailable()})
    if missing:
        what = f"not available here: {', '.join(missing)}"
        known = "it is not on the engine, and can be neither pulled nor built"
        raise SandboxError(what, known, VERSIONS, ExitCode.ENVIRONMENT)
