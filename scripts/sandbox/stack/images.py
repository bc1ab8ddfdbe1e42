"""The engine's images: which it has, pins of them in images/lock.yaml, and the user's own instead
of the catalog's.

Also whether images built here are still up to date, and whether the engine reaches its registry.
"""

import hashlib
import json
import re
import tarfile
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import yaml

from sandbox.core.errors import MachineError, SandboxError
from sandbox.core.paths import CHECKOUT, LOCK_FILE, write_atomically
from sandbox.profile.images import Availability, Catalog, Lock, built_alias, built_reference
from sandbox.profile.names import PACKAGE_LABEL
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library, load_lock
from sandbox.stack.asked_ahead import LOCAL_IMAGES
from sandbox.stack.engine import Docker
from sandbox.stack.locks import locked

IMAGES = CHECKOUT / "images"
RECIPE_LABEL = "sandbox.recipe"
REGISTRY_BOUND_S = 2.0
_ABSENT = "debian:no-such-tag"
_REACHED = ("not found", "manifest unknown")
"""A registry's answer, through the engine, for a tag that it does not have."""
OWN_NAME = "sandbox/given"
"""Repository that keeps the image of an archive while it is needed."""
_ARCHIVE = re.compile(r".+\.(tar|tgz|tar\.(gz|bz2|xz))")
_LOADED = re.compile(r"^Loaded image(?: ID)?: (\S+)$", re.MULTILINE)
_LOCK_HEAD = "# Written by `make lock`; delete a line, or the file, to unpin.\n"


def engine_availability(
    lock: Lock, docker: Docker | None = None, catalog: Catalog | None = None
) -> Availability:
    """Facts about this engine for the planner, in two parallel calls; asks a registry only when it
    matters.

    An image built here from an outdated recipe counts as absent. SandboxError (exit 4) without an
    engine.
    """
    docker = docker or Docker()
    catalog = catalog or load_library().catalog
    folders = build_folders(catalog)
    listing = docker.begin(*LOCAL_IMAGES)
    described = docker.begin("image", "inspect", "--format", _BUILT, *expected_builds(catalog))
    local = frozenset(listing.output().split())
    # The client fails for those that are missing, and prints an empty line where it found none at
    # all.
    found = _read_built(described.answer().stdout)
    # Of earlier packages: their series' names are another image's by now.
    others = sorted(name for name in local - found.keys() if _folder(name, folders))
    if others:
        found |= _read_built(docker.answer("image", "inspect", "--format", _BUILT, *others).stdout)
    outdated = set()
    packages = {}
    for name, built in found.items():
        folder = _folder(name, folders)
        if folder and built.recipe != recipe(folder):
            outdated.add(name)
        elif folder and built.package:
            packages[name] = built.package
    registry = cache(lambda: registry_reachable(docker))
    return Availability(local - outdated, registry, lock, packages)


@dataclass(frozen=True, slots=True)
class _Built:
    """The labels of an image that was built here."""

    recipe: str | None
    package: str | None


_BUILT = (
    '{"tags":{{json .RepoTags}},"recipe":{{json (index .Config.Labels'
    f' "{RECIPE_LABEL}")}}}},"package":{{{{json (index .Config.Labels "{PACKAGE_LABEL}")}}}}}}'
)


def _read_built(text: str) -> dict[str, _Built]:
    """Every name of the images that `docker image inspect` printed in the format above."""
    images = map(json.loads, filter(None, text.splitlines()))
    return {
        name: _Built(each["recipe"], each["package"])
        for each in images
        for name in each["tags"] or ()
    }


def _folder(name: str, folders: Mapping[str, str]) -> str | None:
    """The folder of images/ that an image's name says it was built from."""
    space, _, rest = name.partition("/")
    if "binary-" in rest:  # of the user's own server: its tag says what is in it
        return None
    return folders.get(rest.partition(":")[0]) if space == "sandbox" else None


def build_folders(catalog: Catalog) -> dict[str, str]:
    """Key of every image that can be built here → its folder in images/."""
    return {
        key: series.build.folder
        for key, image in catalog.images.items()
        for series in image.series.values()
        if series.build
    }


def series_builds(catalog: Catalog) -> list[str]:
    """The moving tag of every series that can be built here."""
    return [
        built_alias(key, name, series.build.suite)
        for key, image in catalog.images.items()
        for name, series in image.series.items()
        if series.build
    ]


def expected_builds(catalog: Catalog) -> list[str]:
    """The names that the catalog's builds get."""
    exact = [
        built_reference(key, each.package, each.suite)
        for key, image in catalog.images.items()
        for series in image.series.values()
        if series.build
        for each in series.build.versions.values()
    ]
    return [*series_builds(catalog), *exact]


@cache
def recipe(folder: str, images: Path = IMAGES) -> str:
    """Hash (12 hex digits) of all that goes into a built image: its folder, and what its Dockerfile
    copies.
    """
    dockerfile = (images / folder / "Dockerfile").read_text(encoding="utf-8")
    copied = [line.split()[1:-1] for line in dockerfile.splitlines() if line.startswith("COPY ")]
    roots = {images / folder} | {
        images / source for sources in copied for source in sources if source[:2] != "--"
    }
    files = {
        path
        for root in roots
        for path in ([root] if root.is_file() else root.rglob("*"))
        if path.is_file()
    }
    digest = hashlib.sha256()
    for path in sorted(files):
        digest.update(
            f"{path.relative_to(images)}\0{hashlib.sha256(path.read_bytes()).hexdigest()}\n".encode()
        )
    return digest.hexdigest()[:12]


