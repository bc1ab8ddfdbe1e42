"""A helper beside a node: a container of the client's image in its network namespace, with rights of its own."""

import re
from collections.abc import Callable, Sequence
from datetime import datetime

from sandbox.plan.names import Identity
from sandbox.stack.engine import Docker, RefusedError
from sandbox.stack.inventory import Container, helper_options
from sandbox.stack.protocol import ExecResult

ABSENT = re.compile(r"no such (object|container)|removal .* already in progress", re.IGNORECASE)
"""What the engine says of a container that is gone."""
LIFE_S = 900
"""How long a helper lives after its last script began: where whoever started it is killed, nobody removes it."""
_NOTE_USE = "kill -s USR1 1; "


def living(life_s: float) -> str:
    """The script of a helper: ends so long after the last signal USR1, and at once at TERM."""
    return f"""\
trap 'exit 0' TERM INT
trap 'used=1' USR1
used=1
while [ "$used" ]; do
  used=
  sleep {life_s} &
  wait $!
  kill $! 2>/dev/null || true
done
"""


class NodeHelper:
    """Started by its first script. Of all that root may do, it may do what its capabilities say, and nothing else."""

    def __init__(
        self, docker: Docker, identity: Identity, container: Container, purpose: str, capabilities: Sequence[str]
    ) -> None:
        """``purpose``: distinguishes the helpers of one node, in their names."""
        self.name = f"{identity.project}-{container.node}-{purpose}"
        self._docker, self._node = docker, container.id
        self._options = ["--name", self.name, *helper_options(identity, node=f"{container.node}-{purpose}")]
        self._options += ["--network", f"container:{container.id}", "--user", "0", "--cap-drop", "ALL"]
        self._options += [word for each in capabilities for word in ("--cap-add", each)]

    def run(
        self, script: str, timeout_s: float, image: Callable[[], str], mounts: Callable[[], Sequence[str]] = tuple
    ) -> ExecResult:
        """Runs ``bash -c script``; ``image`` and ``mounts`` (as ``--mount`` takes them) are asked for its start only.

        Raises RefusedError where it does not start, TimeoutError past ``timeout_s``.
        """
        if not self.runs():
            remove_helpers(self._docker, self)
            self._start(image(), mounts())
        return self._docker.answer("exec", self.name, "bash", "-c", _NOTE_USE + script, timeout_s=timeout_s)

    def runs(self) -> bool:
        """Whether there is one in the namespace that the node has now, or had last: each start makes another one."""
        template = "{{.State.Running}} {{.State.StartedAt}}"
        lines = self._docker.answer("inspect", "--format", template, self._node, self.name).stdout.splitlines()
        if len(lines) < 2:
            return False
        (_, began), (running, helper_began) = (line.split() for line in lines)
        return running == "true" and datetime.fromisoformat(helper_began) > datetime.fromisoformat(began)

    def _start(self, image: str, mounts: Sequence[str]) -> None:
        options = [*self._options, *(word for each in mounts for word in ("--mount", each))]
        argv = ("run", "--detach", "--rm", *options, "--entrypoint", "bash", image, "-c", living(LIFE_S))
        answer = self._docker.answer(*argv)
        if answer.code and not self.runs():  # another command may be quicker
            raise RefusedError(argv, answer)


def remove_helpers(docker: Docker, *helpers: NodeHelper) -> None:
    """Removes those that there are, in one call. Raises RefusedError."""
    argv = ("rm", "--force", *(each.name for each in helpers))
    answer = docker.answer(*argv)
    if answer.code and not all(ABSENT.search(line) for line in answer.stderr.splitlines()):
        raise RefusedError(argv, answer)
