"""Where the prober of a trial writes and reads, and which servers it observes."""

from collections.abc import Mapping, Sequence
from contextlib import suppress

from sandbox.core.errors import SandboxError
from sandbox.measure.trial.ledger_on_servers import schema_of
from sandbox.measure.trial.prober import ProberPlan
from sandbox.measure.trial.run import TrialRequest
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode


def prober_plan(
    stack: RunningStack,
    entry: EntryPoint,
    nodes: Sequence[StackNode],
    roles: Mapping[str, ServerRole | None],
    trial: TrialRequest,
    seed: int,
) -> ProberPlan:
    """The plan of a prober: through a proxy, or as a client that knows every server of the group
    and tries the next.
    """
    servers = [
        node
        for node in nodes
        if node.is_server and node.group_index == entry.group_index and node.port
    ]
    direct = sorted(servers, key=lambda node: node.name != entry.node)
    through_proxy = any(node.kind == "proxy" for node in nodes if node.name == entry.node)
    write = [(entry.node, entry.port)] if through_proxy else _ports(direct)
    readers = [node for node in servers if roles.get(node.name) == "reader"]
    own_port = _read_port(stack, entry) if through_proxy else []
    # Of a cluster whose every member takes writes, the others are read while the first one is
    # written to.
    others = [node for node in direct[1:] if node.topology not in (None, "single")]
    read, schema = own_port or _ports(readers or others) or write, schema_of(entry)
    ours = [node for node in servers if node.has_container]
    return ProberPlan(
        write, read, ours, schema, trial.rates, trial.timeout_s, trial.transaction, seed=seed
    )


def _ports(nodes: Sequence[StackNode]) -> list[tuple[str, int]]:
    return [(node.name, node.port) for node in nodes if node.port is not None]


def _read_port(stack: RunningStack, entry: EntryPoint) -> list[tuple[str, int]]:
    """The proxy's port for reads, where it has one."""
    with suppress(SandboxError):
        return [(entry.node, stack.entry_point(f"{entry.node}:ro").port)]
    return []
