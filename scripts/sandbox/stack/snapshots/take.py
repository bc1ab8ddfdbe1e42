"""Takes a snapshot of a formed, idle stack: one pass while it runs, the rest while it is briefly paused."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sandbox.stack.engine import Docker
from sandbox.stack.inventory import Container
from sandbox.stack.roles import is_server
from sandbox.stack.snapshots import store
from sandbox.stack.snapshots.helper import CopyHelper, copy_stopped, snapshot_mount
from sandbox.stack.snapshots.store import Facts
from sandbox.stack.stack import Stack

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
    servers = [each for each in stack.members if is_server(each)]
    client, *inspected = _inspected(stack.docker, [stack.client, *servers])
    volumes = _volumes(stack, inspected)
    if wish.fresh and any(_ask(stack, each, _OWN_TABLES) != "0" for each in servers):
        return None
    with store.claim([wish.key]) as ours:
        if not ours:
            return None

        def copied() -> Facts | None:
            return _copied(stack, wish, servers, volumes, _images(inspected), client["Image"])

        return store.make(stack.docker, wish.key, stack.profile, stack.checkout, copied)


def take_stopped(stack: Stack, wish: Wish) -> None:
    """Shuts a stack's servers down cleanly, so that nothing is left to write or recover, and keeps their data.

    The caller has claimed the snapshot, and removes the stack. Raises SandboxError (exit 4) where the engine or the
    disk fails.
    """
    servers = [each for each in stack.members if is_server(each)]
    client, *inspected = _inspected(stack.docker, [stack.client, *servers])
    volumes = _volumes(stack, inspected)
    stack.docker.ask("stop", *(each.id for each in servers))

    def copied() -> Facts:
        mounts = _mounts(stack, wish, volumes)
        size = copy_stopped(stack.docker, client["Image"], stack.identity, mounts)
        return Facts(
            key=wish.key, profile=stack.profile, checkout=stack.checkout, images=_images(inspected), uuid=wish.uuid,
            positions=dict.fromkeys(each.node for each in servers), volumes=volumes, bytes=size,
            made_unix_s=time.time(),
        )  # fmt: skip

    store.make(stack.docker, wish.key, stack.profile, stack.checkout, copied)


def _mounts(stack: Stack, wish: Wish, volumes: Mapping[str, str]) -> list[str]:
    mounts = [snapshot_mount(store.volume_name(wish.key))]
    return mounts + [f"{stack.project}_{name}:/from/{name}:ro" for name in volumes]


def _images(inspected: Sequence[Mapping]) -> dict[str, str]:  # type: ignore[type-arg]
    return {item["Config"]["Image"]: item["Image"] for item in inspected}


def _copied(
    stack: Stack,
    wish: Wish,
    servers: Sequence[Container],
    volumes: Mapping[str, str],
    images: Mapping[str, str],
    copier: str,
) -> Facts | None:
    names = list(volumes)
    with CopyHelper(stack.docker, copier, stack.identity, _mounts(stack, wish, volumes)) as helper:
        helper.ask("first", names)
        before = {each.node: _position(stack, each) for each in servers}
        with _paused(servers):
            helper.ask("second", names)
        if before != {each.node: _position(stack, each) for each in servers}:
            return None
        size = helper.ask("finish", names) or 0
    return Facts(
        key=wish.key, profile=stack.profile, checkout=stack.checkout, images=dict(images), uuid=wish.uuid,
        positions=before, volumes=dict(volumes), bytes=size, made_unix_s=time.time(),
    )  # fmt: skip


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


def _inspected(docker: Docker, servers: Sequence[Container]) -> list[dict]:  # type: ignore[type-arg]
    return list(json.loads(docker.ask("container", "inspect", *(each.id for each in servers))))


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


def _position(stack: Stack, server: Container) -> str | None:
    """UUID:SEQNO of a Galera member, None for any other server."""
    return _ask(stack, server, _POSITION) if server.about.get("topology") == "galera" else None


def _ask(stack: Stack, server: Container, statement: str) -> str:
    argv = [server.about["sql_client"], "--defaults-file=/sandbox/client.cnf", "-NB", "-e", statement]
    return stack.run(server.node, argv).stdout.strip()
