"""PURE: what works on a machine where an image of a profile is unavailable."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice, product

from sandbox.core.errors import SandboxError
from sandbox.profile.grammar import Term, parse
from sandbox.profile.images import (
    Availability,
    Catalog,
    CatalogImage,
    ImageChoice,
    VersionSeries,
    built_alias,
    choose_image,
)
from sandbox.profile.library import Component, Library
from sandbox.profile.plan import Plan
from sandbox.profile.planner import make_plan
from sandbox.profile.versions import belongs_to, packaged_version, version_key

_TRIES = 50


@dataclass(frozen=True, slots=True)
class SeriesVersions:
    """The exact versions of one series, the newest first."""

    here: tuple[str, ...]
    published: tuple[str, ...]
    buildable: tuple[str, ...]


def series_versions(
    catalog: Catalog, key: str, series: str, available: Availability
) -> SeriesVersions:
    """Versions of a series: on this machine, published as far as the catalog knows, buildable."""
    image = catalog.image(key)
    entry = image.series[series]
    published = [entry.version, *entry.tags] if entry.published else []
    buildable = list(entry.build.versions) if entry.build else []
    if entry.build and not entry.published:
        buildable = buildable or [entry.version]
    here = _published_here(image, entry, available) | _built_here(key, entry, available)
    here = {each for each in here if belongs_to(each, series) and each != series}
    if not here and entry.build and built_alias(key, series, entry.build.suite) in available.local:
        here = {entry.version}  # its packages have a numbering of their own
    return SeriesVersions(_newest_first(here), _newest_first(published), _newest_first(buildable))


def _published_here(image: CatalogImage, entry: VersionSeries, available: Availability) -> set[str]:
    repositories = {entry.published, *image.repositories}
    names = [reference.partition("@")[0].rpartition(":") for reference in available.local]
    return {tag for repository, _, tag in names if repository in repositories}


def _built_here(key: str, entry: VersionSeries, available: Availability) -> set[str]:
    """Versions built here, by the names that a user types: the catalog's, else the program's."""
    exact = entry.build.versions.items() if entry.build else []
    names = {each.package: name for name, each in exact}
    built = available.packages.items()
    packages = [package for name, package in built if name.startswith(f"sandbox/{key}:")]
    return {names.get(package, packaged_version(package)) for package in packages}


def _newest_first(versions: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted(versions, key=version_key, reverse=True))


def working_components(library: Library, available: Availability) -> list[str]:
    """Components whose image is available here in some series, by name."""
    return [
        name
        for name in library.components.names()
        if name != "client" and _series(name, library, available)
    ]


def nearest_working_profile(plan: Plan, library: Library, available: Availability) -> str | None:
    """The profile with each unavailable term replaced by a similar one, or left out; None if
    nothing works.
    """
    missing = {node.component.name for node in plan.unavailable()}
    choices = [
        _replacements(term, missing, plan, library, available) for term in parse(plan.profile)
    ]
    for terms in islice(product(*choices), _TRIES):
        profile = "+".join(term.text for term in terms if term is not None)
        if profile and _works(profile, plan, library, available):
            return profile
    return None


def _works(profile: str, plan: Plan, library: Library, available: Availability) -> bool:
    try:
        return not make_plan(
            replace(plan.request, profile=profile), library, available
        ).unavailable()
    except SandboxError:
        return False


def _replacements(
    term: Term, missing: set[str], plan: Plan, library: Library, available: Availability
) -> list[Term | None]:
    """The term itself if it can stay.

    Else another version or series, then a similar term, then (not for a database) nothing.
    """
    if term.name in library.settings:
        return [term, None]
    if term.name not in missing:
        return [term]
    component = library.components.get(term.name)
    versions = _nearest_versions(term, plan, library.catalog, available)
    found: list[Term | None] = [_with_version(term, term.name, version) for version in versions]
    found += [
        _with_version(term, name, series)
        for name in [term.name, *_like(component, library)]
        for series in _series(name, library, available)[:1]
    ]
    return found if component.spec.attaches is None else [*found, None]


def _with_version(term: Term, name: str, version: str | None) -> Term:
    text = f"{name}{term.count or ''}" + (f"@{version}" if version else "")
    return Term(name, term.count, version, text)


def _nearest_versions(
    term: Term, plan: Plan, catalog: Catalog, available: Availability
) -> list[str]:
    """Other versions of the series, the nearest first, where a term asks for an exact version."""
    choices = [node.choice for node in plan.unavailable() if node.component.name == term.name]
    if not choices or not term.version or not choices[0].exact:
        return []
    wanted = version_key(choices[0].exact)
    there = possible_versions(choices[0], catalog, available)

    def distance(version: str) -> tuple[list[int], int]:
        pairs = zip(version_key(version), wanted, strict=False)
        numbers = [abs(number - other) for number, other in pairs]
        return numbers, len(version)  # a version before the packages of it

    return sorted(there, key=distance)


def possible_versions(
    choice: ImageChoice, catalog: Catalog, available: Availability
) -> dict[str, str]:
    """The exact versions of a choice's series that are available, the newest first → where from."""
    known = series_versions(catalog, choice.key, choice.series, available)
    published = known.published if available.registry() else ()
    found = dict.fromkeys(published, "published")
    found |= dict.fromkeys(known.buildable, "can be built here")
    found |= dict.fromkeys(known.here, "here")
    return {version: found[version] for version in sorted(found, key=version_key, reverse=True)}


def versions_text(choice: ImageChoice, catalog: Catalog, available: Availability) -> str:
    """One clause about them: ``of mariadb 10.11 there are 10.11.19 (here), 10.11.18
    (published)``.
    """
    found = possible_versions(choice, catalog, available)
    listed = ", ".join(f"{version} ({where})" for version, where in found.items())
    verb = "is" if len(found) == 1 else "are"
    return f"of {choice.key} {choice.series} there {verb} {listed or 'none'}"


def _like(component: Component, library: Library) -> Iterator[str]:
    """Components of the same kind and topology, the same family first."""
    spec = component.spec
    others = [
        library.components.get(name)
        for name in library.components.names()
        if name != component.name
    ]
    same = [
        each
        for each in others
        if (each.spec.kind, each.spec.topology) == (spec.kind, spec.topology)
    ]
    return (each.name for each in sorted(same, key=lambda each: each.spec.family != spec.family))


def _series(name: str, library: Library, available: Availability) -> list[str | None]:
    """Series in which a component is available here; None stands for its default, which comes
    first.
    """
    image = library.components.get(name).spec.image
    if image not in library.catalog.images:
        return []
    others = reversed(library.catalog.images[image].series)
    return [
        series
        for series in (None, *others)
        if choose_image(library.catalog, image, series, available).source != "unavailable"
    ]
