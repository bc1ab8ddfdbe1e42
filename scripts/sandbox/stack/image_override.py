"""The image override: the user's image instead of the catalog's, found or loaded from an archive before the start."""

import json
import re
import tarfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.engine import Docker
from sandbox.stack.images import image_id
from sandbox.stack.locks import locked

OWN_NAME = "sandbox/given"
"""Repository that keeps the image of an archive while it is needed."""
_ARCHIVE = re.compile(r".+\.(tar|tgz|tar\.(gz|bz2|xz))")
_LOADED = re.compile(r"^Loaded image(?: ID)?: (\S+)$", re.MULTILINE)


@contextmanager
def image_override(word: str, variable: str, docker: Docker) -> Iterator[str]:
    """The identity (``sha256:…``) of a local tag, of an identity, or of the one image of an archive.

    The image of an archive is removed on exit, and its names go back to the images that had them: a build with the name
    of the published image must not become the base too.

    Raises SandboxError (exit 4) for an unknown image.
    """
    if not _ARCHIVE.fullmatch(word):
        yield _identity(word, variable, docker)
        return
    own = f"{OWN_NAME}:{uuid.uuid4().hex[:12]}"
    try:
        yield _load(Path(word), variable, own, docker)
    finally:
        docker.answer("rmi", own)  # an image that existed before keeps its other names


def volumes_of(identity: str, docker: Docker) -> set[str]:
    """Paths that the image declares as volumes."""
    text = docker.ask("image", "inspect", "--format", "{{json .Config.Volumes}}", identity)
    return set(json.loads(text) or {})


def _identity(word: str, variable: str, docker: Docker) -> str:
    found = image_id(docker, word)
    if found:
        return found
    raise SandboxError(
        f"{variable}={word} is not on this engine",
        "it takes a local tag, sha256:… or an archive of docker save (.tar, .tar.gz), and never pulls",
        f"try: docker pull {word}" if not word.startswith("sha256:") else "try: docker image ls --no-trunc",
        ExitCode.ENVIRONMENT,
    )


def _load(path: Path, variable: str, own: str, docker: Docker) -> str:
    """Loads the archive's image and names it ``own``; no other name moves to another image."""
    names = _names_in(path, variable)
    with locked("given-image", lambda: None):
        before = {name: image_id(docker, name) for name in names}
        try:
            text = docker.ask("load", "--input", str(path.resolve()))
            identity = image_id(docker, _LOADED.findall(text)[-1])
            docker.ask("tag", identity or "", own)
        finally:
            for name, owner in before.items():
                _give_back(name, owner, docker)
    return identity or ""


def _give_back(name: str, owner: str | None, docker: Docker) -> None:
    if owner is None:
        docker.answer("rmi", name)
    elif image_id(docker, name) != owner:
        docker.ask("tag", owner, name)


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
    return SandboxError(
        f"{variable}={path} is not a valid image archive",
        reason,
        "try: docker save --output image.tar <image>",
        ExitCode.ENVIRONMENT,
    )
