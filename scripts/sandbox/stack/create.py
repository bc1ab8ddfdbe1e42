"""Makes a stack's containers: Compose creates them, each gets its files as one archive, and all start at once.

Compose itself would put every file of ``configs`` into its container by a call of its own, and an engine before 23
starts a process for each (80 ms of CPU). What stands in the file and where is the same either way.
"""

import io
import tarfile
import time
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from sandbox.plan.compose import compose_text
from sandbox.stack.engine import Answer, Docker, Pending
from sandbox.stack.inventory import Container


class RefusedError(Exception):
    """The engine refused a command of the start."""

    def __init__(self, argv: Sequence[str], answer: Answer) -> None:
        super().__init__(answer.stderr)
        self.argv, self.answer = argv, answer


def create(docker: Docker, document: Mapping[str, Any], project: str, lock: int) -> None:
    """Networks, volumes and containers by Compose; nothing is started. Raises RefusedError.

    ``lock``: descriptor of what a Compose that outlives us keeps locked.
    """
    services = {name: {**body, "configs": []} for name, body in document["services"].items()}
    text = compose_text({**document, "services": services, "configs": {}})
    compose = docker.begin(
        "compose", "--progress", "quiet", "-p", project, "-f", "-", "up", "--no-start", "--no-build", "--pull", "never",
        stdin=text, pass_fds=(lock,),
    )  # fmt: skip
    _all([compose])


def fill(docker: Docker, document: Mapping[str, Any], containers: Sequence[Container], lock: int) -> None:
    """Every container's files put into it, all at once. Raises RefusedError."""
    now = int(time.time())
    # Passwords stand in the files: they go by standard input and never to disk.
    _all(
        docker.begin("cp", "-", f"{each.id}:/", stdin=node_archive(document, each.node, now), pass_fds=(lock,))
        for each in containers
    )


def start(docker: Docker, containers: Sequence[Container], lock: int) -> None:
    """Every container started, all at once. Raises RefusedError."""
    _all(docker.begin("start", each.id, pass_fds=(lock,)) for each in containers)


def _all(commands: Iterable[Pending]) -> None:
    """Waits for commands that run side by side; ends them all where it is interrupted, since they hold the lock."""
    pending: list[Pending] = []
    try:
        pending.extend(commands)
        with ThreadPoolExecutor(max_workers=max(1, len(pending))) as pool:
            answers = list(pool.map(lambda command: command.answer(), pending))
    except BaseException:
        for command in pending:
            command.end()
        raise
    for command, answer in zip(pending, answers, strict=True):
        if answer.code:
            raise RefusedError(command.argv, answer)


def node_archive(document: Mapping[str, Any], node: str, made_unix_s: int) -> str:
    """The files of a service's ``configs`` as a tar archive, which is text as they are; with modes and owners."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for mount in document["services"][node].get("configs", []):
            content = unescaped(document["configs"][mount["source"]]["content"]).encode()
            entry = tarfile.TarInfo(str(mount["target"]).lstrip("/"))
            entry.size, entry.mode, entry.mtime = len(content), int(mount["mode"]), made_unix_s
            entry.uid, entry.gid = int(mount.get("uid", 0)), int(mount.get("gid", 0))
            archive.addfile(entry, io.BytesIO(content))
    return packed.getvalue().decode()


def unescaped(text: str) -> str:
    """A text of the Compose file as Compose hands it on."""
    return text.replace("$$", "$")