def image_id(docker: Docker, name: str) -> str | None:
    """The identity (``sha256:…``) of an image by any of its names; None for one that the engine
    does not have.
    """
    answer = docker.answer("image", "inspect", "--format", "{{.Id}}", name)
    return answer.stdout.strip() if answer.code == 0 else None


def registry_reachable(docker: Docker) -> bool:
    """Whether the engine itself reaches its registry, within 2 s.

    It pulls a tag that does not exist: that takes the path of a real pull, proxies and mirrors
    included, and transfers nothing; `docker manifest inspect` asks from the client's machine,
    `docker search` asks another service.
    """
    answer = docker.begin("pull", "--quiet", _ABSENT).answer_within(REGISTRY_BOUND_S)
    return answer.code == 0 or any(sign in answer.stderr for sign in _REACHED)


def lock_images(plan: Plan, docker: Docker, path: Path = LOCK_FILE) -> Lock:
    """Pins every image of the plan, which must be on the engine; earlier pins stay. Returns what
    was written.
    """
    before = load_lock()
    choices = [node.choice for node in plan.nodes]
    published = {
        choice.reference.partition("@")[0] for choice in choices if choice.origin == "published"
    }
    built = {
        built_alias(choice.key, choice.series, choice.reference.rpartition("-")[2])
        for choice in choices
        if choice.origin == "built" and choice.exact is None  # an exact version needs no pin
    }
    lock = Lock(
        published={
            **before.published,
            **{name: _digest(name, docker) for name in sorted(published)},
        },
        built={**before.built, **{alias: _exact_tag(alias, docker) for alias in sorted(built)}},
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, _LOCK_HEAD + yaml.safe_dump(lock.model_dump(), sort_keys=True))
    return lock


def _digest(reference: str, docker: Docker) -> str:
    digests = json.loads(
        docker.ask("image", "inspect", "--format", "{{json .RepoDigests}}", reference)
    )
    own = [digest for digest in digests if digest.startswith(f"{reference.rpartition(':')[0]}@")]
    if own:
        return str(own[0]).partition("@")[2]
    raise MachineError(
        f"{reference} has no digest to pin",
        "only a pulled image has one; this one was loaded or tagged here",
        f"try: docker pull {reference}",
    )


def _exact_tag(alias: str, docker: Docker) -> str:
    """The name of the same image that contains the package version."""
    tags = json.loads(docker.ask("image", "inspect", "--format", "{{json .RepoTags}}", alias))
    suite = alias.rpartition("-")[2]
    exact = [str(tag) for tag in tags if tag != alias and tag.endswith(f"-{suite}")]
    if exact:
        return exact[0]
    raise MachineError(
        f"{alias} has no name with its package version",
        "an image that was built here has one until it is removed",
        f"try: docker rmi {alias} && make images   (builds it again)",
    )


@contextmanager
def image_override(word: str, variable: str, docker: Docker) -> Iterator[str]:
    """The identity (``sha256:…``) of a local tag, of an identity, or of the one image of an
    archive.

    The image of an archive is removed on exit, and its names go back to the images that had them: a
    build with the name of the published image must not become the base too.

    Raises SandboxError (exit 4) for an unknown image.
    """
    if not _ARCHIVE.fullmatch(word):
        found = image_id(docker, word)
        if found:
            yield found
            return
        step = f"try: docker pull {word}"
        if word.startswith("sha256:"):
            step = "try: docker image ls --no-trunc"
        raise MachineError(
            f"{variable}={word} is not on this engine",
            "it takes a local tag, sha256:… or an archive of docker save (.tar, .tar.gz), and never"
            " pulls",
            step,
        )
    own = f"{OWN_NAME}:{uuid.uuid4().hex[:12]}"
    try:
        yield _load(Path(word), variable, own, docker)
    finally:
        docker.answer("rmi", own)  # an image that existed before keeps its other names


def volumes_of(identity: str, docker: Docker) -> set[str]:
    """Paths that the image declares as volumes."""
    text = docker.ask("image", "inspect", "--format", "{{json .Config.Volumes}}", identity)
    return set(json.loads(text) or {})


def _load(path: Path, variable: str, own: str, docker: Docker) -> str:
    """Loads the archive's image and names it ``own``; no other name moves to another image."""
    names = _names_in(path, variable)
    with locked("given-image", lambda: None):
        before = {name: image_id(docker, name) for name in names}
        try:
            text = docker.ask("load", "--input", str(path.resolve()))
            loaded = _LOADED.findall(text)
            identity = image_id(docker, loaded[-1]) if loaded else None
            if identity is None:
                raise _no_archive(
                    path,
                    variable,
                    f"docker load names no image: {text.strip() or 'it printed nothing'}",
                )
            docker.ask("tag", identity, own)
        finally:
            for name, owner in before.items():
                if owner is None:
                    docker.answer("rmi", name)
                elif image_id(docker, name) != owner:
                    docker.ask("tag", owner, name)
    return identity


def _names_in(path: Path, variable: str) -> list[str]:
    """The names that the archive's one image carries."""
    try:
        with tarfile.open(path) as archive:
            member = archive.extractfile("manifest.json")
            images = json.load(member) if member else []
    except (OSError, KeyError, ValueError, tarfile.TarError) as problem:
        raise _no_archive(path, variable, str(problem)) from problem
    if len(images) != 1:
        raise _no_archive(path, variable, f"it contains {len(images)} images, not exactly one")
    return list(images[0].get("RepoTags") or [])


def _no_archive(path: Path, variable: str, reason: str) -> SandboxError:
    return MachineError(
        f"{variable}={path} is not a valid image archive",
        reason,
        "try: docker save --output image.tar <image>",
    )
