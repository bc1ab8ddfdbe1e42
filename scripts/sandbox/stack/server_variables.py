"""The variables that the server of an image reports: asked once per image, then kept in the cache."""

import os
from collections.abc import Iterable
from pathlib import Path

from sandbox.plan.model import Node
from sandbox.plan.variable_names import Names, names_in
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import helper_options
from sandbox.stack.naming import identity

_PATIENCE_S = 30.0


def known_variables(nodes: Iterable[Node], docker: Docker) -> dict[str, Names]:
    """Variables by image reference; without missing images, or those whose server does not answer."""
    here = {node.image: node.component.spec.server for node in nodes if node.choice.source == "local"}
    found = {image: _of_image(image, server, docker) for image, server in here.items()}
    return {image: names for image, names in found.items() if names}


def _of_image(image: str, server: str, docker: Docker) -> Names:
    identity = docker.answer("image", "inspect", "--format", "{{.Id}}", image).stdout.strip()
    kept = _cache() / f"{identity.removeprefix('sha256:')}.txt"
    if identity and kept.is_file():
        return frozenset(kept.read_text(encoding="utf-8").split())
    names = _asked(image, server, docker)
    if identity and names:
        kept.parent.mkdir(parents=True, exist_ok=True)
        kept.write_text("\n".join(sorted(names)) + "\n", encoding="utf-8")
    return names


def _asked(image: str, server: str, docker: Docker) -> Names:
    """Empty where it takes too long: names are then unchecked, as for a missing image."""
    labels = helper_options(identity("variables"))
    run = ("run", "--rm", "--network", "none", *labels, "--entrypoint", server, image)
    try:
        answer = docker.answer(*run, "--no-defaults", "--verbose", "--help", timeout_s=_PATIENCE_S)
    except TimeoutError:
        return frozenset()
    return names_in(answer.stdout) if answer.code == 0 else frozenset()


def _cache() -> Path:
    """``~/.cache/sandbox/variables``, one file per image."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sandbox" / "variables"
