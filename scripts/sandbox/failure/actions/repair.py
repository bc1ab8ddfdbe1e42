"""Repair: every server that does not come back by itself is restarted, rejoined or given a copy of
another's data.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from importlib.resources import files
from typing import ClassVar, Never

from pydantic import Field

from sandbox.core.errors import MachineError
from sandbox.failure.action import ActionRefusedError, Operation, StoppingAction, TooLateError
from sandbox.failure.actions.common.replication import (
    LOAD_CLONE_PLUGIN,
    Replica,
    replication_password,
)
from sandbox.failure.actions.rejoin import OwnHistoryError, Rejoin
from sandbox.profile.versions import at_least
from sandbox.stack.client_python import end_stream
from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.stack.server_status import ServerStatus

_SCRIPT = files(__package__).joinpath("mariadb_copy.sh").read_text(encoding="utf-8")
_COPY_S = 900.0


def copy_data(operation: Operation, donor: StackNode, recipient: StackNode) -> None:
    """Replaces all data of a server by the donor's, accounts included; then it follows the donor.

    MariaDB has no clone plugin, and its binary logs may not reach back to the beginning.
    Source: MariaDB's documentation, "Setting Up a Replica with mariadb-dump".

    Raises ActionRefusedError where the dump or its load fails; TimeoutError past 15 minutes.
    """
    argv = ["bash", "-c", _SCRIPT, "bash", donor.host, str(donor.port)]
    answer = operation.stack.run(recipient.name, argv, timeout_s=_COPY_S)
    if answer.code:
        raise ActionRefusedError(
            f"{recipient.name} has no copy of {donor.name}'s data", answer.last_error
        )
    Replica(operation, recipient).follow(
        donor, replication_password(operation), answer.stdout.strip()
    )


_WHAT_IS_DONE = {
    "restart": "restarting it",
    "rejoin": "it is to follow the writer",
    "rebuild": "it gets a copy of the writer's data",
}
_STATEMENT_S = 130.0
"""Leaving a group takes a server up to a minute."""
_END_S = 5.0
_CLONE_SINCE = "8.0.17"
_CLONE_S = 600.0
_IN_ITS_WAY = ("ERROR 3663", "ERROR 1290", "ERROR 3875")
"""Group replication is starting or stopping, or has just made the server read-only again."""
_ENDS_THE_SERVER = ("ERROR 3707", "ERROR 2013")
"""The clone is there, and the server starts anew; without a supervisor it ends
(ER_RESTART_SERVER_FAILED).
"""


class Repair(StoppingAction):
    """Brings back every server that does not return by itself: evicted, in no group any more,
    detached, stopped.

    It is restarted, or follows the writer again, or is given a copy of the writer's data where its
    own differs.
    """

    starts_servers: ClassVar[bool] = True
    findings: ClassVar[tuple[type[ActionRefusedError], ...]] = (ActionRefusedError,)
    ready_limit_s: float = Field(
        default=300.0, ge=1, le=3600, description="seconds for it to be back again"
    )

    @property
    def typical_s(self) -> float:
        return 30.0

    def perform(self, operation: Operation) -> str:
        """Nothing to do is no failure."""
        return (
            "; ".join(self.repaired(operation, lambda _: None))
            or "every server comes back by itself"
        )

    def repaired(self, operation: Operation, say: Callable[[str], None]) -> list[str]:
        """The repairs that were done, one sentence a server. ``say``: hears what begins."""
        states = operation.stack.server_states()
        done = []
        for node in operation.servers:
            state = states.get(node.name)
            if state is not None and state.needs_repair:
                say(f"{node.name} is {state.text}: {_WHAT_IS_DONE[state.repair]}")
                done.append(self._repair(operation, node, state))
        return done

    def _repair(self, operation: Operation, node: StackNode, state: ServerStatus) -> str:
        if state.repair == "restart":
            return self._restarted(operation, node, state)
        if state.repair == "rejoin":
            return self._rejoined(operation, node, state)
        return self._rebuilt(operation, node, state)

    def _restarted(self, operation: Operation, node: StackNode, state: ServerStatus) -> str:
        """A member joins its cluster when it starts; with no data where it does not come back with
        its own.
        """
        self._start_anew(operation, node, empty=False)
        if self._is_back(operation, node):
            return f"{node.name} was {state.word}: restarted"
        if operation.topology != "galera":
            return self._rebuilt(operation, node, state)
        self._start_anew(operation, node, empty=True)
        self._expect_back(operation, node)
        return f"{node.name} was {state.word}: given a full state transfer (SST)"

    def _rejoined(self, operation: Operation, node: StackNode, state: ServerStatus) -> str:
        """One whose history is not the writer's is given a copy of the writer's data: what it alone
        has is given up.
        """
        writer, _ = operation.places()
        replica = Replica(operation, node)
        if writer is None:
            _refuse(node, state, "no server of its group takes writes")
        elif operation.topology != "single":
            replica.become_read_only()
            replica.follow(writer, replication_password(operation))
        else:
            try:
                Rejoin(wait_s=1.0).perform(operation)
            except TooLateError:
                raise
            except OwnHistoryError as own:
                return self._rebuilt(operation, node, state, own.what)
            except (
                ActionRefusedError
            ):  # MariaDB finds out at the writer, which does not report what it lacks
                return self._rebuilt(operation, node, state, f"what {node.name} alone holds")
            if replica.status().source:
                replica.start()
        self._expect_back(operation, node)
        return f"{node.name} was {state.word}: it follows {writer.name if writer else ''}"

    def _rebuilt(
        self, operation: Operation, node: StackNode, state: ServerStatus, given_up: str = ""
    ) -> str:
        """A copy of the writer's data instead of its own."""
        donor, _ = operation.places()
        if donor is None or donor.name == node.name:
            _refuse(
                node, state, "no other server of its group takes writes, whose data it could get"
            )
        elif node.family == "mariadb":
            copy_data(operation, donor, node)
            way = f"its data is a copy of {donor.name}'s"
        else:
            self._clone(operation, donor, node, state)
            way = f"its data is a clone of {donor.name}'s"
        self._expect_back(operation, node)
        lost = f"; given up: {given_up}" if given_up else ""
        return f"{node.name} was {state.word}: {way}{lost}"

    def _clone(
        self, operation: Operation, donor: StackNode, node: StackNode, state: ServerStatus
    ) -> None:
        recipient = Replica(operation, node)
        if not at_least(recipient.version, _CLONE_SINCE):
            _refuse(
                node,
                state,
                f"MySQL has its clone plugin from {_CLONE_SINCE} on, and this is"
                f" {recipient.version}",
            )
        Replica(operation, donor).run(LOAD_CLONE_PLUGIN)
        began_s = time.monotonic()
        clone(operation, donor, recipient)
        operation.stack.control(node.name).start()
        operation.wait_for(lambda: _has_started_since(recipient, began_s), self.ready_limit_s)
        if node.topology == "single":
            recipient.follow(donor, replication_password(operation))

    def _start_anew(self, operation: Operation, node: StackNode, empty: bool) -> None:
        control = operation.stack.control(node.name)
        try:
            control.stop(self.grace_s)
            if empty:
                control.empty_data()
        finally:
            control.start()

    def _is_back(self, operation: Operation, node: StackNode) -> bool:
        """Whether it serves again; not before it is known to have failed again, or the limit is
        over.
        """
        began_s = time.monotonic()

        def settled() -> bool:
            state = _state(operation, node)
            if state is None or state.word == "down":
                return True
            is_lost = state.is_final and state.needs_repair
            return (
                is_lost
                or not state.repair
                or (state.needs_repair and time.monotonic() - began_s > self.grace_s)
            )

        operation.wait_for(settled, self.ready_limit_s, 1.0)
        state = _state(operation, node)
        return state is not None and state.repair == ""

    def _expect_back(self, operation: Operation, node: StackNode) -> None:
        if not self._is_back(operation, node):
            state = _state(operation, node)
            raise TooLateError(
                f"{node.name} is not back", state.text if state else "it does not answer"
            )


