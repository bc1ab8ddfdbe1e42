"""What the kernel of the engine's machine can do of what faults need: tried in a container of the
client's image.
"""

from collections.abc import Mapping
from importlib.resources import files
from weakref import WeakKeyDictionary

from sandbox.profile.names import Identity
from sandbox.stack.engine import Docker, Pending, RefusedError
from sandbox.stack.inventory import offline_options

KERNEL_ABILITIES = ("netem", "tbf", "iptables", "write-limit")
"""Names of what `lacking` knows about."""
CONTROL_GROUPS = "/sys/fs/cgroup:/cgroup"
"""The mount with which a helper sees the control groups of every container."""
WRITE_LIMIT = files(__package__).joinpath("write_limit.sh").read_text(encoding="utf-8")
_TRY = files(__package__).joinpath("abilities.sh").read_text(encoding="utf-8")
_PATIENCE_S = 20.0
_known: WeakKeyDictionary[Docker, Mapping[str, str]] = WeakKeyDictionary()


def begin_trying(docker: Docker, image: str, owner: Identity) -> Pending:
    """Starts the container; `read_answers` reads its output. ``image``: the client's, which has the
    tools.
    """
    run = [
        "run",
        "--rm",
        *offline_options(owner),
        "--user",
        "0",
        "--cap-add",
        "NET_ADMIN",
    ]
    return docker.begin(
        *run,
        "--volume",
        f"{CONTROL_GROUPS}:ro",
        "--entrypoint",
        "sh",
        image,
        "-c",
        _TRY,
        "try",
        WRITE_LIMIT,
    )


def read_answers(text: str) -> dict[str, tuple[bool, str]]:
    """Name → whether the kernel can do it, and the answer of what was tried."""
    lines = [line.split(" ", 2) for line in text.splitlines()]
    return {
        line[0]: (line[1] == "yes", line[2] if len(line) > 2 else "")
        for line in lines
        if len(line) > 1
    }


def lacking(docker: Docker, image: str, owner: Identity) -> Mapping[str, str]:
    """What of KERNEL_ABILITIES the kernel cannot do, each with the reason; asked once for an
    engine.

    Raises SandboxError (exit 4) where the container does not run: then nothing is known, and it is
    asked again.
    """
    if docker not in _known:
        pending = begin_trying(docker, image, owner)
        ended = pending.answer_within(_PATIENCE_S)
        if ended.code:
            raise RefusedError(pending.argv, ended)
        answers = read_answers(ended.stdout)
        found = {name: answers.get(name, (False, "no answer")) for name in KERNEL_ABILITIES}
        _known[docker] = {
            name: reason or "no reason given" for name, (can, reason) in found.items() if not can
        }
    return _known[docker]
