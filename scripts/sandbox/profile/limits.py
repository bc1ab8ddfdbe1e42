"""What CPUS=, MEMORY= and DISK= give each node: a value for all servers, others for named nodes."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.profile.plan import Node, Plan, PlanRequest

FILE_SYSTEMS = ("ext4", "xfs", "btrfs")
"""Kinds of file systems that a disk of its own can have."""
_PLAIN_PROFILE = "mysql@9.7"
_SMALLEST_DISK = 1 << 30
_SHIFTS = {"m": 20, "g": 30, "t": 40}
_PLACED = re.compile(
    rf"(?:(?P<place>(?!(?:{'|'.join(FILE_SYSTEMS)}):)[a-z][a-z0-9-]*):)?(?P<value>.*)", re.DOTALL
)
"""A file system stands before a colon as well, and no component has its name."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One variable, taken apart: ``1 galera2:0.5`` is 1 for every server, and 0.5 for galera2.

    ``values``: by node or component; None stands for every server that has no other value.
    """

    variable: str
    values: dict[str | None, str]

    @property
    def places(self) -> list[str]:
        """The nodes and components that it names."""
        return [place for place in self.values if place]

    def place_of(self, node: Node) -> str | None:
        """Under what a node has its value: its name, else its component's; None: as every server.

        A service beside a component's own, such as a checker, has no limit of that component.
        """
        is_main = node.service == node.component.name
        names = [node.name, node.component.name] if is_main else [node.name]
        return next((name for name in names if name in self.values), None)

    def of(self, node: Node) -> str | None:
        """The value for a node; None: no limit."""
        place = self.place_of(node)
        if place is None and not node.is_server:
            return None
        return self.values.get(place)


def read_limit(variable: str, text: str | None) -> Limit:
    """A limit as typed, values separated by blanks.

    Raises SandboxError (exit 2) for two values in one place; what a value is, is not checked.
    """
    values: dict[str | None, str] = {}
    for piece in (text or "").split():
        match = _PLACED.fullmatch(piece)
        if match is None:
            raise AssertionError(f"{piece!r} is no text")
        place = match["place"]
        if place in values:
            who = place or "every database node"
            known = "one for all of them, and one with a name before it: 1 galera2:0.5"
            what = f"{variable}={text} has two values for {who}"
            raise SandboxError(what, known, _up(f"{variable}='{values[place]}'"))
        values[place] = match["value"]
    return Limit(variable, values)


def limits_of(request: PlanRequest, node: Node) -> dict[str, str]:
    """The keys of a node's Compose service that limit it."""
    limits = {
        "cpus": read_limit("CPUS", request.cpus).of(node),
        "cpuset": request.cpuset if node.is_server else None,
        "mem_limit": read_limit("MEMORY", request.memory).of(node),
    }
    return {name: value for name, value in limits.items() if value}


def disk_of(request: PlanRequest, node: Node) -> str | None:
    """The disk of a node's data directory, such as ``ext4:4g``; None: the engine's."""
    return read_limit("DISK", request.disk).of(node) if node.is_server else None


def requested_limits(request: PlanRequest) -> list[Limit]:
    """Every limit that takes the name of a node."""
    given = {"CPUS": request.cpus, "MEMORY": request.memory, "DISK": request.disk}
    return [read_limit(variable, text) for variable, text in given.items() if text]


def refuse_unknown_places(plan: Plan) -> None:
    """Raises SandboxError (exit 2) for a limit of a node that the plan does not have, or a disk of
    one without a data directory.
    """
    for limit in requested_limits(plan.request):
        possible = plan.databases if limit.variable == "DISK" else plan.nodes
        used = {limit.place_of(node) for node in possible}
        for place in limit.places:
            if place in used:
                continue
            every = {node.name for node in possible}
            every |= {
                node.component.name for node in possible if node.service == node.component.name
            }
            kind = "database node" if limit.variable == "DISK" else "node"
            what = f"{limit.variable}: '{place}' is no {kind} of the profile {plan.profile}"
            step = f"try: make plan PROFILE={plan.profile}   (lists its nodes)"
            raise SandboxError(what, did_you_mean(place, every), step)


def check_limits(
    cpus: str | None, memory: str | None, cpuset: str | None = None, disk: str | None = None
) -> None:
    """Refuses a ``CPUS=``, ``MEMORY=``, ``cpuset`` or ``DISK=`` that no engine accepts."""
    _check_each("CPUS", cpus, _check_cpus)
    _check_each("MEMORY", memory, _check_memory)
    if cpuset is not None and not re.fullmatch(r"\d+(-\d+)?(,\d+(-\d+)?)*", cpuset):
        raise SandboxError(
            f"cpuset: '{cpuset}' is not a valid list of CPUs",
            "such as 0 or 0-1,3",
            "try: cpuset: 0-1",
        )
    _check_each("DISK", disk, parse_disk)


def _check_each(variable: str, text: str | None, check: Callable[[str, str], object]) -> None:
    """Calls ``check`` with every value, and with the value as it was typed."""
    if text is None:
        return
    values = read_limit(variable, text).values or {None: text}
    for place, value in values.items():
        check(value, f"{place}:{value}" if place else value)


def _up(variable: str) -> str:
    return f"try: make up PROFILE={_PLAIN_PROFILE} {variable}"


def _check_cpus(value: str, typed: str) -> None:
    if not re.fullmatch(r"\d+(\.\d+)?", value):
        raise SandboxError(
            f"CPUS={typed} is not a number of CPUs", "such as 1 or 0.5", _up("CPUS=1")
        )
    if float(value) <= 0:
        raise SandboxError(
            f"CPUS={typed} leaves a server no CPU", "such as 1 or 0.5", _up("CPUS=0.5")
        )


def _check_memory(value: str, typed: str) -> None:
    if not re.fullmatch(r"\d+[kmgKMG]?[bB]?", value):
        raise SandboxError(
            f"MEMORY={typed} is not a valid amount of memory",
            "such as 512m or 2g",
            _up("MEMORY=1g"),
        )


def parse_disk(text: str, typed: str | None = None) -> tuple[str, int]:
    """File system and bytes of a disk, such as ``ext4:4g``; ``typed``: with the name before it.

    Raises SandboxError (exit 2) for an invalid one.
    """
    typed = typed or text
    match = re.fullmatch(rf"({'|'.join(FILE_SYSTEMS)}):(\d+)([mgt])", text.lower())
    if not match:
        known = f"a file system ({', '.join(FILE_SYSTEMS)}), a colon and a size, such as ext4:4g"
        raise SandboxError(f"DISK={typed} is not a valid disk", known, _up("DISK=ext4:4g"))
    size = int(match[2]) << _SHIFTS[match[3]]
    if size < _SMALLEST_DISK:
        what = f"DISK={typed} is too small for a data directory"
        raise SandboxError(what, "it has at least 1g", _up(f"DISK={match[1]}:4g"))
    return match[1], size
