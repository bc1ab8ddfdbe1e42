"""Fills a new stack's volumes before any server starts: from its snapshot, or its servers' base
data directories.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime

from sandbox.core.errors import SandboxError
from sandbox.profile.compose import plan_hash
from sandbox.profile.data_directory import restorable
from sandbox.profile.names import Identity
from sandbox.profile.plan import Plan
from sandbox.stack.engine import Docker
from sandbox.stack.snapshots import store
from sandbox.stack.snapshots.store import CopyHelper, Snapshot


class NotRestoredError(Exception):
    """Volumes could not be filled; the message says why."""


@dataclass(frozen=True, slots=True)
class VolumeSource:
    """The source of one volume's files. ``position``: Galera's UUID:SEQNO, None for a server that
    has none.
    """

    snapshot: str
    archive: str
    position: str | None
    new_identity: bool
    """Whether the server makes its own certificates."""


@dataclass(frozen=True, slots=True)
class Filling:
    """Sources by Compose's name of a volume, such as ``mysql1-data``; the stack's label; the text
    that `up` shows.
    """

    sources: Mapping[str, VolumeSource]
    snapshots: tuple[Snapshot, ...]
    uuid: str
    """UUID of the group, which stays the one in its members' metadata."""
    label: str
    description: str
    whole: bool
    """Whether the whole stack comes from a snapshot, so that it needs no new one."""


def from_snapshot(snapshot: Snapshot) -> Filling:
    """A stack from its snapshot."""
    facts = snapshot.facts
    made = datetime.fromtimestamp(facts.made_unix_s).astimezone()
    sources = {
        name: VolumeSource(snapshot.volume, name, facts.positions[node], new_identity=False)
        for name, node in facts.volumes.items()
    }
    return Filling(
        sources,
        (snapshot,),
        facts.uuid,
        facts.key,
        f"a snapshot of {made:%Y-%m-%d %H:%M}",
        whole=True,
    )


def from_base_directories(
    plan: Plan, base_directories: Mapping[str, Snapshot], uuid: str
) -> Filling:
    """Every server from the base data directory of its image; ``uuid``: of a new cluster.

    All members of a cluster then have the same data and position, and none requests a state
    transfer.
    """
    sources = {}
    for node in plan.databases:
        base = base_directories[node.name]
        group = plan.group_of(node)
        is_member = group is not None and group.topology == "galera" and node.kind == "database"
        for name, server in base.facts.volumes.items():
            volume = f"{node.name}{name.removeprefix(server)}"
            sources[volume] = VolumeSource(
                base.volume, name, f"{uuid}:0" if is_member else None, new_identity=True
            )
    images = ", ".join(sorted({node.image for node in plan.databases}))
    text = f"the initialised data directory of {images}"
    return Filling(
        sources, tuple(base_directories.values()), uuid, "base data directory", text, whole=False
    )


def usable(docker: Docker, plan: Plan, key: str | None = None) -> Snapshot | None:
    """The snapshot of a key (None: of the plan), if it can be restored: same servers, same builds
    of images.
    """
    if not restorable(plan):
        return None
    key = key or plan_hash(plan)
    known = store.known(key)
    if known is None or {node.name for node in plan.databases} != set(known.facts.positions):
        return None
    references = sorted({node.image for node in plan.databases})
    # During the check of its volume.
    images = docker.begin("image", "inspect", "--format", "{{.Id}}", *references)
    here = store.is_here(docker, known)
    now = dict(zip(references, images.answer().stdout.split(), strict=False))
    return known if here and now == known.facts.images else None


def usable_base_directories(docker: Docker, plans: Mapping[str, Plan]) -> Mapping[str, Snapshot]:
    """The base data directories of a stack's servers; empty where one of them is missing."""
    keys = {node: plan_hash(plan) for node, plan in plans.items()}
    plan_of = {key: plans[node] for node, key in keys.items()}
    found = {key: each for key, plan in plan_of.items() if (each := usable(docker, plan, key))}
    if found.keys() != plan_of.keys():
        return {}
    return {node: found[key] for node, key in keys.items()}


def fill_volumes(
    docker: Docker,
    filling: Filling,
    targets: Sequence[str],
    image: str,
    identity: Identity,
    filled: Callable[[], object] = lambda: None,
) -> None:
    """Fills the volumes of a project's servers, in a container of the client's image. Raises
    NotRestoredError.

    ``targets``: what ``--mount`` takes for each volume, at ``/to/NAME``. ``filled`` is called when
    the files are in place: the container is then still ending. A snapshot that cannot be read is
    removed; one that is being made again is not touched.
    """
    keys = sorted({each.facts.key for each in filling.snapshots})
    volumes = sorted(
        {f"{each.snapshot}:/snapshots/{each.snapshot}:ro" for each in filling.sources.values()}
    )
    with store.claim(keys, to_read=True) as ours:
        if not ours or not all(store.find(docker, key) for key in keys):
            raise NotRestoredError("it is being made again")
        try:
            with CopyHelper(docker, image, identity, volumes, targets) as helper:
                helper.ask(
                    "restore", {name: asdict(each) for name, each in filling.sources.items()}
                )
                filled()
            for snapshot in filling.snapshots:
                store.touch(snapshot)
            return
        except SandboxError as problem:
            failure = problem
    store.forget(docker, keys)
    raise NotRestoredError(failure.known) from failure
