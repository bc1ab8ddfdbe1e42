"""Takes snapshots: of a formed stack, idle or stopped; of one server's first start, as its base
data directory.
"""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.profile.compose import compose_document, plan_hash
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan
from sandbox.stack.create import node_archive, unescaped
from sandbox.stack.engine import Docker, begin_stream
from sandbox.stack.inventory import Container, helper_options, owner_options
from sandbox.stack.locks import unchanged
from sandbox.stack.secrets import draw_secrets
from sandbox.stack.snapshots import store
from sandbox.stack.snapshots.restore import usable
from sandbox.stack.snapshots.store import CopyHelper, Facts, copy_mounts, copy_stopped
from sandbox.stack.stack import Stack

_PAUSE = files(__package__).joinpath("pause.sh").read_text(encoding="utf-8")
_POSITION = """
select group_concat(variable_value order by variable_name desc separator ':') from information_schema.global_status
where variable_name in ('wsrep_local_state_uuid', 'wsrep_last_committed')
"""  # noqa: E501
_OWN_TABLES = """
select count(*) from information_schema.tables where table_schema not in
('mysql', 'sys', 'information_schema', 'performance_schema', 'sandbox', 'query_rewrite',
'mysql_innodb_cluster_metadata')
"""


@dataclass(frozen=True, slots=True)
class Wish:
    """A snapshot to take. ``fresh``: of a stack without user data; else its data is kept too."""

    key: str
    uuid: str
    fresh: bool


def take(stack: Stack, wish: Wish) -> Facts | None:
    """Takes the snapshot into the snapshot store; None where the stack has been changed, or has
    unexpected data.

    The caller holds the stack's lock. Raises SandboxError (exit 4) where the engine or the disk
    fails.
    """
    capture = _Capture(stack, wish)
    if not capture.as_wished():
        return None
    with store.claim([wish.key]) as ours:
        return capture.stored(capture.of_idle_servers) if ours else None


def take_stopped(stack: Stack, wish: Wish) -> None:
    """Shuts a stack's servers down cleanly, so that nothing is left to write or recover, and keeps
    their data.

    The caller has claimed the snapshot, and removes the stack. Raises SandboxError (exit 4) where
    the engine or the disk fails.
    """
    capture = _Capture(stack, wish)
    _part_members(stack, capture.servers)
    stack.docker.ask("stop", *(each.id for each in capture.servers))
    capture.stored(capture.of_stopped_servers)


def _part_members(stack: Stack, servers: Sequence[Container]) -> None:
    """Galera's members no longer reach each other.

    One that leaves in order is a new view, which counts as a transaction at those that stay.
    Restored, whoever lacks it would be sent the whole data (SST).
    """
    members = [each for each in servers if each.about.get("topology") == "galera"]
    network = f"{stack.project}_stack"
    begun = [
        stack.docker.begin("network", "disconnect", "--force", network, each.id) for each in members
    ]
    for each in begun:
        each.output()


class _Capture:
    """A snapshot of a stack in the making."""

    def __init__(self, stack: Stack, wish: Wish) -> None:
        self.stack = stack
        self.wish = wish
        self.servers = [each for each in stack.members if each.is_server]
        ids = [each.id for each in (stack.client, *self.servers)]
        client, *inspected = json.loads(stack.docker.ask("container", "inspect", *ids))
        self.copier = str(client["Image"])
        self.images = {str(item["Config"]["Image"]): str(item["Image"]) for item in inspected}
        self.volumes = _volumes(stack, inspected)
        self.sources = {name: f"{stack.project}_{name}" for name in self.volumes}

    def stored(self, copy: Callable[[], Facts | None]) -> Facts | None:
        """Puts into the snapshot store what one of the two methods below copies."""
        return store.make(
            self.stack.docker, self.wish.key, self.stack.profile, self.stack.checkout, copy
        )

    def of_idle_servers(self) -> Facts | None:
        """Pauses the servers for the end of the copy; None where one wrote meanwhile or could not
        be paused.
        """
        names = list(self.sources)
        mounts = copy_mounts(self.wish.key, self.sources)
        with CopyHelper(
            self.stack.docker, self.copier, self.stack.identity, mounts, in_background=True
        ) as helper:
            helper.ask("first", names)
            with unchanged(self.stack.project) as is_unchanged:
                positions = None
                if is_unchanged:
                    positions = self._positions_of_pause(lambda: helper.ask("second", names))
            if positions is None or not self.as_wished():
                return None
            return self._facts(positions, helper.ask("finish", names) or 0)

    def _positions_of_pause(self, copy: Callable[[], object]) -> dict[str, str | None] | None:
        """Copies while the servers are paused; their positions then, None where there is no such
        moment.
        """
        before = self._positions()
        with _paused(self.servers) as all_are:
            if not all_are:
                return None
            copy()
        return before if before == self._positions() else None

    def as_wished(self) -> bool:
        """Whether the servers have no data of a user, where the snapshot is to be of such a
        stack.
        """
        return not self.wish.fresh or all(
            self.ask(each, _OWN_TABLES) == "0" for each in self.servers
        )

    def of_stopped_servers(self) -> Facts:
        """Their position is in their data."""
        size = copy_stopped(
            self.stack.docker, self.copier, self.stack.identity, self.wish.key, self.sources
        )
        return self._facts(dict.fromkeys(each.node for each in self.servers), size)

    def _facts(self, positions: dict[str, str | None], size: int) -> Facts:
        return Facts(
            key=self.wish.key,
            profile=self.stack.profile,
            checkout=self.stack.checkout,
            images=self.images,
            uuid=self.wish.uuid,
            positions=positions,
            volumes=self.volumes,
            bytes=size,
            made_unix_s=time.time(),
        )

    def _positions(self) -> dict[str, str | None]:
        """UUID:SEQNO of every Galera member, None for any other server."""
        return {
            each.node: self.ask(each, _POSITION) if each.about.get("topology") == "galera" else None
            for each in self.servers
        }

    def ask(self, server: Container, statement: str) -> str:
        """The answer of a server's own client."""
        argv = [
            server.about["sql_client"],
            "--defaults-file=/sandbox/client.cnf",
            "-NB",
            "-e",
            statement,
        ]
        return self.stack.run(server.node, argv).stdout.strip()


