"""The snapshot store: volumes on the engine with their own label, the facts of each, the container
that fills them.
"""

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Self

from pydantic import BaseModel

from sandbox.core.errors import MachineError
from sandbox.core.paths import write_atomically
from sandbox.profile.names import Identity
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import helper_options, label_options
from sandbox.stack.locks import cache_folder, claimed

LABEL = "sandbox.snapshot"
CAP_BYTES = 10 << 30
BACKGROUND = ("--cpu-shares", "256")
"""Options of a container beside a stack in use: a quarter of a node's CPU weight."""

_COPY = files(__package__).joinpath("in_helper", "copy_volumes.py").read_text(encoding="utf-8")


class Facts(BaseModel):
    """The facts of a finished snapshot. ``positions``: node → Galera's UUID:SEQNO, null where it
    has none.
    """

    key: str
    profile: str
    checkout: str
    images: dict[str, str]
    """Reference of every server's image → its id: data of another build is not restored."""
    uuid: str
    """UUID of the group, which stays the one in its members' metadata."""
    positions: dict[str, str | None]
    volumes: dict[str, str]
    """Name in the Compose file, such as ``mysql1-data`` → node."""
    bytes: int
    made_unix_s: float


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A snapshot on this engine. ``used_unix_s``: when it was made or last restored."""

    facts: Facts
    used_unix_s: float

    @property
    def volume(self) -> str:
        """The volume that holds it."""
        return volume_name(self.facts.key)


def volume_name(key: str) -> str:
    """The volume of a snapshot."""
    return f"sandbox-snapshot-{key}"


def snapshots(docker: Docker) -> list[Snapshot]:
    """Every finished snapshot on this engine, most recently used first."""
    here = _volumes(docker)
    found = [_read(path) for path in _folder().glob("*.json")] if here else []
    known = [each for each in found if each is not None and each.volume in here]
    return sorted(known, key=lambda each: -each.used_unix_s)


def find(docker: Docker, key: str) -> Snapshot | None:
    """The snapshot of a key, if it is finished and on this engine."""
    found = known(key)
    return found if found is not None and is_here(docker, found) else None


def known(key: str) -> Snapshot | None:
    """The snapshot of a key, as recorded; does not ask the engine."""
    return _read(_path(key))


def is_here(docker: Docker, snapshot: Snapshot) -> bool:
    """Whether this engine has its volume."""
    return snapshot.volume in _volumes(docker, snapshot.facts.key)


def keep(facts: Facts) -> None:
    """Records that a snapshot is finished: from now on it can be found."""
    path = _path(facts.key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, facts.model_dump_json(indent=2))


def touch(snapshot: Snapshot) -> None:
    """Records that it was used now."""
    _path(snapshot.facts.key).touch()


def make(
    docker: Docker, key: str, profile: str, checkout: str, copy: Callable[[], Facts | None]
) -> Facts | None:
    """Puts a snapshot that the caller has claimed into the snapshot store, replacing an earlier one
    of the key.

    ``copy`` fills its volume; where it fails or returns None, nothing is left.
    """
    discard(docker, key)
    labels = label_options({LABEL: key, "sandbox.profile": profile, "sandbox.checkout": checkout})
    docker.ask("volume", "create", *labels, volume_name(key))
    facts = None
    try:
        facts = copy()
    finally:
        if facts is None:
            discard(docker, key)
    if facts is not None:
        keep(facts)
        trim(docker)
    return facts


def claim(keys: Iterable[str], to_read: bool = False) -> AbstractContextManager[bool]:
    """Whether the caller holds these snapshots in the block: alone, to make or remove them, or
    along with readers.
    """
    return claimed([f"snapshot-{key}" for key in keys], shared=to_read)


def forget(docker: Docker, keys: Iterable[str]) -> list[str]:
    """Removes snapshots, except those that are being made or restored; returns the keys of the
    removed ones.
    """
    gone = []
    for key in keys:
        with claim([key]) as ours:
            if ours and discard(docker, key):
                gone.append(key)
    return gone


def discard(docker: Docker, key: str) -> bool:
    """Removes a snapshot that the caller has claimed; False where its volume is in use."""
    if docker.answer("volume", "rm", "--force", volume_name(key)).code:
        return False
    _path(key).unlink(missing_ok=True)
    return True


def count(docker: Docker, checkout: str | None) -> int:
    """Number of snapshots of a checkout (None: of all), finished or not."""
    return sum(checkout in (None, owner) for _, owner in _volumes(docker).values())


def forget_all(docker: Docker, checkout: str | None) -> tuple[int, int]:
    """Removes the snapshots of a checkout (None: of all), finished or not, except those in use.

    Returns how many were removed, and how many are of other checkouts.
    """
    volumes = _volumes(docker)
    keys = [key for key, owner in volumes.values() if checkout in (None, owner)]
    return len(forget(docker, keys)), len(volumes) - len(keys)


def trim(docker: Docker, cap_bytes: int = CAP_BYTES) -> list[str]:
    """Removes the least recently used ones beyond the cap; returns the keys of the removed ones."""
    total = 0
    beyond = []
    for each in snapshots(docker):
        total += each.facts.bytes
        if total > cap_bytes:
            beyond.append(each.facts.key)
    return forget(docker, beyond)


def _volumes(docker: Docker, key: str | None = None) -> Mapping[str, tuple[str, str]]:
    """Volume → (key, checkout), of one snapshot or of all."""
    wanted = f"label={LABEL}={key}" if key else f"label={LABEL}"
    form = (
        f'[{{{{json .Name}}}},{{{{json (.Label "{LABEL}")}}}},{{{{json (.Label'
        ' "sandbox.checkout")}}]'
    )
    rows = map(
        json.loads, docker.ask("volume", "ls", "--filter", wanted, "--format", form).splitlines()
    )
    return {name: (key, checkout) for name, key, checkout in rows}


def _folder() -> Path:
    return cache_folder() / "snapshots"


def _path(key: str) -> Path:
    return _folder() / f"{key}.json"


def _read(path: Path) -> Snapshot | None:
    try:
        facts = Facts.model_validate_json(path.read_text(encoding="utf-8"))
        return Snapshot(facts, path.stat().st_mtime)
    except (OSError, ValueError):
        return None


class CopyHelper:
    """One helper container; as a context it ends with the block. It has its stack's label, so
    `down` removes it.
    """

    def __init__(
        self,
        docker: Docker,
        image: str,
        owner: Identity,
        volumes: Sequence[str],
        mounts: Sequence[str] = (),
        in_background: bool = False,
    ) -> None:
        """``volumes``: ``volume:path[:ro]`` each. ``mounts``: as ``--mount`` takes them, of volumes
        that may be new.

        ``in_background``: other containers come first where processors are short.
        """
        options = helper_options(owner, node="snapshot1")
        if in_background:
            options += BACKGROUND
        options += [word for volume in volumes for word in ("--volume", volume)]
        options += [word for mount in mounts for word in ("--mount", mount)]
        self._docker = docker
        self._name = f"{owner.project}-helper-{uuid.uuid4().hex[:8]}"
        run = ["run", "--rm", "--name", self._name, "--interactive", "--network", "none"]
        command = [image, "python3", "-u", "-c", _COPY]
        self._stream = docker.stream(*run, "--user", "0", *options, *command, stdin=True)
        self._answers = self._stream.lines()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._stream.close_stdin()
        if kind is None:
            self._stream.wait()
            return
        self._stream.kill()
        # A container may outlive its client, and would keep volumes in use that are to be removed
        # now.
        self._docker.answer("rm", "--force", self._name)

    def ask(
        self, work: str, volumes: Sequence[str] | Mapping[str, Mapping[str, object]]
    ) -> int | None:
        """Does one piece of work. Raises SandboxError (exit 4) with the helper's message where it
        fails.
        """
        self._stream.send(json.dumps({"work": work, "volumes": volumes}))
        line = next(self._answers, "")
        try:
            answer: dict[str, Any] = json.loads(line)
        except json.JSONDecodeError:
            said = [each for each in (line, *self._answers) if each]
            raise MachineError(
                "a snapshot's helper container failed",
                said[-1] if said else "it printed nothing",
                "try: make doctor   (disk space)",
            ) from None
        size = answer["bytes"]
        return size if isinstance(size, int) else None


def copy_mounts(key: str, sources: Mapping[str, str]) -> list[str]:
    """Mounts of a helper that copies volumes (name in the snapshot → volume) into the snapshot of a
    key.
    """
    return [
        f"{volume_name(key)}:/snapshot",
        *(f"{volume}:/from/{name}:ro" for name, volume in sources.items()),
    ]


def copy_stopped(
    docker: Docker, image: str, owner: Identity, key: str, sources: Mapping[str, str]
) -> int:
    """Copies volumes of stopped servers, as for `copy_mounts`; returns the snapshot's bytes.
    SandboxError (exit 4).
    """
    names = list(sources)
    with CopyHelper(docker, image, owner, copy_mounts(key, sources)) as helper:
        for work in ("first", "second"):
            helper.ask(work, names)
        return helper.ask("finish", names) or 0
