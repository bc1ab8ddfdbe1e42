"""PURE: what was asked for besides a profile, as the facts of its plan."""

from collections.abc import Iterator

from sandbox.profile.limits import Limit, requested_limits
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.report.document import Fact


def requested_facts(request: PlanRequest) -> Iterator[Fact]:
    """What was asked for in addition to the profile."""
    if request.cnf:
        yield Fact(
            "CNF",
            f"{request.cnf.name} (sha256 {request.cnf.sha256[:12]}), read last by every server",
        )
    for own in request.own_files:
        how = (
            "in place of what is generated for" if own.instead else "added to what is generated for"
        )
        yield Fact("CNF", f"{own.file.name} (sha256 {own.file.sha256[:12]}), {how} {own.place}")
    if request.init:
        yield Fact(
            "INIT",
            f"{request.init.name} (sha256 {request.init.sha256[:12]}), run once on the writer",
        )
    if request.images:
        yield Fact("IMAGE", " ".join(request.images))
    for each in request.binaries:
        path = f"{each.path} (sha256 {each.sha256[:12]}, with the recipe of its image)"
        yield Fact("BINARY", f"{each.word}={path}")


def limit_facts(plan: Plan) -> Iterator[Fact]:
    """The limits, by node where not every server has the same."""
    limits = requested_limits(plan.request)
    if any(limit.places for limit in limits):
        yield from _limits_by_node(plan, limits)
        return
    given = {limit.variable: limit.values[None] for limit in limits}
    disk = given.pop("DISK", None)
    if given:
        text = ", ".join(f"{name} {value}" for name, value in given.items())
        yield Fact("limits", f"{text} for each database node")
    if disk:
        yield Fact("disk", f"{disk} of its own for the data directory of each database node")


def _limits_by_node(plan: Plan, limits: list[Limit]) -> Iterator[Fact]:
    alike: dict[str, list[str]] = {}
    for node in plan.nodes:
        own = [f"{each.variable} {value}" for each in limits if (value := each.of(node))]
        if own:
            alike.setdefault(", ".join(own), []).append(node.name)
    for text, names in alike.items():
        yield Fact("limits", f"{text} for {', '.join(names)}")
