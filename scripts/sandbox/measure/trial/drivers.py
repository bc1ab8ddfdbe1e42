"""The drivers that a trial can measure: one folder each in images/drivers/, with its declaration
and its program.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

import yaml
from pydantic import Field, ValidationError

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.paths import CHECKOUT, broken_file
from sandbox.profile.images import Declared
from sandbox.stack.protocol import EntryPoint, StackNode

DRIVERS = CHECKOUT / "images" / "drivers"
IMAGE = "drivers"
"""Key in images/catalog.yaml of the image that has them all."""
ONE = "one"
"""The mode that every driver has: one address."""
HOST_LIST = "host-list"
"""Stands for the first mode of a driver that takes a list of servers."""
EXAMPLE = "try: make trial FAULT=server-crash DRIVER=connector-j:sequential"
LIST = "try: make list WHAT=drivers"
NOT_PACKAGED = {
    "mysql-connector-j": "MySQL Connector/J is in no suite of Debian; connector-j is MariaDB's",
    "mysql2": "Node's mysql2 is in no suite of Debian; node-mysql is mysqljs/mysql",
    "node-mariadb": "Node's mariadb is in no suite of Debian; node-mysql is mysqljs/mysql",
    "trilogy": "Ruby's trilogy is in no suite of Debian; ruby-mysql2 is mysql2",
    "mysqlconnector-net": "Debian has no .NET and none of its connectors",
    "sqlx": "Debian has Rust's libraries as sources alone; nothing here builds them",
}
"""Names of drivers that users may look for, each with the reason why it is not here."""


class DriverMode(Declared):
    """One way in which a driver can be set up, besides that with one address."""

    help: str
    servers: Literal["one", "several"]
    """``several``: it takes the list of all servers."""


class DriverSpec(Declared):
    """The declaration of a driver, ``driver.yaml`` in its folder (docs/drivers.md)."""

    help: str
    packages: tuple[str, ...]
    """Debian packages that its program runs with."""
    build_packages: tuple[str, ...] = ()
    build: str | None = None
    """A shell command that compiles the program, in its folder."""
    run: tuple[str, ...] = Field(min_length=1)
    concurrent: bool = False
    """Whether one process carries out statements at the same time, from a pool of its own; else
    each process has one connection.
    """
    refuses: Mapping[Literal["mysql", "mariadb"], str] = Field(default_factory=dict)
    """Family of servers that it cannot connect to → why."""
    modes: Mapping[str, DriverMode] = Field(default_factory=dict)

    @property
    def mode_names(self) -> list[str]:
        """Every mode, that with one address first."""
        return [ONE, *self.modes]

    @property
    def list_modes(self) -> list[str]:
        """The modes that take a list of servers."""
        return [name for name, mode in self.modes.items() if mode.servers == "several"]


@cache
def every_driver(folder: Path = DRIVERS) -> Mapping[str, DriverSpec]:
    """Name → declaration of all drivers. Raises SandboxError (exit 5) for a file that is none."""
    paths = sorted(folder.glob("*/driver.yaml"))
    return {path.parent.name: _read(path) for path in paths}


def _read(path: Path) -> DriverSpec:
    try:
        return DriverSpec.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (yaml.YAMLError, ValidationError) as problem:
        raise broken_file(path, f"{path} is not a valid driver", str(problem)) from problem


@dataclass(frozen=True, slots=True)
class DriverChoice:
    """A driver in one of its modes."""

    name: str
    mode: str
    spec: DriverSpec

    @property
    def takes_list(self) -> bool:
        """Whether it gets the list of all servers."""
        return self.mode in self.spec.list_modes

    @property
    def folder(self) -> str:
        """Folder of its program in the image."""
        return f"/drivers/{self.name}"

    def __str__(self) -> str:
        """As it is typed."""
        return self.name if self.mode == ONE else f"{self.name}:{self.mode}"

    def hosts(self, servers: Sequence[tuple[str, int]], entry: EntryPoint) -> list[tuple[str, int]]:
        """(node, port) that it connects to: all ``servers``, that of the entry point first, or the
        entry point alone.
        """
        return list(servers) if self.takes_list else [(entry.node, entry.port)]

    def refuse_unfit(self, nodes: Sequence[StackNode], entry: EntryPoint) -> None:
        """Raises SandboxError (exit 2) for a stack with which it cannot work."""
        group = [node for node in nodes if node.group_index == entry.group_index]
        self.refuse_servers({node.family for node in group if node.is_server})
        at = next((node for node in nodes if node.name == entry.node), None)
        servers = sum(node.is_server for node in group)
        self.refuse_entry(at is not None and at.kind == "proxy", servers, entry.via)

    def refuse_servers(self, families: set[str | None]) -> None:
        """Raises SandboxError (exit 2) for a family of servers that it cannot connect to."""
        for family, why in self.spec.refuses.items():
            if family in families:
                what = f"the driver {self.name} does not work with servers of the family {family}"
                step = "try: make up PROFILE=galera3+haproxy   (then the same command)"
                raise SandboxError(what, why, step)

    def refuse_entry(self, through_proxy: bool, servers: int, via: str | None) -> None:
        """Raises SandboxError (exit 2) for a list of servers where there is no list."""
        if not self.takes_list:
            return
        what = f"the driver {self} takes a list of servers"
        if through_proxy:
            known = f"the entry point {via or 'of this stack'} is a proxy, which is one address"
            raise SandboxError(what, known, f"try: make trial DRIVER={self} VIA=writer FAULT=…")
        if servers < 2:
            known = "the group of the entry point has one server"
            raise SandboxError(what, known, f"try: make trial DRIVER={self.name} FAULT=…")


def driver_asked(text: str, mode: str | None = None, folder: Path = DRIVERS) -> DriverChoice:
    """The driver that ``name`` or ``name:mode`` means; ``mode``: beside a name without one.

    Raises SandboxError (exit 2) for an unknown driver, one that Debian does not package, and a mode
    that it does not have.
    """
    name, colon, typed = text.partition(":")
    if colon and mode and typed != mode:
        what = f"DRIVER={text} and the mode {mode} contradict each other"
        raise SandboxError(what, "one of them is enough", EXAMPLE)
    known = every_driver(folder)
    if name in NOT_PACKAGED and name not in known:
        raise SandboxError(f"the driver '{name}' is not packaged", NOT_PACKAGED[name], LIST)
    if name not in known:
        raise SandboxError(f"there is no driver '{name}'", did_you_mean(name, known), LIST)
    wanted = typed if colon else mode or ONE
    return DriverChoice(name, _mode_of(name, known[name], wanted), known[name])


def _mode_of(name: str, spec: DriverSpec, wanted: str) -> str:
    """The name of a mode, `HOST_LIST` resolved."""
    if wanted in spec.mode_names:
        return wanted
    step = f"try: make trial FAULT=server-crash DRIVER={name}"
    if wanted == HOST_LIST and spec.list_modes:
        return spec.list_modes[0]
    if wanted == HOST_LIST:
        lists = [each for each, other in every_driver().items() if other.list_modes]
        known = f"it takes one address; a list of hosts: {', '.join(lists)}"
        raise SandboxError(f"the driver {name} takes no list of hosts", known, step)
    known = f"its modes: {', '.join(spec.mode_names)}"
    raise SandboxError(f"the driver {name} has no mode '{wanted}'", known, step)
