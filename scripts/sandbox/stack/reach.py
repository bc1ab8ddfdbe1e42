"""Whether containers of a private network reach one another by name: tried for real, one calls the other."""

import uuid
from dataclasses import dataclass
from typing import Literal

from sandbox.stack.engine import Docker, Pending
from sandbox.stack.inventory import helper_options
from sandbox.stack.naming import identity

_PATIENCE_S = 30.0
_LISTENER, _PORT = "listener", 3306
# Both give up by themselves: nothing stays where the caller is killed.
_LISTEN = f"import socket; s = socket.create_server(('', {_PORT})); s.settimeout(20); s.accept()"
_CALL = f"""
import socket, time
end, said = time.monotonic() + 10, ''
while time.monotonic() < end:
    try:
        socket.create_connection(('{_LISTENER}', {_PORT}), 2)
        print('reached')
        break
    except OSError as error:
        said = str(error)
        time.sleep(0.05)
else:
    print(said)
"""


@dataclass(frozen=True, slots=True)
class Reach:
    """What was found: whether the one reached the other, and the last thing that it was told where it did not."""

    state: Literal["reached", "not reached", "not tried"]
    said: str = ""


class ReachProbe:
    """Two containers under way on a network of their own."""

    _pending: tuple[Pending, ...]

    def __init__(self, docker: Docker, image: str | None) -> None:
        """Starts them; ``image`` None: the client image is not here, nothing is tried."""
        self._docker, self._pending, self._refused = docker, (), ""
        if image is None:
            return
        owner = identity("doctor")
        labels = helper_options(owner)
        self._network = f"{owner.project}-reach-{uuid.uuid4().hex[:8]}"
        self._refused = docker.answer("network", "create", "--internal", *labels, self._network).stderr.strip()
        if self._refused:
            return
        run = ("run", "--rm", "--network", self._network, *labels, "--entrypoint", "python3")
        listener = docker.begin(*run, "--network-alias", _LISTENER, image, "-c", _LISTEN)
        self._pending = (docker.begin(*run, image, "-c", _CALL), listener)

    def found(self) -> Reach:
        """Waits for the answer, and takes the network away."""
        if not self._pending:
            return Reach("not reached", self._refused) if self._refused else Reach("not tried")
        caller, listener = self._pending
        try:
            answer = caller.answer(_PATIENCE_S)
            if answer.stdout.strip() == "reached":
                listener.answer(_PATIENCE_S)
                return Reach("reached")
            return Reach("not reached", (answer.stdout.strip() or answer.stderr.strip()).rpartition("\n")[2])
        except TimeoutError as late:
            return Reach("not reached", str(late))
        finally:
            self._remove()

    def _remove(self) -> None:
        attached = self._docker.answer("ps", "--all", "--quiet", "--filter", f"network={self._network}").stdout.split()
        if attached:
            self._docker.answer("rm", "--force", *attached)
        self._docker.answer("network", "rm", self._network)
