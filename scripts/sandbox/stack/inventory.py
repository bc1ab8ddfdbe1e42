"""Objects on the engine, found by label: containers, networks, volumes; of one stack or of all."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from sandbox.core.errors import natural_order
from sandbox.profile.names import Identity
from sandbox.stack.engine import Docker, Pending, RefusedError

if TYPE_CHECKING:  # Pydantic's models: a `sql` starts without them
    from sandbox.record.record import Inputs

LABEL = "sandbox.stack"
HELPER = "helper"
"""Kind of a container that is not one of the plan's nodes."""


def label_options(labels: Mapping[str, str]) -> list[str]:
    """The ``--label`` options of a command that creates something."""
    return [word for name, value in labels.items() for word in ("--label", f"{name}={value}")]


def owner_labels(owner: Identity, **more: str) -> dict[str, str]:
    """The labels of whatever belongs to a stack: `down` and `clean` find it by them."""
    own = {LABEL: owner.project, "sandbox.checkout": owner.checkout}
    return own | {f"sandbox.{name}": value for name, value in more.items()}


def owner_options(owner: Identity, **more: str) -> list[str]:
    """The ``--label`` options of such labels."""
    return label_options(owner_labels(owner, **more))


def helper_options(owner: Identity, **more: str) -> list[str]:
    """Options of a helper's container or network."""
    return owner_options(owner, kind=HELPER, **more)


def offline_options(owner: Identity, **more: str) -> list[str]:
    """Options of a helper's container without any network."""
    return ["--network", "none", *helper_options(owner, **more)]


_KINDS = ("database", "replica", "arbitrator", "proxy", "manager", "monitor", "client", HELPER)
_PLACES = {kind: place for place, kind in enumerate(_KINDS)}
"""Display order of a stack; other kinds come last."""
_LABELS = {"project": LABEL} | {
    name: f"sandbox.{name}"
    for name in ("checkout", "profile", "plan", "node", "kind", "about", "inputs", "forwards")
}
_FIELDS = {
    "id": "ID",
    "image": "Image",
    "state": "State",
    "status": "Status",
    "ports": "Ports",
    "created": "CreatedAt",
}
_PUBLISHED = re.compile(r"([0-9.]+):(\d+)(?:-\d+)?->(\d+)(?:-(\d+))?/tcp")


@dataclass(frozen=True)
class Container:
    """One container with our label. ``state`` is the engine's word: running, exited, created,
    paused, …
    """

    id: str
    node: str
    kind: str
    project: str
    checkout: str
    profile: str
    plan: str
    image: str
    state: str
    status: str
    created: str
    about: Mapping[str, Any] = field(default_factory=dict)
    inputs_label: str = ""
    """The user's inputs at ``up``, as JSON."""
    published: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    """Port inside → (host address, host port)."""
    forwards: Mapping[int, tuple[str, str]] = field(default_factory=dict)
    """A publisher's forwards: port inside → (node, name of its port)."""

    @cached_property
    def inputs(self) -> "Inputs":
        """The user's inputs at ``up``, as far as this version of the tool knows it."""
        # Late, for start-up time: Pydantic takes 60 ms, which a `sql` does without.
        from sandbox.record.record import Inputs

        given = json.loads(self.inputs_label or "{}")
        # A newer version of this tool, whose stack is on the same engine, may know of more.
        known = {name: value for name, value in given.items() if name in Inputs.model_fields}
        return Inputs.model_validate(known)

    @property
    def running(self) -> bool:
        """Whether its processes run."""
        return self.state == "running"

    @property
    def is_server(self) -> bool:
        """Whether it is a database server, which has a role."""
        return self.kind in ("database", "replica")

    @property
    def health(self) -> str | None:
        """``healthy``, ``unhealthy`` or ``starting``, as the Compose file's own health check
        reports it.
        """
        found = re.search(r"\((?:health: )?(healthy|unhealthy|starting)\)", self.status)
        return found[1] if found else None


@dataclass(frozen=True)
class Inventory:
    """The objects of some stacks: containers, and (id or name, project, checkout) of networks and
    volumes.
    """

    containers: tuple[Container, ...] = ()
    networks: tuple[tuple[str, str, str], ...] = ()
    volumes: tuple[tuple[str, str, str], ...] = ()

    @property
    def empty(self) -> bool:
        """Whether nothing at all is left."""
        return not (self.containers or self.networks or self.volumes)

    def projects(self) -> dict[str, str]:
        """Project → checkout of everything found."""
        found = {container.project: container.checkout for container in self.containers}
        return found | {
            project: checkout for _, project, checkout in (*self.networks, *self.volumes)
        }

    def leftovers(self) -> dict[str, str]:
        """Project → checkout of stacks that a crash left behind: parts exist, but no container is
        running.
        """
        alive = {container.project for container in self.containers if container.running}
        return {
            project: checkout
            for project, checkout in self.projects().items()
            if project not in alive
        }


