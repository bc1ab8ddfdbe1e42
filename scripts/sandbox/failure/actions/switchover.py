"""Planned switchover: another server becomes the writer while every server is well, and no
transaction is lost.
"""

from collections.abc import Sequence

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.action import Action, ActionRefusedError, Operation, names_of
from sandbox.failure.actions.common.replication import Replica
from sandbox.failure.actions.promote import follow
from sandbox.failure.gtid import transactions
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import StackNode

_CATCH_UP_LIMIT_S = 30.0
_SWITCH_LIMIT_S = 60.0


class Switchover(Action):
    """Another server becomes the writer, once it has all that the old one has written.

    Group Replication elects the chosen secondary. With asynchronous replication the writer stops
    taking writes, a replica applies what it had written and takes its place, and all others follow
    it, the old writer too.
    """

    def perform(self, operation: Operation) -> str:
        """Refused for Galera, whose members all take writes: which one gets them is the proxy's
        choice.
        """
        if operation.topology == "galera":
            raise ActionRefusedError(
                "every member of the cluster takes writes", "its proxy chooses who gets them"
            )
        writer, readers = operation.places()
        # An asynchronous replica behind the group is no member of it.
        if operation.topology == "gr":
            readers = [node for node in readers if node.kind == "database"]
        if writer is None or not readers:
            known = f"writer now: {writer.name if writer else 'none'}; readers: {names_of(readers)}"
            raise ActionRefusedError("a switchover needs a writer and a reader", known)
        switched = self._in_group if operation.topology == "gr" else self._in_replication
        return f"{switched(operation, writer, readers)} is the writer, instead of {writer.name}"

    def _in_group(
        self, operation: Operation, writer: StackNode, readers: Sequence[StackNode]
    ) -> str:
        """Source: MySQL's manual, "Changing the Primary"; running transactions on the old one end
        first.
        """
        chosen = readers[0]
        identity = Replica(operation, chosen).run("SELECT @@server_uuid AS id")["id"]
        statement = f"SELECT group_replication_set_as_primary('{identity}') AS done"
        Replica(operation, writer).run(statement, _SWITCH_LIMIT_S)
        return chosen.name

    def _in_replication(
        self, operation: Operation, writer: StackNode, readers: Sequence[StackNode]
    ) -> str:
        old = Replica(operation, writer)
        replicas = [Replica(operation, node) for node in readers]
        chosen = max(replicas, key=lambda each: transactions(each.held()))
        try:
            old.become_read_only()
            chosen.catch_up_with(old.held(), _CATCH_UP_LIMIT_S)
        except SandboxError:
            old.become_writable()
            raise
        try:
            chosen.become_writer()
        except SandboxError as error:
            _undo(operation, old, chosen, error)
            raise
        follow(operation, chosen.node, [each for each in (old, *replicas) if each is not chosen])
        return chosen.name


def _undo(operation: Operation, old: Replica, chosen: Replica, error: SandboxError) -> None:
    """The old writer takes writes again, unless the chosen one may do so too: that must answer, and
    be read-only.
    """
    try:
        writable = chosen.takes_writes()
    except SandboxError as silent:
        what = (
            f"{error.what}; {old.name} stays read-only, since {chosen.name} may have become the"
            " writer"
        )
        step = (
            f"try: make restart{name_option(operation.stack.name)} NODE={old.name}   (it then asks"
            " the others)"
        )
        raise MachineError(what, f"{error.known}; {silent.what}", step) from error
    if not writable:
        old.become_writable()
        if not chosen.status().source:
            follow(operation, old.node, [chosen])


def move_writer(operation: Operation, node: StackNode) -> None:
    """Before this server is stopped: if it is the writer and a replica follows it by GTID, that
    takes its place.

    A cluster elects another writer by itself.
    """
    if operation.topology != "single":
        return
    writer, readers = operation.places()
    if writer is None or writer.name != node.name or not Replica(operation, writer).has_gtids:
        return
    replicas = (Replica(operation, each) for each in readers)
    if any(each.has_gtids and each.status().source == writer.host for each in replicas):
        Switchover().perform(operation)
