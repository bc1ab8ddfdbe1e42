"""PURE: which servers of a stack hold the same data, and which of them take writes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.stack.protocol import ServerRole, StackNode, followers


@dataclass(frozen=True)
class ServerSet:
    """Servers that hold the same data. ``writers``: those that take writes, the first of which is
    the reference; ``out``: servers that are out of their group, each with why.
    """

    servers: tuple[StackNode, ...]
    writers: tuple[str, ...]
    out: Mapping[str, str] = field(default_factory=dict)

    @property
    def names(self) -> list[str]:
        """All its servers, also those that are out of their group."""
        return [*(server.name for server in self.servers), *self.out]

    @property
    def reference(self) -> str:
        """The server with which the others are compared; without a writer, the first one."""
        return [*self.writers, *self.names][0]


def sets_of(nodes: Sequence[StackNode], roles: Mapping[str, ServerRole | None]) -> list[ServerSet]:
    """The sets of a stack: one for each group; of independent servers, one for each."""
    servers = [node for node in nodes if node.is_server and node.port is not None]
    groups = sorted({server.group_index or 0 for server in servers})
    found = []
    for group in groups:
        own = [server for server in servers if (server.group_index or 0) == group]
        found += _sets_of_group(own, roles)
    return found


def _sets_of_group(
    servers: Sequence[StackNode], roles: Mapping[str, ServerRole | None]
) -> list[ServerSet]:
    writers = [server.name for server in servers if roles.get(server.name) == "writer"]
    parts = {tuple(each.name for each in followers(servers, writer)): writer for writer in writers}
    if len(parts) < 2:
        return [_set_of(servers, writers, roles)]
    by_name = {server.name: server for server in servers}
    return [
        _set_of([by_name[name] for name in part], [writer], roles) for part, writer in parts.items()
    ]


def _set_of(
    servers: Sequence[StackNode], writers: Sequence[str], roles: Mapping[str, ServerRole | None]
) -> ServerSet:
    out = {
        server.name: _why_out(roles.get(server.name))
        for server in servers
        if roles.get(server.name) not in ("writer", "reader")
    }
    inside = tuple(server for server in servers if server.name not in out)
    return ServerSet(inside, tuple(writers), out)


def _why_out(role: ServerRole | None) -> str:
    return f"out of its group ({role})" if role else "it does not answer, or is out of its group"
