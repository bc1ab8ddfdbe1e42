"""The image catalog: image key → series → where its image comes from, and what it can do."""

from typing import Annotated

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from sandbox.errors import SandboxError, did_you_mean
from sandbox.plan.versions import at_least, belongs_to, version_key

Text = Annotated[str, BeforeValidator(lambda value: str(value) if isinstance(value, int | float) else value)]


class Build(BaseModel):
    """How an image is built here: a folder of ``images/``, a Debian suite, the package that gives the version."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    folder: str
    suite: str
    package: str


class Series(BaseModel):
    """One series: its current exact version, the published repository (if any), the build (if any)."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    version: Text
    published: str | None = None
    versions: dict[str, str] = Field(default_factory=dict)
    """Exact tags that another repository has: tag → repository."""
    build: Build | None = None


class Capability(BaseModel):
    """A thing that a server can do, from a version on."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    since: Text


class CatalogImage(BaseModel):
    """All series of one image key."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    default: Text
    series: dict[Text, Series]
    aliases: dict[str, Text] = Field(default_factory=dict)
    capabilities: dict[str, Capability] = Field(default_factory=dict)

    def resolve(self, key: str, asked: str | None) -> tuple[str, str]:
        """(series, exact version) of an alias, a series or an exact tag.

        Raises SandboxError (exit 2) where no series matches.
        """
        wanted = self.aliases.get(asked or self.default, asked or self.default)
        if wanted in self.series:
            return wanted, self.series[wanted].version
        owners = [name for name in self.series if belongs_to(wanted, name)]
        if owners:
            return max(owners, key=version_key), wanted
        raise SandboxError(
            f"'{key}' has no series for version '{wanted}'",
            f"{did_you_mean(wanted, [*self.series, *self.aliases])}; an exact tag of a known series works too",
            f"try: make plan PROFILE={key}@{self.default}",
        )

    def has(self, capability: str, version: str) -> bool:
        """Whether a version has a capability."""
        entry = self.capabilities.get(capability)
        return entry is not None and at_least(version, entry.since)

    def published_reference(self, series: str, version: str) -> str | None:
        """``repository:tag`` of a published image, or None where the series is only built here."""
        entry = self.series[series]
        repository = entry.versions.get(version, entry.published)
        return f"{repository}:{version}" if repository else None


class Catalog(BaseModel):
    """``images/catalog.yaml``: the only place where published images are named."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    images: dict[str, CatalogImage]


class Lock(BaseModel):
    """``images/lock.yaml``: what references were resolved to when the user asked to pin them."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    published: dict[str, str] = Field(default_factory=dict)
    """Published reference → ``sha256:…`` digest."""
    built: dict[str, str] = Field(default_factory=dict)
    """``sandbox/<key>:<series>-<suite>`` → ``sandbox/<key>:<package version>-<suite>``."""