@contextmanager
def _paused(servers: Sequence[Container]) -> Iterator[bool]:
    """Pauses every server for the block; they run again after it, even if this process is killed
    meanwhile.

    Gives whether all of them are paused.
    """
    guard = begin_stream(["sh", "-c", _PAUSE, "sh", *(each.id for each in servers)], stdin=True)
    try:
        yield next(guard.lines(), "").strip() == "paused"
    finally:
        guard.close_stdin()
        guard.wait()


def _volumes(stack: Stack, inspected: Sequence[Mapping]) -> dict[str, str]:  # type: ignore[type-arg]
    """Compose's name of every volume that is a server's own → its node; volumes that a group shares
    start empty.
    """
    nodes = {each.id: each.node for each in stack.members}
    found = {}
    for item in inspected:
        node = nodes[item["Id"]]
        for mount in item["Mounts"]:
            name = str(mount.get("Name", "")).removeprefix(f"{stack.project}_")
            if mount["Type"] == "volume" and name.startswith(f"{node}-"):
                found[name] = node
    return found


_NODE = "base1"
_UNTIL_READY = "for i in $(seq 600); do sh /sandbox/probe ready && exit 0; sleep 0.2; done; exit 1"


def ensure_base_directory(docker: Docker, plan: Plan, identity: Identity) -> Facts | None:
    """Makes the base data directory that a plan of one server stands for; None if it exists or is
    being made.

    Everything it starts has the label of the stack of ``identity``, whose lock the caller holds,
    and is removed afterwards. Raises SandboxError (exit 4) where the server does not start, or the
    engine or the disk fails.
    """
    key = plan_hash(plan)
    with store.claim([key]) as ours:
        if not ours or usable(docker, plan) is not None:
            return None
        server = _FirstStart(docker, plan, identity)
        try:
            server.run_to_its_end()
            return store.make(docker, key, plan.profile, identity.checkout, server.copied)
        finally:
            server.remove()


class _FirstStart:
    """One server on its own volumes."""

    def __init__(self, docker: Docker, plan: Plan, identity: Identity) -> None:
        self.docker = docker
        self.plan = plan
        self.identity = identity
        self.node = plan.databases[0]
        self.secrets = draw_secrets(plan)
        self.document = compose_document(plan, self.secrets, identity)
        self.service: Mapping[str, Any] = self.document["services"][self.node.name]
        self.targets = dict(str(entry).split(":")[:2] for entry in self.service["volumes"])
        self.sources = {name: f"{identity.project}_{_NODE}-{name}" for name in self.targets}
        """Name in the snapshot → volume."""
        self.container = ""

    def run_to_its_end(self) -> None:
        """Starts the server for the first time, until it answers, and shuts it down cleanly."""
        for volume in self.sources.values():
            self.docker.ask("volume", "create", *owner_options(self.identity), volume)
        self.container = self.docker.ask("create", *self._words_of_create()).strip()
        self.docker.ask(
            "cp", "-", f"{self.container}:/", stdin=node_archive(self.document, self.node.name, 0)
        )
        self.docker.ask("start", self.container)
        self.docker.ask("exec", self.container, "sh", "-c", _UNTIL_READY)
        self.docker.ask("stop", "--time", "60", self.container)
        code = self.docker.ask("inspect", "--format", "{{.State.ExitCode}}", self.container).strip()
        if code != "0":
            raise MachineError(
                f"{self.node.image} did not shut down cleanly",
                f"exit code {code}",
                "try: make doctor",
            )

    def _words_of_create(self) -> list[str]:
        options = ["--network", "none", "--hostname", self.node.name]
        options += helper_options(self.identity, node=_NODE)
        options += store.BACKGROUND
        if "user" in self.service:
            options += ["--user", self.service["user"]]
        for name, value in self.service.get("environment", {}).items():
            options += ["--env", unescaped(f"{name}={value}")]
        for name, target in self.targets.items():
            options += ["--volume", f"{self.sources[name]}:{target}"]
        entrypoint = [unescaped(word) for word in self.service.get("entrypoint", [])]
        if entrypoint:
            options += ["--entrypoint", entrypoint[0]]
        command = [unescaped(word) for word in self.service.get("command", [])]
        return [*options, self.node.image, *entrypoint[1:], *command]

    def copied(self) -> Facts:
        """Copies the directory as a snapshot of the plan."""
        key = plan_hash(self.plan)
        size = copy_stopped(self.docker, self.plan.client.image, self.identity, key, self.sources)
        image_id = self.docker.ask(
            "image", "inspect", "--format", "{{.Id}}", self.node.image
        ).strip()
        return Facts(
            key=key,
            profile=self.plan.profile,
            checkout=self.identity.checkout,
            images={self.node.image: image_id},
            uuid=self.secrets.uuid,
            positions={self.node.name: None},
            bytes=size,
            made_unix_s=time.time(),
            volumes=dict.fromkeys(self.sources, self.node.name),
        )

    def remove(self) -> None:
        """Removes the container and its volumes."""
        if self.container:
            self.docker.answer("rm", "--force", self.container)
        self.docker.answer("volume", "rm", "--force", *self.sources.values())
