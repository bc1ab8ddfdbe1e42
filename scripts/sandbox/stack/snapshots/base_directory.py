"""Makes a base data directory: one server's first start, without a network, shut down cleanly and kept."""

import time
from collections.abc import Mapping
from typing import Any

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.compose import Identity, compose_document, plan_hash
from sandbox.plan.model import Plan
from sandbox.stack.create import node_archive, unescaped
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import helper_options, owner_options
from sandbox.stack.secrets import draw_secrets
from sandbox.stack.snapshots import store
from sandbox.stack.snapshots.helper import copy_stopped, snapshot_mount
from sandbox.stack.snapshots.restore import usable
from sandbox.stack.snapshots.store import Facts

_NODE = "base1"
_UNTIL_READY = "for i in $(seq 600); do sh /sandbox/probe ready && exit 0; sleep 0.2; done; exit 1"


def ensure_base_directory(docker: Docker, plan: Plan, identity: Identity) -> Facts | None:
    """Makes the base data directory that a plan of one server stands for; None if it exists or is being made.

    Everything it starts has the label of the stack of ``identity``, whose lock the caller holds, and is removed
    afterwards. Raises SandboxError (exit 4) where the server does not start, or the engine or the disk fails.
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
        self.docker, self.plan, self.identity = docker, plan, identity
        self.node = plan.databases[0]
        self.secrets = draw_secrets(plan)
        self.document = compose_document(plan, self.secrets, identity)
        self.service: Mapping[str, Any] = self.document["services"][self.node.name]
        self.targets = dict(str(entry).split(":")[:2] for entry in self.service["volumes"])
        self.container = ""

    def _volume(self, name: str) -> str:
        return f"{self.identity.project}_{_NODE}-{name}"

    def run_to_its_end(self) -> None:
        """Starts the server for the first time, until it answers, and shuts it down cleanly."""
        for name in self.targets:
            self.docker.ask("volume", "create", *owner_options(self.identity), self._volume(name))
        self.container = self.docker.ask("create", *self._options(), self.node.image, *self._arguments()).strip()
        self.docker.ask("cp", "-", f"{self.container}:/", stdin=node_archive(self.document, self.node.name, 0))
        self.docker.ask("start", self.container)
        self.docker.ask("exec", self.container, "sh", "-c", _UNTIL_READY)
        self.docker.ask("stop", "--time", "60", self.container)
        code = self.docker.ask("inspect", "--format", "{{.State.ExitCode}}", self.container).strip()
        if code != "0":
            raise SandboxError(
                f"{self.node.image} did not shut down cleanly",
                f"exit code {code}",
                "try: make doctor",
                ExitCode.ENVIRONMENT,
            )

    def _options(self) -> list[str]:
        options = ["--network", "none", "--hostname", self.node.name, *helper_options(self.identity, node=_NODE)]
        options += ["--user", self.service["user"]] if "user" in self.service else []
        for name, value in self.service.get("environment", {}).items():
            options += ["--env", unescaped(f"{name}={value}")]
        for name, target in self.targets.items():
            options += ["--volume", f"{self._volume(name)}:{target}"]
        entrypoint = self.service.get("entrypoint")
        return options + (["--entrypoint", unescaped(entrypoint[0])] if entrypoint else [])

    def _arguments(self) -> list[str]:
        return [unescaped(word) for word in [*self.service.get("entrypoint", [])[1:], *self.service.get("command", [])]]

    def copied(self) -> Facts:
        """Copies the directory as a snapshot of the plan."""
        key, names = plan_hash(self.plan), list(self.targets)
        mounts = [snapshot_mount(store.volume_name(key))]
        mounts += [f"{self._volume(name)}:/from/{name}:ro" for name in names]
        size = copy_stopped(self.docker, self.plan.client.image, self.identity, mounts)
        image_id = self.docker.ask("image", "inspect", "--format", "{{.Id}}", self.node.image).strip()
        return Facts(
            key=key, profile=self.plan.profile, checkout=self.identity.checkout, images={self.node.image: image_id},
            uuid=self.secrets.uuid, positions={self.node.name: None}, volumes=dict.fromkeys(names, self.node.name),
            bytes=size, made_unix_s=time.time(),
        )  # fmt: skip

    def remove(self) -> None:
        """Removes the container and its volumes."""
        if self.container:
            self.docker.answer("rm", "--force", self.container)
        self.docker.answer("volume", "rm", "--force", *map(self._volume, self.targets))