def repair_servers(stack: RunningStack, say: Callable[[str], None]) -> list[str]:
    """Repairs every group of a stack; what was done. ``say``: hears what begins, since it takes a
    while.

    Raises SandboxError where a server cannot be brought back.
    """
    nodes = [node for node in stack.nodes() if node.is_server and node.has_container]
    client = next(node.name for node in stack.nodes() if node.kind == "client")
    done: list[str] = []
    for group in sorted({node.group_index or 0 for node in nodes}):
        servers = [node for node in nodes if (node.group_index or 0) == group]
        done += Repair().repaired(Operation(stack, client, servers, []), say)
    return done


def _state(operation: Operation, node: StackNode) -> ServerStatus | None:
    states: Mapping[str, ServerStatus] = operation.stack.server_states()
    return states.get(node.name)


def _refuse(node: StackNode, state: ServerStatus, known: str) -> Never:
    raise ActionRefusedError(f"{node.name} is {state.text}", known)


def clone(operation: Operation, donor: StackNode, recipient: Replica) -> None:
    """Replaces all data of a server by a copy of the donor's; the server starts anew then.

    Source: MySQL's manual, "Cloning Remote Data".
    """
    is_member = recipient.node.topology == "gr"
    statements = (
        f"{'STOP GROUP_REPLICATION; ' if is_member else ''}SET GLOBAL super_read_only = OFF; SET"
        f" GLOBAL read_only = OFF; {LOAD_CLONE_PLUGIN}; SET GLOBAL clone_valid_donor_list ="
        f" '{donor.host}:{donor.port}'; CLONE INSTANCE FROM 'root'@'{donor.host}':{donor.port}"
        f" IDENTIFIED BY '{_root_password(operation)}'"
    )

    def is_done() -> bool:
        try:
            recipient.run(statements, _CLONE_S)
        except MachineError as refused:
            if any(code in refused.known for code in _IN_ITS_WAY):
                return False
            if not any(code in refused.known for code in _ENDS_THE_SERVER):
                raise
        return True

    with forming_held(operation, recipient.name) if is_member else nullcontext():
        if not operation.wait_for(is_done, _STATEMENT_S, 1.0):
            raise TooLateError(
                f"{recipient.name} takes no copy",
                f"its group replication moves for {_STATEMENT_S:g} s",
            )


