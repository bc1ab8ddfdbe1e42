"""Makes a stack's containers: Compose creates them, each gets its files as one archive, and all
start at once.

Compose itself would copy every file of ``configs`` into its container with a separate call, and an
engine before 23 starts a process for each (80 ms of CPU). The files and their paths are the same
either way.
"""

import csv
import io
import tarfile
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandbox.profile.compose import compose_text
from sandbox.profile.names import PROJECT
from sandbox.stack.engine import CommandGroup, Docker, RefusedError
from sandbox.stack.inventory import Container
from sandbox.stack.protocol import ExecResult

Commands = Mapping[tuple[str, ...], str | None]
"""Words of a command → its input: passwords go this way and never to disk."""


def create(docker: Docker, document: Mapping[str, Any], project: str, lock: int) -> None:
    """Has Compose create networks, volumes and containers; nothing is started. Raises RefusedError.

    ``lock``: descriptor of the lock, which a Compose that outlives us keeps.
    """
    services = {name: {**body, "configs": []} for name, body in document["services"].items()}
    text = compose_text({**document, "services": services, "configs": {}})
    compose = ("compose", "--progress", "quiet", "-p", project, "-f", "-")
    argv = (*compose, "up", "--no-start", "--no-build", "--pull", "never")
    # On an interrupt we wait for it: the engine would finish its work only after a removal has
    # looked.
    side_by_side(docker, {argv: text}, lock, ended_on_interrupt=False)


def volume_labels(document: Mapping[str, Any], project: str, name: str) -> dict[str, str]:
    """The labels of a volume, those of Compose included: it takes a volume with them for its
    own.
    """
    own = document["volumes"][name]["labels"].items()
    labels = {key: unescaped(value.replace(PROJECT, project)) for key, value in own}
    return labels | {"com.docker.compose.project": project, "com.docker.compose.volume": name}


def volume_mount(document: Mapping[str, Any], project: str, name: str) -> str:
    """The ``--mount`` value for a volume at ``/to/NAME``, which is created where there is none.

    It can be filled while Compose creates the containers.
    """
    return mount_words(f"{project}_{name}", f"/to/{name}", volume_labels(document, project, name))


def mount_words(volume: str, target: str, labels: Mapping[str, str]) -> str:
    """The ``--mount`` value for a volume; ``labels``: of one that is created by it."""
    fields = ["type=volume", f"source={volume}", f"target={target}"]
    fields += [f"volume-label={key}={value}" for key, value in labels.items()]
    line = io.StringIO()
    # The format that the client reads: a path may contain a comma.
    csv.writer(line, lineterminator="").writerow(fields)
    return line.getvalue()


def fill(
    docker: Docker, document: Mapping[str, Any], containers: Sequence[Container], lock: int
) -> None:
    """Copies every container's files into it, all at once. Raises RefusedError."""
    now = int(time.time())
    commands: Commands = {
        ("cp", "-", f"{each.id}:/"): node_archive(document, each.node, now) for each in containers
    }
    side_by_side(docker, commands, lock)


def start(docker: Docker, containers: Sequence[Container], lock: int) -> None:
    """Starts every container, those of a wave at once. Raises RefusedError.

    Servers come first, since they take longest to become ready. A replica comes after its source:
    if it were ready first, it would find no source and retry a whole second later.
    """
    servers = [
        [each for each in containers if each.kind == kind] for kind in ("database", "replica")
    ]
    for wave in [*servers, [each for each in containers if not each.is_server]]:
        side_by_side(docker, dict.fromkeys(("start", each.id) for each in wave), lock)


def side_by_side(
    docker: Docker, commands: Commands, lock: int, ended_on_interrupt: bool = True
) -> None:
    """Runs commands to completion; after an interrupt they hold the lock no longer than they must.
    RefusedError.
    """
    group = CommandGroup()

    def run(argv: tuple[str, ...]) -> ExecResult | None:
        begun = group.begin(lambda: docker.begin(*argv, stdin=commands[argv], pass_fds=(lock,)))
        return begun.answer() if begun else None

    with ThreadPoolExecutor(max_workers=max(1, len(commands))) as pool:
        try:
            answers = [pool.submit(run, each) for each in commands]
            for argv, each in zip(commands, answers, strict=True):
                if (answer := each.result()) and answer.code:
                    raise RefusedError(argv, answer)
        except KeyboardInterrupt:
            group.close(end_begun=ended_on_interrupt)
            raise


def node_archive(document: Mapping[str, Any], node: str, made_unix_s: int) -> str:
    """The files of a service's ``configs`` as a tar archive with modes and owners; it is text, like
    the files.
    """
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for mount in document["services"][node].get("configs", []):
            content = unescaped(document["configs"][mount["source"]]["content"]).encode()
            entry = tarfile.TarInfo(str(mount["target"]).lstrip("/"))
            entry.size = len(content)
            entry.mode = int(mount["mode"])
            entry.mtime = made_unix_s
            entry.uid = int(mount.get("uid", 0))
            entry.gid = int(mount.get("gid", 0))
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue().decode()


def unescaped(text: str) -> str:
    """A text of the Compose file as Compose passes it on."""
    return text.replace("$$", "$")
