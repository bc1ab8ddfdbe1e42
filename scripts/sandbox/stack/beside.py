"""A container beside a node, in its network: it runs one program, and ends with its input."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox.core.errors import SandboxError
from sandbox.profile.names import CPU_SHARES, Identity
from sandbox.stack.engine import CommandStream, Docker
from sandbox.stack.inventory import HELPER, Container, helper_options
from sandbox.stack.protocol import OnEvent

if TYPE_CHECKING:  # Pydantic's models: the guard of a trial ends such a container without them
    from sandbox.profile.images import ImageChoice

PURPOSE = "driver"
"""In the names of such containers."""


def stream_beside(
    docker: Docker,
    identity: Identity,
    node: Container,
    image: str,
    argv: Sequence[str],
    weight: float,
) -> CommandStream:
    """Starts a program in a container of its own that shares the network of a node: what cuts the
    node off or delays it does the same to the program.

    Its input stays open until ``close_stdin``; the engine ends that when our client dies, however
    it dies, so that a program which ends with its input leaves nothing. ``image``: a key of the
    catalog, maybe with a version (``mariadb-test@10.11``), which `supply_beside` has put on the
    engine; ``weight``: of its processors, a server's being 1.
    """
    own = f"{node.node}-{PURPOSE}"
    name = f"{identity.project}-{own}"
    docker.answer("rm", "--force", name)  # of a trial that was killed a moment ago
    network = ["--network", f"container:{node.id}"]
    shares = f"--cpu-shares={round(weight * CPU_SHARES)}"
    options = ["--rm", "--interactive", "--name", name, *helper_options(identity, node=own)]
    program, *words = argv
    command = ["--user", "0", "--entrypoint", program, choice_of(image, docker).reference, *words]
    return docker.stream("run", *options, *network, shares, *command, stdin=True)


def end_beside(docker: Docker, found: Iterable[Container]) -> None:
    """Removes those among some containers that stand beside a node so."""
    for each in found:
        if each.kind == HELPER and each.node.endswith(f"-{PURPOSE}"):
            with suppress(SandboxError):
                docker.answer("rm", "--force", each.id)


def choice_of(image: str, docker: Docker) -> "ImageChoice":
    """The image of a key of the catalog, maybe with a version, as this machine gets it."""
    # Late, for start-up time: Pydantic's models, which the guard of a trial does without.
    from sandbox.profile.images import choose_image
    from sandbox.profile.reader import load_library, load_lock
    from sandbox.stack.images import engine_availability

    catalog = load_library().catalog
    key, _, version = image.partition("@")
    available = engine_availability(load_lock(), docker, catalog)
    return choose_image(catalog, key, version or None, available)


def supply_beside(image: str, on_event: OnEvent, docker: Docker) -> None:
    """Puts the image of a key on the engine: built once, where it is not here.

    Raises SandboxError (exit 4) where it can neither be pulled nor built.
    """
    # Late, for start-up time: likewise.
    from sandbox.stack.supply import supply

    supply([choice_of(image, docker)], on_event, docker)
