"""Forced quorum: most members of a cluster are lost for good, and the rest is made its primary
component.
"""

from collections.abc import Sequence

from pydantic import Field

from sandbox.core.errors import MachineError
from sandbox.failure.action import Action, ActionRefusedError, Operation, TooLateError, names_of
from sandbox.failure.actions.common.replication import Replica
from sandbox.failure.gtid import transactions
from sandbox.stack.protocol import StackNode

_FORCE_LIMIT_S = 60.0
_STATEMENT_S = 130.0
"""A server waits 60 s for a membership, newer ones 120 s for a forced one; until then it takes no
variable back.
"""
_ADDRESS = "SELECT @@group_replication_local_address AS address"
_MEMBERS = "SET GLOBAL group_replication_force_members = "
_GALERA = (
    "SELECT MAX(IF(variable_name = 'wsrep_cluster_status', variable_value, NULL)) AS component,"
    " MAX(IF(variable_name = 'wsrep_last_committed', variable_value, NULL)) AS committed FROM"
    " {schema}.global_status WHERE variable_name IN ('wsrep_cluster_status',"
    " 'wsrep_last_committed')"
)
_OPTIONS_ARE_VARIABLES = (
    "SELECT COUNT(*) AS found FROM information_schema.plugins"
    " WHERE plugin_name = 'wsrep_provider' AND plugin_status = 'ACTIVE'"
)
"""MariaDB from 11.3 on: with this plugin each of the provider's options is a variable, and their
list is read-only.
"""
_GR = (
    "SELECT COALESCE(MAX(IF(member_id = @@server_uuid, member_state, NULL)), 'OFFLINE') AS state,"
    " COALESCE(2 * SUM(member_state IN ('ONLINE', 'RECOVERING')) > COUNT(*), 0) AS majority"
    " FROM performance_schema.replication_group_members"
)
_RECEIVED = (
    "SELECT GTID_SUBTRACT(CONCAT_WS(',', NULLIF(@@GLOBAL.gtid_executed, ''), (SELECT"
    " NULLIF(received_transaction_set, '') FROM performance_schema.replication_connection_status"
    " WHERE channel_name = 'group_replication_applier')), '') AS received"
)
"""The transactions that a member has executed or received, as one set."""


class ForceQuorum(Action):
    """Forces quorum, starting from the most advanced survivor.

    What the lost members alone had is given up. They join again when they return, as after any
    other absence.
    """

    wait_s: float = Field(
        default=30.0, ge=0, le=600, description="seconds for the survivors to notice the loss"
    )

    @property
    def stop_limit_s(self) -> float:
        return _STATEMENT_S

    def perform(self, operation: Operation) -> str:
        """Refused where any member that answers is in a primary component: there would be two."""
        if operation.topology == "single":
            return "nothing to do: asynchronous replication has no quorum"
        others = [node for node in operation.members if node.name not in operation.targets]
        survivors = [node for node in others if operation.answers(node)]
        if not survivors:
            raise ActionRefusedError(
                "no member is left that answers", f"lost: {', '.join(operation.targets)}"
            )
        primary = _in_galera if operation.topology == "galera" else _in_group
        _expect_no_quorum(operation, self.wait_s)
        return (
            f"{primary(operation, survivors)} is the primary component's first member, of"
            f" {names_of(survivors)}"
        )


def _expect_no_quorum(operation: Operation, limit_s: float = 0.0) -> None:
    """Waits for that. Raises ActionRefusedError where a member still has one at the limit."""
    if not operation.wait_for(lambda: not _of_quorum(operation), limit_s):
        names = ", ".join(_of_quorum(operation))
        raise ActionRefusedError(
            f"the cluster has a quorum: {names}", "a second primary component would diverge"
        )


def _of_quorum(operation: Operation) -> list[str]:
    """Members that answer and are in a component with a quorum."""
    is_primary = _is_primary if operation.topology == "galera" else _has_majority
    return [
        node.name
        for node in operation.members
        if operation.answers(node) and is_primary(operation, node)
    ]


def _galera(operation: Operation, node: StackNode) -> dict[str, str]:
    schema = "information_schema" if node.family == "mariadb" else "performance_schema"
    return Replica(operation, node).run(_GALERA.format(schema=schema))