def containers(docker: Docker, project: str | None = None) -> tuple[Container, ...]:
    """Every container of a stack (None: of all stacks), in one call."""
    return _containers(_begin_containers(docker, project))


def inventory(docker: Docker, project: str | None = None) -> Inventory:
    """The objects of a stack (None: of all stacks), in three parallel calls. SandboxError (exit 4)
    without an engine.
    """
    pending = _begin_containers(docker, project)
    networks = _begin_things(docker, "network", "ID", project)
    volumes = _begin_things(docker, "volume", "Name", project)
    return Inventory(_containers(pending), _things(networks), _things(volumes))


def _begin_containers(docker: Docker, project: str | None) -> Pending:
    return _begin(docker, ("ps", "--all", "--no-trunc"), project, _FIELDS, _LABELS)


def _begin_things(docker: Docker, kind: str, name: str, project: str | None) -> Pending:
    labels = {label: _LABELS[label] for label in ("project", "checkout")}
    return _begin(docker, (kind, "ls"), project, {"id": name}, labels)


def _begin(
    docker: Docker,
    command: Sequence[str],
    project: str | None,
    fields: Mapping[str, str],
    labels: Mapping[str, str],
) -> Pending:
    """A list of a project's things (None: of all), each a line of JSON: name → the engine's field,
    or a label.
    """
    parts = [f'"{name}":{{{{json .{value}}}}}' for name, value in fields.items()]
    parts += [f'"{name}":{{{{json (.Label "{value}")}}}}' for name, value in labels.items()]
    wanted = f"label={LABEL}={project}" if project else f"label={LABEL}"
    return docker.begin(*command, "--filter", wanted, "--format", "{" + ",".join(parts) + "}")


def _things(pending: Pending) -> tuple[tuple[str, str, str], ...]:
    return tuple((row["id"], row["project"], row["checkout"]) for row in _rows(pending))


def _containers(pending: Pending) -> tuple[Container, ...]:
    found = [_container(row) for row in _rows(pending)]
    return tuple(sorted(found, key=_display_order))


def _display_order(container: Container) -> tuple[Any, ...]:
    place = _PLACES.get(container.kind, len(_PLACES))
    return container.project, place, natural_order(container.node)


def _rows(pending: Pending) -> list[dict[str, str]]:
    return [json.loads(line) for line in pending.output().splitlines()]


def _container(row: Mapping[str, str]) -> Container:
    return Container(
        id=row["id"],
        node=row["node"],
        kind=row["kind"],
        project=row["project"],
        checkout=row["checkout"],
        profile=row["profile"],
        plan=row["plan"],
        image=row["image"],
        state=row["state"],
        status=row["status"],
        created=row["created"],
        about=json.loads(row["about"] or "{}"),
        inputs_label=row["inputs"],
        published=published_ports(row["ports"]),
        forwards={
            int(port): tuple(target) for port, target in json.loads(row["forwards"] or "{}").items()
        },
    )


def published_ports(text: str) -> dict[int, tuple[str, int]]:
    """``127.0.0.1:49153-49154->10000-10001/tcp`` (adjacent ports: a range) → port inside → (host
    address, port).
    """
    found = {}
    for host, outer, first, last in _PUBLISHED.findall(text):
        for number in range(int(last or first) - int(first) + 1):
            found[int(first) + number] = (host, int(outer) + number)
    return found


def death(docker: Docker, container: Container) -> str:
    """Why a container is not running: ``exited (137), out of memory``, ``created``, ``gone``.

    Raises SandboxError (exit 4) where the engine does not answer: that is no sign of a death.
    """
    state: dict[str, Any] | None = inspected(docker, container.id, "{{json .State}}")
    if state is None:
        return "gone"
    code = f" ({state['ExitCode']})" if state["Status"] in ("exited", "dead") else ""
    memory = ", out of memory" if state.get("OOMKilled") else ""
    error = f": {state['Error']}" if state.get("Error") else ""
    return f"{state['Status']}{code}{memory}{error}"


def inspected(docker: Docker, container: str, template: str) -> Any:
    """The engine's facts about a container; None where it is gone."""
    argv = ("inspect", "--format", template, container)
    answer = docker.answer(*argv)
    if answer.code == 0:
        return json.loads(answer.stdout)
    if ABSENT.search(answer.stderr):
        return None
    raise RefusedError(argv, answer)


ABSENT = re.compile(r"no such (object|container)|removal .* already in progress", re.IGNORECASE)
"""The engine's words about a container that is gone."""
