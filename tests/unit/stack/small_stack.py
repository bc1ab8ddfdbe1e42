"""Stacks of the small library on a fake engine."""

from typing import Any

from sandbox.profile.compose import compose_document, compose_text
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.inventory import containers
from sandbox.stack.naming import identity
from sandbox.stack.protocol import Event
from sandbox.stack.stack import Stack
from unit.profile.small_library import CATALOG, SMALL
from unit.profile.small_library import plan as planned
from unit.stack.fake_docker import FakeDocker

__all__ = ["CATALOG", "SMALL", "Events", "local_plan", "running_stack", "start"]


class Events(list[Event]):
    """Events in the order they came."""

    def __call__(self, event: Event) -> None:
        self.append(event)


def local_plan(profile: str, **request: Any) -> Plan:
    """A plan all of whose images are here."""
    wanted = {node.choice.reference.partition("@")[0] for node in planned(profile, **request).nodes}
    return planned(profile, Availability(local=frozenset(wanted)), **request)


def start(docker: FakeDocker, plan: Plan, name: str = "default") -> None:
    """The plan's Compose file, up on the fake engine."""
    who = identity(name)
    text = compose_text(compose_document(plan, PLACEHOLDER, who))
    docker.begin("compose", "-p", who.project, "-f", "-", "up", stdin=text)


def running_stack(docker: FakeDocker, profile: str, name: str = "default", **request: Any) -> Stack:
    """A stack of a profile, up."""
    start(docker, local_plan(profile, **request), name)
    return Stack(containers(docker, identity(name).project), docker)
