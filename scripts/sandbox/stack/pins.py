"""`make lock`: pins the current images of a plan in images/lock.yaml."""

import json
import tempfile
from pathlib import Path

import yaml

from sandbox.errors import ExitCode, SandboxError
from sandbox.library import load_lock
from sandbox.places import LOCK_FILE
from sandbox.plan.catalog import Lock
from sandbox.plan.images import built_alias
from sandbox.plan.model import Plan
from sandbox.stack.engine import Docker

_HEAD = "# Written by `make lock`; delete a line, or the file, to unpin.\n"


def lock_images(plan: Plan, docker: Docker, path: Path = LOCK_FILE) -> Lock:
    """Pins every image of the plan, which must be on the engine; earlier pins stay. Returns what was written."""
    before = load_lock()
    published = {node.choice.reference.partition("@")[0] for node in plan.nodes if node.choice.origin == "published"}
    built = {
        _alias(node.choice.reference, node.choice.key, node.choice.series)
        for node in plan.nodes
        if node.choice.origin == "built"
    }
    lock = Lock(
        published={**before.published, **{name: _digest(name, docker) for name in sorted(published)}},
        built={**before.built, **{alias: _exact(alias, docker) for alias in sorted(built)}},
    )
    _write(lock, path)
    return lock


def _alias(reference: str, key: str, series: str) -> str:
    return built_alias(key, series, reference.rpartition("-")[2])


def _digest(reference: str, docker: Docker) -> str:
    digests = json.loads(docker.ask("image", "inspect", "--format", "{{json .RepoDigests}}", reference))
    own = [digest for digest in digests if digest.startswith(f"{reference.rpartition(':')[0]}@")]
    if own:
        return str(own[0]).partition("@")[2]
    raise SandboxError(
        f"{reference} has no digest to pin",
        "only a pulled image has one; this one was loaded or tagged here",
        f"try: docker pull {reference}",
        ExitCode.ENVIRONMENT,
    )


def _exact(alias: str, docker: Docker) -> str:
    """The name of the same image that contains the package version."""
    tags = json.loads(docker.ask("image", "inspect", "--format", "{{json .RepoTags}}", alias))
    suite = alias.rpartition("-")[2]
    return next(str(tag) for tag in tags if tag != alias and tag.endswith(f"-{suite}"))


def _write(lock: Lock, path: Path) -> None:
    """Writes atomically: a truncated lock file would pin half a stack."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".lock-", delete=False, encoding="utf-8") as file:
        file.write(_HEAD + yaml.safe_dump(lock.model_dump(), sort_keys=True))
    Path(file.name).chmod(0o644)
    Path(file.name).replace(path)
