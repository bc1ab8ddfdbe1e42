"""Every stack that a component can be part of, and its Compose file with placeholders for
passwords.
"""

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile import compose
from sandbox.profile.images import Availability
from sandbox.profile.library import Component
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER

CHECKOUT = Path(__file__).resolve().parents[2]
LIBRARY = load_library(CHECKOUT)
COMPONENTS = LIBRARY.components.names()
EXTERNAL = "mysql://user@db.example.net:3306/sbtest"
SECRETS = [*PLACEHOLDER.passwords(), PLACEHOLDER.server_key, PLACEHOLDER.ssh_key]
"""What must be seen by the user of a container alone."""

_ONLINE = Availability(registry=lambda: True)
_IDENTITY = Identity("sandbox-default-abcdef", "/checkout")


@cache
def plan(profile: str) -> Plan:
    """The plan of a profile where every published image can be had."""
    external = EXTERNAL if "external" in profile else None
    return make_plan(PlanRequest(profile, external=external), LIBRARY, _ONLINE)


@cache
def document(profile: str) -> dict[str, Any]:
    """The Compose file of a profile; without its hash, for which all of it would be rendered once
    more.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(compose, "plan_hash", lambda _: "0" * 12)
        return compose.compose_document(plan(profile), PLACEHOLDER, _IDENTITY)


@cache
def refusal(profile: str) -> SandboxError | None:
    """Why a profile is refused, or None."""
    try:
        plan(profile)
    except SandboxError as refused:
        return refused
    return None


def component(name: str) -> Component:
    """A component as it stands in its folder."""
    return LIBRARY.components.get(name)


def databases() -> list[str]:
    """Components that open a group of servers."""
    return [name for name in COMPONENTS if component(name).spec.kind == "database"]


def series_of(name: str) -> list[str]:
    """Series that a component works with, by its image."""
    image = LIBRARY.catalog.images[component(name).spec.image or name]
    return [series for series in image.series if refusal(f"{name}@{series}") is None]


def versions_of(name: str) -> Iterator[str]:
    """Terms of a database component: each series, each exact tag that another repository has, its
    counts.
    """
    image = LIBRARY.catalog.images[component(name).spec.image or name]
    yield from (f"{name}@{series}" for series in series_of(name))
    tags = [tag for series in image.series.values() for tag in series.tags]
    yield from (f"{name}@{tag}" for tag in tags if refusal(f"{name}@{tag}") is None)
    yield from (f"{name}{count}" for count in (1, 2, 5))


def profiles_with(name: str) -> Iterator[str]:
    """Profiles that hold a component, for every group it can stand behind and every version of
    that.
    """
    spec = component(name).spec
    if spec.kind == "external":
        yield name
    elif spec.kind == "database":
        yield from versions_of(name)
    elif spec.attaches == "stack" and spec.kind != "client":
        yield from (f"{database}+{name}" for database in databases())
        yield f"mysql+mariadb+{name}"
    elif spec.attaches == "group":
        yield from _behind_groups(name)
    else:
        yield "mysql"


def _behind_groups(name: str) -> Iterator[str]:
    for database in databases():
        candidates = [f"{term}+{name}" for term in versions_of(database)]
        candidates += [
            f"{database}+{name}2",
            f"{database}+replica2+{name}",
            f"{database}+{name}+replica",
        ]
        yield from (profile for profile in candidates if refusal(profile) is None)
