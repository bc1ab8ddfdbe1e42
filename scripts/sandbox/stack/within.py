"""Programs that look into a node from a container of their own: at its processes, files and
network.
"""

import uuid
from collections.abc import Sequence

from sandbox.profile.names import CPU_SHARES, Identity
from sandbox.stack.engine import CommandStream, Docker
from sandbox.stack.inventory import Container, helper_options

_CAPABILITIES = (
    "SYS_PTRACE",  # stacks of threads, and files under /proc/PID/root
    "SYS_CHROOT",  # a tracer that finds the libraries of the node where the node has them
    "KILL",  # a server that a tracer has left stopped goes on
    "DAC_OVERRIDE",  # files that only the server's user may read
)
_WEIGHT = 4
"""Of its processors, a node's being 1: it is brief, and what it looks at may keep them all busy."""


def stream_within(
    docker: Docker, identity: Identity, node: Container, image: str, argv: Sequence[str]
) -> CommandStream:
    """Starts a program in a container that shares the processes and the network of a node.

    No privileged container: its rights are those in ``_CAPABILITIES``. It is removed when its
    program ends. Where the node does not run, the engine's refusal is the only line of the stream.
    """
    own = f"{node.node}-within"
    name = f"{identity.project}-{own}-{uuid.uuid4().hex[:6]}"
    shared = ["--pid", f"container:{node.id}", "--network", f"container:{node.id}"]
    shares = f"--cpu-shares={_WEIGHT * CPU_SHARES}"
    rights = ["--user", "0", "--cap-drop", "ALL"]
    rights += [word for each in _CAPABILITIES for word in ("--cap-add", each)]
    options = ["--rm", "--interactive", "--name", name, *helper_options(identity, node=own)]
    program, *words = argv
    command = ["--entrypoint", program, image, *words]
    return docker.stream("run", *options, *shared, shares, *rights, *command, stdin=True)
