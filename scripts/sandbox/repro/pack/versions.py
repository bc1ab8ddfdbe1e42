"""PURE: the version of its servers in which a repro is packed, where none is asked for."""

from collections.abc import Sequence
from dataclasses import replace

from sandbox.profile.grammar import Term
from sandbox.profile.images import Availability, CatalogImage, ImageChoice, choose_image
from sandbox.profile.library import Library
from sandbox.profile.versions import version_key
from sandbox.repro.affected import expected_side
from sandbox.repro.definition import Repro
from sandbox.repro.versions import VersionOfRepro, in_version, server_term


def with_published_images(library: Library) -> Library:
    """The library without what is built here: its images are those that a registry has."""
    images = {
        key: image.model_copy(
            update={
                "series": {
                    name: series.model_copy(update={"build": None}) if series.published else series
                    for name, series in image.series.items()
                }
            }
        )
        for key, image in library.catalog.images.items()
    }
    return replace(library, catalog=library.catalog.model_copy(update={"images": images}))


def server_image(repro: Repro, library: Library) -> CatalogImage:
    """The catalog's entry for the first server of a repro. Raises SandboxError (exit 2)."""
    return library.catalog.image(_image_key(server_term(repro.profile, library), library))


def exact_versions(image: CatalogImage) -> list[str]:
    """Those that the catalog names, the newest first."""
    named = {tag for series in image.series.values() for tag in series.tags}
    for series in image.series.values():
        named.update(series.build.versions if series.build else ())
    return sorted(named, key=version_key, reverse=True)


def version_to_pack(
    repro: Repro, library: Library, available: Availability, exact: Sequence[str] = ()
) -> VersionOfRepro:
    """The version of the profile; else one that ``affected`` has: of the default series, of the
    newest other one, the first of the ``exact`` ones; else the default. Images that are still to
    be built do not count.

    Raises SandboxError (exit 2) for a profile without a server.
    """
    term = server_term(repro.profile, library)
    if term.version:
        return VersionOfRepro(term.version, repro.profile)
    family = library.components.get(term.name).spec.family
    key = _image_key(term, library)
    image = library.catalog.image(key)
    default, _ = image.resolve(key, None)
    series = sorted(image.series, key=version_key, reverse=True)
    series.sort(key=lambda each: each != default)
    choices = {
        asked: choose_image(library.catalog, key, asked, available) for asked in [*series, *exact]
    }
    there = [asked for asked, choice in choices.items() if choice.source in ("local", "pull")]
    buggy = [asked for asked in there if _has_the_bug(repro, family, choices[asked])]
    version = next(iter([*buggy, *there, default]))
    return VersionOfRepro(version, in_version(repro.profile, version, library))


def _image_key(term: Term, library: Library) -> str:
    return library.components.get(term.name).spec.image or term.name


def _has_the_bug(repro: Repro, family: str | None, choice: ImageChoice) -> bool:
    return family is not None and expected_side(repro.affected, family, choice.version) == "bug"
