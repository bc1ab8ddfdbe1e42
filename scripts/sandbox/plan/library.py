"""The planner's data: every component, setting, named profile and the catalog."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

from sandbox.plan.catalog import Catalog
from sandbox.plan.component import Component
from sandbox.plan.setting import NamedProfile, Setting


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
        hidden = {"client"}
        return sorted({*self.components.names(), *self.components.aliases(), *self.settings, *self.named} - hidden)
