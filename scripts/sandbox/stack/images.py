"""Which images the engine has, whether it reaches a registry, and whether images built here are still up to date."""

import hashlib
import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from sandbox.library import load_library
from sandbox.places import CHECKOUT
from sandbox.plan.catalog import Catalog, Lock
from sandbox.plan.images import Availability, built_alias
from sandbox.stack.engine import Docker, Pending

IMAGES = CHECKOUT / "images"
RECIPE_LABEL = "sandbox.recipe"
REGISTRY_BOUND_S = 2.0
_ABSENT = "debian:no-such-tag"
_REACHED = ("not found", "manifest unknown")
"""A registry's answer, through the engine, for a tag that it does not have."""


def engine_availability(lock: Lock, docker: Docker | None = None, catalog: Catalog | None = None) -> Availability:
    """What the planner needs to know about this engine, in two parallel calls; asks a registry only when it matters.

    An image built here from an outdated recipe counts as absent. SandboxError (exit 4) without an engine.
    """
    docker = docker or Docker()
    aliases = built_folders(catalog or load_library().catalog)
    listing = docker.begin("image", "ls", "--format", "{{.Repository}}:{{.Tag}}")
    labels = docker.begin("image", "inspect", "--format", _LABELS, *aliases)
    local = frozenset(listing.output().split())
    return Availability(local - _outdated(labels, aliases), cache(lambda: registry_reachable(docker)), lock)


_LABELS = f'{{"tags":{{{{json .RepoTags}}}},"recipe":{{{{json (index .Config.Labels "{RECIPE_LABEL}")}}}}}}'


def built_folders(catalog: Catalog) -> dict[str, str]:
    """Alias of every image that can be built here → its folder in images/."""
    return {
        built_alias(key, series, entry.build.suite): entry.build.folder
        for key, image in catalog.images.items()
        for series, entry in image.series.items()
        if entry.build
    }


def _outdated(labels: Pending, folders: Mapping[str, str]) -> set[str]:
    """Local aliases that were built from another recipe.

    The client fails for those that are missing, and prints an empty line where it found none at all.
    """
    outdated = set()
    for found in map(json.loads, filter(None, labels.answer().stdout.splitlines())):
        outdated |= {tag for tag in found["tags"] if tag in folders and found["recipe"] != recipe(folders[tag])}
    return outdated


@cache
def recipe(folder: str, images: Path = IMAGES) -> str:
    """Hash (12 hex digits) of all that goes into a built image: its folder, and what its Dockerfile copies."""
    dockerfile = (images / folder / "Dockerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ")]
    roots = {images / folder} | {images / source for sources in copied for source in sources if source[:2] != "--"}
    files = {path for root in roots for path in ([root] if root.is_file() else root.rglob("*")) if path.is_file()}
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(f"{path.relative_to(images)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode())
    return digest.hexdigest()[:12]


def registry_reachable(docker: Docker) -> bool:
    """Whether the engine itself reaches its registry, within 2 s.

    It pulls a tag that does not exist: that takes the path of a real pull, proxies and mirrors included, and
    transfers nothing; `docker manifest inspect` asks from the client's machine, `docker search` asks another service.
    """
    try:
        answer = docker.answer("pull", "--quiet", _ABSENT, timeout_s=REGISTRY_BOUND_S)
    except TimeoutError:
        return False
    return answer.code == 0 or any(sign in answer.stderr for sign in _REACHED)