def _is_primary(operation: Operation, node: StackNode) -> bool:
    return _galera(operation, node).get("component") == "Primary"


def _in_galera(operation: Operation, survivors: Sequence[StackNode]) -> str:
    """Source: Galera's manual, "Resetting the Quorum": on the node that committed last."""

    def committed(node: StackNode) -> int:
        return int(_galera(operation, node).get("committed") or -1)

    first = max(survivors, key=committed)
    replica = Replica(operation, first)
    variables = replica.run(_OPTIONS_ARE_VARIABLES).get("found") == "1"
    option = (
        "wsrep_provider_pc_bootstrap = ON"
        if variables
        else "wsrep_provider_options = 'pc.bootstrap=YES'"
    )
    replica.run(f"SET GLOBAL {option}")
    _wait_for_all(operation, survivors)
    return first.name


def _has_majority(operation: Operation, node: StackNode) -> bool:
    state = Replica(operation, node).run(_GR)
    return state.get("state") in ("ONLINE", "RECOVERING") and state.get("majority") == "1"


def _in_group(operation: Operation, survivors: Sequence[StackNode]) -> str:
    """Members that wait for the lost ones get another membership; those that have given up form the
    group anew.

    Source: MySQL's manual, "Handling a Network Partition and Loss of Quorum" and "Restarting a
    Group".
    """
    waiting = [node for node in survivors if _waits(operation, node)]
    able = waiting or list(survivors)

    def received(node: StackNode) -> int:
        """Transactions that it has executed, or has received and executes once it starts."""
        return transactions(Replica(operation, node).run(_RECEIVED).get("received") or "")

    first = max(able, key=received)  # nobody may have more than the first
    if not (waiting and _forced(operation, first, waiting)):
        _expect_no_quorum(operation)
        _bootstrap(Replica(operation, first))
    _wait_for_all(operation, survivors)
    return first.name


def _forced(operation: Operation, first: StackNode, waiting: Sequence[StackNode]) -> bool:
    """Whether the new membership came before the members gave up
    (group_replication_unreachable_majority_timeout).

    The variable is cleared again: while it is set, no member can start group replication.
    """
    replica = Replica(operation, first)
    addresses = [Replica(operation, node).run(_ADDRESS)["address"] for node in waiting]
    try:
        replica.run(f"{_MEMBERS}'{','.join(addresses)}'", _STATEMENT_S)
    except MachineError:
        if _waits(operation, first):
            raise
    finally:
        operation.wait_for(
            lambda: _try_to_clear(replica) or not operation.answers(first), _STATEMENT_S
        )
    operation.wait_for(
        lambda: _has_majority(operation, first) or not _waits(operation, first), _FORCE_LIMIT_S
    )
    return _has_majority(operation, first)


def _waits(operation: Operation, node: StackNode) -> bool:
    """A member without a majority is still one until it gives up."""
    return Replica(operation, node).run(_GR).get("state") == "ONLINE"


def _try_to_clear(replica: Replica) -> bool:
    """Whether the server took it; while it starts or stops group replication, as after giving up,
    it does not.
    """
    try:
        replica.run(f"{_MEMBERS}''")
    except MachineError:
        return False
    return True


def _bootstrap(replica: Replica) -> None:
    """The forming script beside each other survivor then finds the group and joins it."""
    replica.run("STOP GROUP_REPLICATION", _STATEMENT_S)
    try:
        replica.run(
            "SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION",
            _STATEMENT_S,
        )
    finally:
        replica.run("SET GLOBAL group_replication_bootstrap_group = OFF")


def _wait_for_all(operation: Operation, survivors: Sequence[StackNode]) -> None:
    wanted = {node.name for node in survivors}
    if not operation.wait_for(lambda: wanted <= {*_of_quorum(operation)}, _FORCE_LIMIT_S):
        missing = ", ".join(sorted(wanted - {*_of_quorum(operation)}))
        raise TooLateError(
            f"no quorum on {missing}", f"within {_FORCE_LIMIT_S:g} s of its being forced"
        )
