"""The catalog of images, and the image that a node gets: already local, else pulled, else built."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.core.errors import ExitCode, SandboxError, did_you_mean
from sandbox.core.words import ImageOrigin
from sandbox.profile.given import Binary, ImageAnswer
from sandbox.profile.versions import (
    at_least,
    belongs_to,
    package_tag,
    packaged_version,
    version_key,
)

USER = r"^\d+:\d+$"
Text = Annotated[
    str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)
]


class Declared(BaseModel):
    """Base of everything that a file of the checkout declares: no unknown keys, immutable."""

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)


class ExactBuild(Declared):
    """The place of one exact version in Debian: a suite, and the package version in it."""

    suite: str
    package: str


class Build(Declared):
    """Build of an image here: a folder of ``images/``, a suite, the package with the version."""

    folder: str
    suite: str
    package: str
    versions: dict[Text, ExactBuild] = Field(default_factory=dict)
    """Exact builds, the newest of each suite first. The key is the version of the program, or the
    package's tag where another package has the same."""

    def exact(self, wanted: str) -> ExactBuild | None:
        """The build of an exact version, or of the package with this tag."""
        if wanted in self.versions:
            return self.versions[wanted]
        packages = {package_tag(each.package): each for each in self.versions.values()}
        return packages.get(wanted)

    @property
    def newest(self) -> ExactBuild | None:
        """The build of the series' own suite, as of the catalog."""
        return next((each for each in self.versions.values() if each.suite == self.suite), None)


class VersionSeries(Declared):
    """One series: its current version, the repository that publishes it, its build here."""

    version: Text
    published: str | None = None
    tags: tuple[str, ...] = ()
    """Further published tags, to be shown."""
    build: Build | None = None


class Capability(Declared):
    """A feature that a server has from a version on."""

    since: Text


class Reports(Declared):
    """How an image says what is in it: the version command of its program.

    ``names``: the words of the answer that no other product gives; None: it names none.
    """

    command: tuple[str, ...]
    names: str | None = None


class CatalogImage(Declared):
    """All series of one image key."""

    default: Text
    user: str | None = Field(default=None, pattern=USER)
    """uid:gid with which its program reads mounted files; None where every fragment sets it."""
    users: dict[str, Annotated[str, Field(pattern=USER)]] = Field(default_factory=dict)
    """uid:gid of another repository's images, where it differs: repository → uid:gid."""
    repositories: dict[str, str] = Field(default_factory=dict)
    """Further repositories, by the shape of their tags: repository → expression of a whole tag."""
    series: dict[Text, VersionSeries]
    aliases: dict[str, Text] = Field(default_factory=dict)
    capabilities: dict[str, Capability] = Field(default_factory=dict)
    reports: Reports | None = None
    """None: its program is not asked for its version."""
    release_notes: str | None = None
    """Where those of a version are: an address with {version}, {dashed} (10-11-19), {series}."""

    def notes_of(self, version: str) -> str | None:
        """The address of the release notes of an exact version; None where it is not known."""
        numbers = re.match(r"\d+\.\d+\.\d+(-\d+)?", version)
        if self.release_notes is None or numbers is None:
            return None
        exact = numbers[0]
        series = ".".join(exact.split(".")[:2])
        dashed = exact.replace(".", "-")
        return self.release_notes.format(version=exact, dashed=dashed, series=series)

    def resolve(self, key: str, asked: str | None) -> tuple[str, str | None]:
        """(series, exact version) of an alias, a series (no exact version) or an exact tag.

        Raises SandboxError (exit 2) if no series matches.
        """
        wanted = self.aliases.get(asked or self.default, asked or self.default)
        if wanted in self.series:
            return wanted, None
        owners = [name for name in self.series if belongs_to(wanted, name)]
        if owners:
            return max(owners, key=version_key), wanted
        what = f"'{key}' has no series for version '{wanted}'"
        step = f"try: make plan PROFILE={key}@{self.default}"
        raise SandboxError(
            what, f"{self._nearest(wanted)}; an exact tag of a known series works too", step
        )

    def _nearest(self, wanted: str) -> str:
        """The series around a version; for another word, the series or alias that resembles it."""
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
        repository = self.series[series].published
        for other, shape in self.repositories.items():
            if re.fullmatch(shape, version):
                repository = other
        return f"{repository}:{version}" if repository else None

    def user_of(self, reference: str) -> str | None:
        """uid:gid with which the program of a published image reads mounted files."""
        return self.users.get(reference.rpartition(":")[0], self.user)


class Catalog(Declared):
    """``images/catalog.yaml``: the only place where published images are named."""

    images: dict[str, CatalogImage]

    def image(self, key: str) -> CatalogImage:
        """The image of a key. SandboxError (exit 5) if a component names one that is not here."""
        if key in self.images:
            return self.images[key]
        what = (
            f"a component in compose/ names the image '{key}', which is not in images/catalog.yaml"
        )
        step = "try: make test-unit   (names the component)"
        raise SandboxError(what, did_you_mean(key, self.images), step, ExitCode.INTERNAL)


class Lock(Declared):
    """``images/lock.yaml``: what references resolved to when the user pinned them."""

    published: dict[str, str] = Field(default_factory=dict)
    """Published reference → ``sha256:…`` digest."""
    built: dict[str, str] = Field(default_factory=dict)
    """``sandbox/<key>:<series>-<suite>`` → ``sandbox/<key>:<package version>-<suite>``."""


ImageSource = Literal["local", "pull", "build", "unavailable"]


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
    exact: str | None = None
    """The exact version or tag asked for; None where a series was."""
    package: str | None = None
    """The package version to build; None: the newest that the suite has."""
    identity: str | None = None
    """``sha256:…`` of an image of the user's own, where the engine was asked for it."""
    binary: Binary | None = None
    """The server that the user built which is, or is to be, in it."""


