"""What a profile can name: components, settings, named profiles; and the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from pydantic import Field

from sandbox.plan.component import Component, Probe
from sandbox.plan.images import Catalog, Declared, Text


class When(Declared):
    """The conditions for a variant to apply to a node; all that are given must hold."""

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


class Variant(Declared):
    """The changes that the setting makes where ``when`` holds."""

    when: When = When()
    variables: dict[str, str | int | float | bool | None] = Field(default_factory=dict)
    options: dict[str, Any] = Field(default_factory=dict)
    first_start: str = ""
    proof: Probe


class Setting(Declared):
    """One file of ``profiles/settings/``."""

    name: str
    help: str
    applies_to: Literal["databases", "members", "replicas", "proxies"]
    """All servers of the group; only those of its database term; only its replicas; only its proxies."""
    variants: list[Variant]
    conflicts: list[str] = Field(default_factory=list)
    """Settings or components that cannot be in the same group."""
    needs: list[str] = Field(default_factory=list)
    """Components of which the group must have at least one."""


class NamedProfile(Declared):
    """One file of ``profiles/named/``."""

    name: str
    help: str
    profile: str


class Components(Protocol):
    """Components by name; a replica is resolved for the group component it attaches to."""

    def names(self) -> list[str]:
        """Every component's name."""
        ...

    def aliases(self) -> Mapping[str, str]:
        """Alias → the component's name."""
        ...

    def get(self, name: str, group_component: str | None = None) -> Component:
        """The component; if it is based on its group's component, resolved for that one."""
        ...


@dataclass(frozen=True)
class Library:
    """Everything a profile can name."""

    components: Components
    settings: Mapping[str, Setting]
    named: Mapping[str, NamedProfile]
    catalog: Catalog

    def words(self) -> list[str]:
        """Every word that can be a term, for did-you-mean."""
        words = {*self.components.names(), *self.components.aliases(), *self.settings, *self.named}
        return sorted(words - {"client"})
