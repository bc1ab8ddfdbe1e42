"""The means to break a server that somebody else runs: its own words, from the client node.
Implements the protocol.
"""

from typing import TYPE_CHECKING, Any, Never

from sandbox.core.errors import SandboxError
from sandbox.stack.entry import client_argv, login
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import EntryPoint, ExecResult, NodeControl

if TYPE_CHECKING:  # a word of Pydantic's models: a `sql` starts without them
    from sandbox.profile.library import Kind

_CONNECT_S = 5
"""A host that is down must not use up the time of a statement."""


def _refuse(*given: Any, **_: Any) -> Never:
    """Stands for every verb that needs a container."""
    known = "somebody else runs it, and all that reaches it is a statement"
    raise SandboxError(
        f"{given[0].name} has no container here", known, "try: make trial FAULT=by-hand"
    )


class ExternalControl(NodeControl):
    """An external server, asked from the client node; the password is in the client's option
    file.
    """

    kind: "Kind" = "external"

    def __init__(self, stack: StackNodes, entry: EntryPoint) -> None:
        self.name, self._stack, self._entry = entry.node, stack, entry

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        client = self._stack.client
        account = login(self._stack.members, self._entry)
        options = [f"--connect-timeout={_CONNECT_S}", "-N", "-B"]
        argv = [*client_argv(client, self._entry, account), *options]
        return self._stack.run(client.node, argv, statement, timeout_s)

    def state(self) -> str:
        return "external"

    def release(self) -> None:
        pass

    address = signal = pause = unpause = stop = start = in_volumes = empty_data = disconnect = (
        connect
    ) = _refuse
    limits = limit = weigh = execute = in_network = beside_disk = write_limit = _refuse