@dataclass(frozen=True)
class Availability:
    """Images that this machine can get: local references, and a registry, asked only if needed."""

    local: frozenset[str] = frozenset()
    registry: Callable[[], bool] = field(default=lambda: False)
    lock: Lock = field(default_factory=Lock)
    packages: Mapping[str, str] = field(default_factory=dict)
    """Local reference of an image built here → the package version in it."""
    ask: Callable[[str], ImageAnswer | None] | None = None
    """Asks an image on the engine what is in it; it answers None for one that is not there. None:
    there is no engine to ask.
    """


def built_alias(key: str, series: str, suite: str) -> str:
    """The moving tag of an image built here: ``sandbox/mariadb:11.8-trixie``."""
    return f"sandbox/{key}:{series}-{suite}"


def built_reference(key: str, package: str, suite: str) -> str:
    """The name that contains the package version: ``sandbox/mariadb:11.8.9-ds-4-sid``."""
    return f"sandbox/{key}:{package_tag(package)}-{suite}"


def choose_image(
    catalog: Catalog, key: str, asked: str | None, available: Availability
) -> ImageChoice:
    """The image of a catalog key in the requested version (None: the default).

    A series is whatever its image is; an exact version is that version, or it is ``unavailable``.
    Raises SandboxError: exit 2 if the catalog has no such series, exit 5 if it has no such image.
    """
    image = catalog.image(key)
    series, exact = image.resolve(key, asked)
    sources = _Sources(key, image, series, exact, available)
    return (
        sources.published_here()
        or sources.built_here()
        or sources.pulled()
        or sources.to_build()
        or sources.unavailable()
    )


@dataclass(frozen=True)
class _Sources:
    """The sources of the image of one series, or of one exact version of it."""

    key: str
    image: CatalogImage
    series: str
    exact: str | None
    available: Availability

    @property
    def entry(self) -> VersionSeries:
        return self.image.series[self.series]

    @property
    def tag(self) -> str:
        return self.exact or self.entry.version

    @property
    def published(self) -> str | None:
        return self.image.published_reference(self.series, self.tag)

    def published_here(self) -> ImageChoice | None:
        if self.published in self.available.local:
            return self._of_published(self.published, "local")
        return None

    def built_here(self) -> ImageChoice | None:
        reference = self._exactly_built() if self.exact else self._alias()
        if reference is None or reference not in self.available.local:
            return None
        package = self.available.packages.get(reference)
        return self._of_build(reference, "local", package)

    def pulled(self) -> ImageChoice | None:
        """A tag that the catalog does not know may not exist: where it can be built, it is."""
        is_known = self.tag in (self.entry.version, *self.entry.tags)
        if self.published is None or (self._exact_build() and not is_known):
            return None
        return self._of_published(self.published, "pull") if self.available.registry() else None

    def to_build(self) -> ImageChoice | None:
        build = self.entry.build
        if build is None:
            return None
        if exact := self._exact_build():
            return self._of_build(self._reference(exact), "build", exact.package, exact.package)
        if self.exact:
            return None
        reference = self._alias() or ""
        pinned = [each for each in build.versions.values() if self._reference(each) == reference]
        if pinned:
            return self._of_build(reference, "build", pinned[0].package, pinned[0].package)
        return self._of_build(reference, "build", build.newest.package if build.newest else None)

    def unavailable(self) -> ImageChoice:
        return self._of_published(self.published or f"{self.key}:{self.tag}", "unavailable")

    def _alias(self) -> str | None:
        """The series' image built here, or the one that it is pinned to."""
        if self.entry.build is None:
            return None
        alias = built_alias(self.key, self.series, self.entry.build.suite)
        return self.available.lock.built.get(alias, alias)

    def _exact_build(self) -> ExactBuild | None:
        return self.entry.build.exact(self.exact) if self.entry.build and self.exact else None

    def _reference(self, build: ExactBuild) -> str:
        return built_reference(self.key, build.package, build.suite)

    def _exactly_built(self) -> str | None:
        """The image here of this exact version: the catalog's build, else the newest package."""
        wanted = self._exact_build()
        own = self._reference(wanted) if wanted else None
        if own in self.available.local:
            return own
        found = {
            reference: package
            for reference, package in self.available.packages.items()
            if reference.startswith(f"sandbox/{self.key}:{package_tag(package)}-")
            and self.exact in (packaged_version(package), package_tag(package))
        }
        return max(found, key=lambda reference: version_key(found[reference]), default=None)

    def _of_published(self, reference: str, source: ImageSource) -> ImageChoice:
        return ImageChoice(
            key=self.key,
            series=self.series,
            version=self.tag,
            reference=_pinned(reference, self.available),
            source=source,
            origin="published",
            user=self.image.user_of(reference),
            exact=self.exact,
        )

    def _of_build(
        self, reference: str, source: ImageSource, package: str | None, wanted: str | None = None
    ) -> ImageChoice:
        """``package``: the package version in it, if known; ``wanted``: the one to build."""
        return ImageChoice(
            key=self.key,
            series=self.series,
            version=self._version_of(package),
            reference=reference,
            source=source,
            origin="built",
            user=self.image.user,
            exact=self.exact,
            package=wanted,
        )

    def _version_of(self, package: str | None) -> str:
        """The version in a package: of an unknown one the series, else the catalog's numbering."""
        if package is None:
            return self.exact or self.series
        version = packaged_version(package)
        return version if belongs_to(version, self.series) else self.entry.version


def _pinned(reference: str, available: Availability) -> str:
    digest = available.lock.published.get(reference)
    return f"{reference}@{digest}" if digest else reference
