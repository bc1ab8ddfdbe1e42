"""The image catalog: image key → series → where its image comes from, and what it can do."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.errors import ExitCode, SandboxError, did_you_mean
from sandbox.plan.versions import at_least, belongs_to, version_key

USER = r"^\d+:\d+$"
Text = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)]


class Build(BaseModel):
    """How an image is built here: a folder of ``images/``, a Debian suite, the package that determines the version."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    folder: str
    suite: str
    package: str


class VersionSeries(BaseModel):
    """One series: its current exact version, the published repository (if any), the build (if any)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Text
    published: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    """Exact tags published in another repository: tag → repository."""
    build: Build | None = None


class Capability(BaseModel):
    """A feature that a server has from a version on."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    since: Text


class CatalogImage(BaseModel):
    """All series of one image key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
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
        raise SandboxError(
            f"'{key}' has no series for version '{wanted}'",
            f"{self._nearest(wanted)}; an exact tag of a known series works too",
            f"try: make plan PROFILE={key}@{self.default}",
        )

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
        repository = self._repository(series, version)
        return f"{repository}:{version}" if repository else None

    def published_user(self, series: str, version: str) -> str | None:
        """uid:gid of the published image."""
        return self.users.get(self._repository(series, version) or "", self.user)

    def _repository(self, series: str, version: str) -> str | None:
        entry = self.series[series]
        return entry.versions.get(version, entry.published)


class Catalog(BaseModel):
    """``images/catalog.yaml``: the only place where published images are named."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    images: dict[str, CatalogImage]

    def image(self, key: str) -> CatalogImage:
        """The image of a key. Raises SandboxError (exit 5) if a component names one that the catalog lacks."""
        if key in self.images:
            return self.images[key]
        raise SandboxError(
            f"a component in compose/ names the image '{key}', which is not in images/catalog.yaml",
            did_you_mean(key, self.images),
            "try: make test-unit   (names the component)",
            ExitCode.INTERNAL,
        )


class Lock(BaseModel):
    """``images/lock.yaml``: what references resolved to when the user pinned them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    published: dict[str, str] = Field(default_factory=dict)
    """Published reference → ``sha256:…`` digest."""
    built: dict[str, str] = Field(default_factory=dict)
    """``sandbox/<key>:<series>-<suite>`` → ``sandbox/<key>:<package version>-<suite>``."""
