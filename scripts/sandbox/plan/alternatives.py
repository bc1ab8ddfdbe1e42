"""PURE: what works on a machine where an image of a profile is unavailable."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import islice, product

from sandbox.errors import SandboxError
from sandbox.plan.grammar import Term, parse
from sandbox.plan.images import Availability, choose_image
from sandbox.plan.library import Component, Library
from sandbox.plan.model import Plan
from sandbox.plan.planner import make_plan

_TRIES = 50


def working_components(library: Library, available: Availability) -> list[str]:
    """Components whose image is available here in some series, by name."""
    return [name for name in library.components.names() if name != "client" and _series(name, library, available)]


def nearest_working_profile(plan: Plan, library: Library, available: Availability) -> str | None:
    """The profile with each unavailable term replaced by a similar one, or left out; None if nothing works."""
    missing = {node.component.name for node in plan.unavailable()}
    choices = [_replacements(term, missing, library, available) for term in parse(plan.profile)]
    for terms in islice(product(*choices), _TRIES):
        profile = "+".join(term.text for term in terms if term is not None)
        if profile and _works(profile, plan, library, available):
            return profile
    return None


def _works(profile: str, plan: Plan, library: Library, available: Availability) -> bool:
    try:
        return not make_plan(replace(plan.request, profile=profile), library, available).unavailable()
    except SandboxError:
        return False


def _replacements(term: Term, missing: set[str], library: Library, available: Availability) -> list[Term | None]:
    """The term itself if it can stay; else another series, then a similar term, then (not for a database) nothing."""
    if term.name in library.settings:
        return [term, None]
    if term.name not in missing:
        return [term]
    component = library.components.get(term.name)
    found: list[Term | None] = [
        Term(name, term.count, series, f"{name}{term.count or ''}" + (f"@{series}" if series else ""))
        for name in [term.name, *_like(component, library)]
        for series in _series(name, library, available)[:1]
    ]
    return found if component.spec.attaches is None else [*found, None]


def _like(component: Component, library: Library) -> Iterator[str]:
    """Components of the same kind and topology, the same family first."""
    spec = component.spec
    others = [library.components.get(name) for name in library.components.names() if name != component.name]
    same = [each for each in others if (each.spec.kind, each.spec.topology) == (spec.kind, spec.topology)]
    return (each.name for each in sorted(same, key=lambda each: each.spec.family != spec.family))


def _series(name: str, library: Library, available: Availability) -> list[str | None]:
    """Series in which a component is available here; None stands for its default, which comes first."""
    image = library.components.get(name).spec.image
    if image not in library.catalog.images:
        return []
    others = reversed(library.catalog.images[image].series)
    return [
        series
        for series in (None, *others)
        if choose_image(library.catalog, image, series, available).source != "unavailable"
    ]
