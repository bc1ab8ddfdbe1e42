"""Which image a node gets: already local, else pulled, else built."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

from sandbox.plan.catalog import Catalog, Lock
from sandbox.plan.model import ImageChoice, ImageSource


@dataclass(frozen=True)
class Availability:
    """The images this machine can get: local references, and whether a registry answers (asked only if needed)."""

    local: frozenset[str] = frozenset()
    registry: Callable[[], bool] = field(default=lambda: False)
    lock: Lock = field(default_factory=Lock)


def built_alias(key: str, series: str, suite: str) -> str:
    """The moving tag of an image built here: ``sandbox/mariadb:11.8-trixie``."""
    return f"sandbox/{key}:{series}-{suite}"


def choose_image(catalog: Catalog, key: str, asked: str | None, available: Availability) -> ImageChoice:
    """The image of a catalog key in the requested version (None: the default).

    Raises SandboxError: exit 2 if the catalog has no such series, exit 5 if it has no such image.
    """
    image = catalog.image(key)
    series, version = image.resolve(key, asked)
    published = image.published_reference(series, version)
    built = _built_reference(catalog, key, series, version, available)

    def choice(reference: str, source: ImageSource, origin: Literal["published", "built"]) -> ImageChoice:
        user = image.user if origin == "built" else image.published_user(series, version)
        return ImageChoice(key, series, version, reference, source, origin, user)

    if published and published in available.local:
        return choice(_pinned(published, available), "local", "published")
    if built and built in available.local:
        return choice(built, "local", "built")
    if published and available.registry():
        return choice(_pinned(published, available), "pull", "published")
    if built:
        return choice(built, "build", "built")
    return choice(_pinned(published or f"{key}:{version}", available), "unavailable", "published")


def image_override(replaced: ImageChoice, reference: str, available: Availability) -> ImageChoice:
    """The user's own image instead of the catalog's: never pulled, never built, of the same version.

    An image ID (``sha256:…``) is assumed to be local: it can only come from the engine.
    """
    here = reference.startswith("sha256:") or reference in available.local
    return replace(replaced, reference=reference, source="local" if here else "unavailable", origin="given")


def _pinned(reference: str, available: Availability) -> str:
    digest = available.lock.published.get(reference)
    return f"{reference}@{digest}" if digest else reference


def _built_reference(catalog: Catalog, key: str, series: str, version: str, available: Availability) -> str | None:
    entry = catalog.images[key].series[series]
    if entry.build is None:
        return None
    alias = built_alias(key, series, entry.build.suite)
    if version == entry.version:
        return available.lock.built.get(alias, alias)
    exact = re.compile(rf"sandbox/{key}:{re.escape(version)}[^0-9].*-{entry.build.suite}")
    return next((reference for reference in sorted(available.local) if exact.fullmatch(reference)), None)