@contextmanager
def forming_held(operation: Operation, node: str) -> Iterator[None]:
    """Keeps a member's forming script from starting group replication, by a lock of a session of
    its own.

    A start or a stop that is under way comes to its end. Between two attempts the lock must stay:
    the script of a member that fails again and again is never idle for long.
    """
    argv = ["mysql", "--defaults-file=/sandbox/client.cnf", "-N", "-B", "--unbuffered"]
    session = operation.stack.stream(node, argv)
    try:
        session.send("SELECT GET_LOCK('forming', 60);")
        next(session.lines(), "")
        yield
    finally:
        end_stream(session, _END_S)


def _has_started_since(server: Replica, began_s: float) -> bool:
    """Whether a server answers, and has started since a time on the monotonic clock."""
    try:
        uptime = server.run("SHOW GLOBAL STATUS LIKE 'Uptime'").get("Value", "")
    except MachineError:
        return False
    return uptime.isdigit() and int(uptime) < time.monotonic() - began_s


def _root_password(operation: Operation) -> str:
    """The root password of every server; it goes into statements on standard input only."""
    answer = operation.stack.run(
        operation.client, ["sed", "-n", "s/^password = //p", "/sandbox/root.cnf"]
    )
    if answer.code or not answer.stdout.strip():
        known = answer.last_error or "it is in /sandbox/root.cnf of the client node"
        raise MachineError("the password of root cannot be read", known, "try: make ps")
    return answer.stdout.strip()
