"""The container that copies: mounts the volumes, runs our script in the client's image, ends with the command."""

import json
import subprocess
import uuid
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any, Self

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.compose import Identity
from sandbox.stack.engine import Docker, end_group
from sandbox.stack.inventory import helper_options


class CopyHelper:
    """One helper container; as a context it ends with the block. It has its stack's label, so `down` removes it."""

    def __init__(
        self, docker: Docker, image: str, owner: Identity, volumes: Sequence[str], mounts: Sequence[str] = ()
    ) -> None:
        """``volumes``: ``volume:path[:ro]`` each. ``mounts``: as ``--mount`` takes them, of volumes that may be new."""
        options = helper_options(owner, node="snapshot1")
        options += [word for volume in volumes for word in ("--volume", volume)]
        options += [word for mount in mounts for word in ("--mount", mount)]
        source = files("sandbox.stack.snapshots").joinpath("in_helper", "copy_volumes.py").read_text(encoding="utf-8")
        self._docker, self._name = docker, f"{owner.project}-helper-{uuid.uuid4().hex[:8]}"
        self._process: subprocess.Popen[str] = docker.stream(
            "run", "--rm", "--name", self._name, "--interactive", "--network", "none", "--user", "0", *options, image,
            "python3", "-u", "-c", source, stdin=True,
        )  # fmt: skip

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._process.stdin:
            self._process.stdin.close()
        if kind is None:
            self._process.wait()
            return
        end_group(self._process)
        # A container may outlive its client, and would keep volumes in use that are to be removed now.
        self._docker.answer("rm", "--force", self._name)

    def ask(self, work: str, volumes: Sequence[str] | Mapping[str, Mapping[str, object]]) -> int | None:
        """Does one piece of work. Raises SandboxError (exit 4) with the helper's message where it fails."""
        if self._process.stdin is None or self._process.stdout is None:
            raise AssertionError("the helper has no pipes")
        line = ""
        try:
            self._process.stdin.write(json.dumps({"work": work, "volumes": volumes}) + "\n")
            self._process.stdin.flush()
            line = self._process.stdout.readline()
            answer: dict[str, Any] = json.loads(line)
        except (OSError, json.JSONDecodeError):
            rest = [each for each in (line + self._process.stdout.read()).splitlines() if each]
            said = rest[-1] if rest else "it printed nothing"
            raise SandboxError(
                "a snapshot's helper container failed", said, "try: make doctor   (disk space)", ExitCode.ENVIRONMENT
            ) from None
        return answer["bytes"] if isinstance(answer["bytes"], int) else None


def copy_stopped(docker: Docker, image: str, owner: Identity, mounts: Sequence[str]) -> int:
    """Copies all at /from, of stopped servers, into the snapshot; returns its size in bytes. SandboxError (exit 4)."""
    names = [mount.partition(":/from/")[2].removesuffix(":ro") for mount in mounts if ":/from/" in mount]
    with CopyHelper(docker, image, owner, mounts) as helper:
        for work in ("first", "second"):
            helper.ask(work, names)
        return helper.ask("finish", names) or 0


def snapshot_mount(volume: str) -> str:
    """The mount of the volume of a snapshot in the making."""
    return f"{volume}:/snapshot"
