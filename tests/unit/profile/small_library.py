"""A library small enough to keep in mind (small_library.yaml), and plans over it."""

from pathlib import Path
from typing import Any

import yaml

from sandbox.profile.images import Availability, Catalog
from sandbox.profile.library import Component, Library, NamedProfile, Setting
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan

ONLINE = Availability(registry=lambda: True)
"""Nothing is local, and a registry answers."""

_DATA: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())
CATALOG = Catalog.model_validate({"images": _DATA["catalog"]})


class SmallComponents:
    """Components by name; a replica is based on whatever its group's component maps to."""

    def names(self) -> list[str]:
        """Every component's name."""
        return sorted(_DATA["components"])

    def aliases(self) -> dict[str, str]:
        """Other word → the component's name."""
        return {
            alias: name
            for name, spec in _DATA["components"].items()
            for alias in spec.get("aliases", ())
        }

    def get(self, name: str, group_component: str | None = None) -> Component:
        """The component; where it is based on its group's component, that resolved."""
        spec = dict(_DATA["components"][name])
        if isinstance(spec.get("based_on"), dict) and group_component:
            spec["based_on"] = spec["based_on"].get(group_component)
        services = [] if spec["kind"] == "external" else [name, *spec.get("auxiliary", {})]
        return Component.model_validate({
            "name": name,
            "spec": spec,
            "services": dict.fromkeys(services, _DATA["service"]),
            "configs": {"own": {"file": "own.j2"}, "same": {"content": "costs $5\n"}},
            "volumes": {"data": {}, "shared": {"x-scope": "group"}},
            "files": {"own.j2": "{{ node.name }} {{ secrets.root }}\n"},
        })  # fmt: skip


SMALL = Library(
    components=SmallComponents(),
    settings={name: Setting(name=name, **data) for name, data in _DATA["settings"].items()},
    named={name: NamedProfile(name=name, **data) for name, data in _DATA["named"].items()},
    catalog=CATALOG,
)


def plan(profile: str, available: Availability = ONLINE, **request: Any) -> Plan:
    """The plan of a profile over the small library."""
    return make_plan(PlanRequest(profile, **request), SMALL, available)
