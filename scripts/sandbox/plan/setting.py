"""A setting: a named change of configuration, per variant of server or proxy, with the probe that proves it."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from sandbox.plan.catalog import Text
from sandbox.plan.component import Probe


class When(BaseModel):
    """The conditions for a variant to apply to a node; all that are given must hold."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    component: list[str] | None = None
    family: Literal["mysql", "mariadb"] | None = None
    topology: list[str] | None = None
    since: Text | None = None
    before: Text | None = None
    capability: str | None = None

    def describe(self) -> str:
        """The condition in words, for the error message that names what works."""
        parts = [" or ".join(self.component or []), self.family or "", "/".join(self.topology or [])]
        parts += [f"{self.since} and newer" if self.since else "", f"before {self.before}" if self.before else ""]
        parts.append(f"with {self.capability.replace('_', ' ')}" if self.capability else "")
        return " ".join(part for part in parts if part) or "any"


class Variant(BaseModel):
    """The changes that the setting makes where ``when`` holds."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    when: When = When()
    variables: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    first_start: str = ""
    proof: Probe


class Setting(BaseModel):
    """One file of ``profiles/settings/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    help: str
    applies_to: Literal["databases", "members", "replicas", "proxies"]
    """All servers of the group; only those of its database term; only its replicas; only its proxies."""
    variants: list[Variant]
    conflicts: list[str] = Field(default_factory=list)
    """Settings or components that cannot be in the same group."""
    needs: list[str] = Field(default_factory=list)
    """Components of which the group must have at least one."""


class NamedProfile(BaseModel):
    """One file of ``profiles/named/``."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    name: str
    help: str
    profile: str
