"""PURE: the profiles of a repro for each version that is asked for, or that can be had here."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.core.errors import SandboxError
from sandbox.profile.grammar import Term, parse
from sandbox.profile.images import Availability, CatalogImage, choose_image
from sandbox.profile.library import Library
from sandbox.profile.versions import version_key


@dataclass(frozen=True, slots=True)
class VersionOfRepro:
    """One row of a repro: the version that was asked for, and the profile with it."""

    version: str
    profile: str


def variants_of(
    profile: str, versions: Sequence[str], library: Library, available: Availability
) -> list[VersionOfRepro]:
    """The profile in each version; without versions, in every series that can be had here.

    A profile whose first server has a version of its own is left as it is where none is asked for.
    Raises SandboxError (exit 2) for a profile without a server, or a version that it cannot have.
    """
    term = server_term(profile, library)
    if versions:
        for each in versions:
            _image_of(term, library).resolve(term.name, each)
        wanted = list(versions)
    elif term.version:
        return [VersionOfRepro(term.version, profile)]
    else:
        wanted = series_here(term, library, available)
    return [VersionOfRepro(each, in_version(profile, each, library)) for each in wanted]


def server_term(profile: str, library: Library) -> Term:
    """The first term of a profile that is a server. Raises SandboxError (exit 2)."""
    for term in parse(profile):
        if term.name in library.components.names():
            component = library.components.get(term.name)
            if component.spec.attaches is None and component.spec.server:
                return term
    what = f"PROFILE={profile} has no server whose version could be another one"
    raise SandboxError(what, "a repro has one", "try: make list WHAT=repros")


def in_version(profile: str, version: str | None, library: Library) -> str:
    """The profile with every term of its first server's kind in another version, or in none."""
    kind = server_term(profile, library).name
    terms = [
        term.in_version(version) if term.name == kind and not term.place else term.text
        for term in parse(profile)
    ]
    return "+".join(terms)


def series_here(term: Term, library: Library, available: Availability) -> list[str]:
    """The series of a server that can be had here, the oldest first."""
    key = library.components.get(term.name).spec.image or term.name
    found = []
    for series in _image_of(term, library).series:
        choice = choose_image(library.catalog, key, series, available)
        if choice.source != "unavailable":
            found.append(series)
    return sorted(found, key=version_key)


def _image_of(term: Term, library: Library) -> CatalogImage:
    return library.catalog.image(library.components.get(term.name).spec.image or term.name)
