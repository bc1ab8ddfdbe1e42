"""Images: the catalog, server versions, and which image a node gets: already local, else pulled, else built."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.errors import ExitCode, SandboxError, did_you_mean

USER = r"^\d+:\d+$"
Text = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)]


class Declared(BaseModel):
    """Base of everything that a file of the checkout declares: no unknown keys, immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Build(Declared):
    """How an image is built here: a folder of ``images/``, a Debian suite, the package that determines the version."""

    folder: str
    suite: str
    package: str


class VersionSeries(Declared):
    """One series: its current exact version, the published repository (if any), the build (if any)."""

    version: Text
    published: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    """Exact tags published in another repository: tag → repository."""
    build: Build | None = None


class Capability(Declared):
    """A feature that a server has from a version on."""

    since: Text


class CatalogImage(Declared):
    """All series of one image key."""

    default: Text
    user: str | None = Field(default=None, pattern=USER)
    """uid:gid with which its program reads mounted files; None where every fragment sets its own user."""
    users: dict[str, Annotated[str, Field(pattern=USER)]] = Field(default_factory=dict)
    """The same for another repository's images, where it differs: repository → uid:gid."""
    series: dict[Text, VersionSeries]
    aliases: dict[str, Text] = Field(default_factory=dict)
    capabilities: dict[str, Capability] = Field(default_factory=dict)

    def resolve(self, key: str, asked: str | None) -> tuple[str, str]:
        """(series, exact version) of an alias, a series or an exact tag.

        Raises SandboxError (exit 2) if no series matches.
        """
        wanted = self.aliases.get(asked or self.default, asked or self.default)
        if wanted in self.series:
            return wanted, self.series[wanted].version
        owners = [name for name in self.series if belongs_to(wanted, name)]
        if owners:
            return max(owners, key=version_key), wanted
        what = f"'{key}' has no series for version '{wanted}'"
        step = f"try: make plan PROFILE={key}@{self.default}"
        raise SandboxError(what, f"{self._nearest(wanted)}; an exact tag of a known series works too", step)

    def _nearest(self, wanted: str) -> str:
        """The series just below and above a version; for any other word, the series or alias that resembles it."""
        if not wanted[:1].isdigit():
            return did_you_mean(wanted, [*self.series, *self.aliases])
        ordered = sorted(self.series, key=version_key)
        below = [name for name in ordered if version_key(name) < version_key(wanted)][-1:]
        above = [name for name in ordered if version_key(name) > version_key(wanted)][:1]
        return f"did you mean {' or '.join(repr(name) for name in [*below, *above])}?"

    def has(self, capability: str, version: str) -> bool:
        """Whether a version has a capability."""
        entry = self.capabilities.get(capability)
        return entry is not None and at_least(version, entry.since)

    def published_reference(self, series: str, version: str) -> str | None:
        """``repository:tag`` of a published image, or None where the series is only built here."""
        entry = self.series[series]
        repository = entry.versions.get(version, entry.published)
        return f"{repository}:{version}" if repository else None


class Catalog(Declared):
    """``images/catalog.yaml``: the only place where published images are named."""

    images: dict[str, CatalogImage]

    def image(self, key: str) -> CatalogImage:
        """The image of a key. Raises SandboxError (exit 5) if a component names one that the catalog lacks."""
        if key in self.images:
            return self.images[key]
        what = f"a component in compose/ names the image '{key}', which is not in images/catalog.yaml"
        step = "try: make test-unit   (names the component)"
        raise SandboxError(what, did_you_mean(key, self.images), step, ExitCode.INTERNAL)


class Lock(Declared):
    """``images/lock.yaml``: what references resolved to when the user pinned them."""

    published: dict[str, str] = Field(default_factory=dict)
    """Published reference → ``sha256:…`` digest."""
    built: dict[str, str] = Field(default_factory=dict)
    """``sandbox/<key>:<series>-<suite>`` → ``sandbox/<key>:<package version>-<suite>``."""


ImageSource = Literal["local", "pull", "build", "unavailable"]
ImageOrigin = Literal["published", "built", "given"]
"""``given``: the user's own image, instead of the one that the catalog names."""


@dataclass(frozen=True, slots=True)
class ImageChoice:
    """The image of a node: the reference chosen, and where it comes from."""

    key: str
    series: str
    version: str
    reference: str
    source: ImageSource
    origin: ImageOrigin
    user: str | None = None
    """uid:gid with which its program reads mounted files, if the image determines it."""


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
        user = image.users.get((published or "").rpartition(":")[0], image.user)
        return ImageChoice(key, series, version, reference, source, origin, image.user if origin == "built" else user)

    if published and published in available.local:
        return choice(_pinned(published, available), "local", "published")
    if built and built in available.local:
        return choice(built, "local", "built")
    if published and available.registry():
        return choice(_pinned(published, available), "pull", "published")
    if built:
        return choice(built, "build", "built")
    return choice(_pinned(published or f"{key}:{version}", available), "unavailable", "published")


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


@cache
def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a version, for ordering: ``8.0.36-28`` → (8, 0, 36, 28)."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


@cache
def at_least(version: str, since: str) -> bool:
    """Whether ``version`` is ``since`` or newer, compared over as many numbers as both give.

    ``8.4`` is at least ``8.4.3``: a series without a patch number means its newest release.
    """
    have, want = version_key(version), version_key(since)
    length = min(len(have), len(want))
    return have[:length] >= want[:length]


def belongs_to(version: str, series: str) -> bool:
    """Whether an exact version is in a series: ``8.0.36-28`` belongs to ``8.0``, ``v2.53.4`` to ``2.53``."""
    version = version.removeprefix("v")
    return version == series or version.startswith((f"{series}.", f"{series}-"))
