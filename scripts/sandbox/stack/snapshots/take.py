"""Takes a snapshot of a formed, idle stack: one pass while it runs, the rest while it is briefly paused."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.stack.inventory import Container
from sandbox.stack.snapshots import store
from sandbox.stack.snapshots.helper import CopyHelper, copy_stopped, snapshot_mount
from sandbox.stack.snapshots.store import Facts
from sandbox.stack.stack import Stack, is_server

_PAUSED = """
for id; do docker pause "$id" >/dev/null & done; wait
echo paused
read -r _
for id; do docker unpause "$id" >/dev/null & done; wait
"""
"""Unpauses when its input ends, also because its parent was killed."""

_POSITION = """
select group_concat(variable_value order by variable_name desc separator ':') from information_schema.global_status
where variable_name in ('wsrep_local_state_uuid', 'wsrep_last_committed')
"""
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
    """Takes the snapshot into the snapshot store; None where the stack is not idle, or has unexpected data.

    The caller holds the stack's lock. Raises SandboxError (exit 4) where the engine or the disk fails.
    """
    capture = _Capture(stack, wish)
    if wish.fresh and any(capture.ask(each, _OWN_TABLES) != "0" for each in capture.servers):
        return None
    with store.claim([wish.key]) as ours:
        return capture.stored(capture.of_idle_servers) if ours else None


def take_stopped(stack: Stack, wish: Wish) -> None:
    """Shuts a stack's servers down cleanly, so that nothing is left to write or recover, and keeps their data.

    The caller has claimed the snapshot, and removes the stack. Raises SandboxError (exit 4) where the engine or the
    disk fails.
    """
    capture = _Capture(stack, wish)
    stack.docker.ask("stop", *(each.id for each in capture.servers))
    capture.stored(capture.of_stopped_servers)


class _Capture:
    """A snapshot of a stack in the making."""

    def __init__(self, stack: Stack, wish: Wish) -> None:
        self.stack, self.wish = stack, wish
        self.servers = [each for each in stack.members if is_server(each)]
        ids = [each.id for each in (stack.client, *self.servers)]
        client, *inspected = json.loads(stack.docker.ask("container", "inspect", *ids))
        self.copier = str(client["Image"])
        self.images = {str(item["Config"]["Image"]): str(item["Image"]) for item in inspected}
        self.volumes = _volumes(stack, inspected)
        self.mounts = [snapshot_mount(store.volume_name(wish.key))]
        self.mounts += [f"{stack.project}_{name}:/from/{name}:ro" for name in self.volumes]

    def stored(self, copy: Callable[[], Facts | None]) -> Facts | None:
        """Puts into the snapshot store what one of the two methods below copies."""
        return store.make(self.stack.docker, self.wish.key, self.stack.profile, self.stack.checkout, copy)

    def of_idle_servers(self) -> Facts | None:
        """Pauses the servers for the end of the copy; None where one of them wrote meanwhile."""
        names = list(self.volumes)
        with CopyHelper(self.stack.docker, self.copier, self.stack.identity, self.mounts) as helper:
            helper.ask("first", names)
            before = self._positions()
            with _paused(self.servers):
                helper.ask("second", names)
            if before != self._positions():
                return None
            return self._facts(before, helper.ask("finish", names) or 0)

    def of_stopped_servers(self) -> Facts:
        """Their position is in their data."""
        size = copy_stopped(self.stack.docker, self.copier, self.stack.identity, self.mounts)
        return self._facts(dict.fromkeys(each.node for each in self.servers), size)

    def _facts(self, positions: dict[str, str | None], size: int) -> Facts:
        return Facts(
            key=self.wish.key, profile=self.stack.profile, checkout=self.stack.checkout, images=self.images,
            uuid=self.wish.uuid, positions=positions, volumes=self.volumes, bytes=size, made_unix_s=time.time(),
        )  # fmt: skip

    def _positions(self) -> dict[str, str | None]:
        """UUID:SEQNO of every Galera member, None for any other server."""
        return {
            each.node: self.ask(each, _POSITION) if each.about.get("topology") == "galera" else None
            for each in self.servers
        }

    def ask(self, server: Container, statement: str) -> str:
        """The answer of a server's own client."""
        argv = [server.about["sql_client"], "--defaults-file=/sandbox/client.cnf", "-NB", "-e", statement]
        return self.stack.run(server.node, argv).stdout.strip()


@contextmanager
def _paused(servers: Sequence[Container]) -> Iterator[None]:
    """Pauses every server for the block; they run again after it, even if this process is killed meanwhile."""
    with subprocess.Popen(
        ["sh", "-c", _PAUSED, "sh", *(each.id for each in servers)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        process_group=0,
    ) as guard:
        try:
            if guard.stdout:
                guard.stdout.readline()
            yield
        finally:
            if guard.stdin:
                guard.stdin.close()
            guard.wait()


def _volumes(stack: Stack, inspected: Sequence[Mapping]) -> dict[str, str]:  # type: ignore[type-arg]
    """Compose's name of every volume that is a server's own → its node; volumes that a group shares start empty."""
    nodes = {each.id: each.node for each in stack.members}
    found = {}
    for item in inspected:
        node = nodes[item["Id"]]
        for mount in item["Mounts"]:
            name = str(mount.get("Name", "")).removeprefix(f"{stack.project}_")
            if mount["Type"] == "volume" and name.startswith(f"{node}-"):
                found[name] = node
    return found
