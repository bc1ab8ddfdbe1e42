"""The user's own images on the engine: what is in one, and what keeps it from being used."""

import hashlib
from collections.abc import Callable
from functools import cache

from sandbox.core.errors import MachineError, SandboxError
from sandbox.core.paths import write_atomically
from sandbox.profile.compose import compose_document
from sandbox.profile.given import ImageAnswer
from sandbox.profile.images import Catalog
from sandbox.profile.names import Identity
from sandbox.profile.plan import Node, Plan
from sandbox.profile.templates import PLACEHOLDER
from sandbox.stack.engine import Docker
from sandbox.stack.images import image_id, volumes_of
from sandbox.stack.inventory import helper_options
from sandbox.stack.locks import cache_folder
from sandbox.stack.naming import identity

_PATIENCE_S = 30.0
_ASK = """\
PATH=$PATH:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
for words; do
  command -v "${words%% *}" >/dev/null 2>&1 || continue
  printf '%s\\t%s\\n' "$words" "$($words 2>/dev/null | grep -m 1 '[0-9]')"
done
id -u mysql >/dev/null 2>&1 && printf 'user\\t%s:%s\\n' "$(id -u mysql)" "$(id -g mysql)"
echo end
"""
"""Arguments: version commands, each one word. Prints a line for each program that is there."""


def asker(docker: Docker, catalog: Catalog) -> Callable[[str], ImageAnswer | None]:
    """A question to an image by its reference: what is in it; None for one that is not here.

    An image is asked once, then kept in the user's cache, a file per image.
    """
    commands = sorted({each.reports.command for each in catalog.images.values() if each.reports})

    @cache
    def ask(reference: str) -> ImageAnswer | None:
        known = image_id(docker, reference)
        if known is None:
            return None
        return _answer(known, _lines(docker, known, [" ".join(each) for each in commands]))

    return ask


def _lines(docker: Docker, known: str, commands: list[str]) -> str:
    """What the image prints; empty where it does not answer, which is not kept."""
    asked = hashlib.sha256("\n".join([_ASK, *commands]).encode()).hexdigest()[:8]
    kept = cache_folder() / "programs" / f"{known.removeprefix('sha256:')}-{asked}.txt"
    if kept.is_file():
        return kept.read_text(encoding="utf-8")
    labels = helper_options(identity("programs"))
    run = ("run", "--rm", "--network", "none", "--user", "0", *labels, "--entrypoint", "sh", known)
    answer = docker.begin(*run, "-c", _ASK, "sh", *commands).answer_within(_PATIENCE_S)
    if answer.code != 0:
        return ""
    kept.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(kept, answer.stdout)
    return answer.stdout


def _answer(known: str, text: str) -> ImageAnswer:
    pairs = dict(line.split("\t", 1) for line in text.splitlines() if "\t" in line)
    user = pairs.pop("user", None)
    return ImageAnswer(known, {command: line for command, line in pairs.items() if line}, user)


def refuse_stray_volumes(plan: Plan, docker: Docker) -> None:
    """Raises SandboxError (exit 2) for an own image with a volume that its component does not
    mount: it would carry no label, and escape `make down`.
    """
    own = {
        node.image: node
        for node in plan.nodes
        if node.choice.origin == "given" and node.choice.source == "local"
    }
    if not own:
        return
    services = compose_document(plan, PLACEHOLDER, Identity("own", ""))["services"]
    for image, node in own.items():
        service = services[node.name]
        known = {str(each).split(":")[1] for each in service.get("volumes", [])}
        known |= {str(path).partition(":")[0] for path in service.get("tmpfs", [])}
        stray = sorted(volumes_of(image, docker) - known)
        if stray:
            raise SandboxError(
                f"{image} declares a volume that {node.component.name} does not mount",
                f"{', '.join(stray)}; mounted: {', '.join(sorted(known)) or 'none'}",
                f"try: docker image inspect {image}   (then rebuild it without that VOLUME)",
            )


def refusal_of_absent(nodes: list[Node]) -> MachineError | None:
    """The error for own images that are neither on the engine nor can be pulled; else None."""
    absent = {node.image: None for node in nodes if node.choice.origin == "given"}
    if not absent:
        return None
    first = next(iter(absent))
    step = f"try: docker pull {first}"
    if first.startswith("sha256:"):
        step = "try: docker image ls --no-trunc"
    return MachineError(
        f"IMAGE: {', '.join(absent)} is not on this engine, which reaches no registry",
        "it takes a local image, sha256:… or a reference that a registry has",
        step,
    )
