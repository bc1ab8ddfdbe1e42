"""Rolling upgrade: every server gets another version on its data in turn, the writer last."""

import time
from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import MachineError
from sandbox.failure.action import Action, ActionRefusedError, Operation
from sandbox.failure.actions.common.joining import to_be_ready, wait_until_back, writer_last
from sandbox.failure.actions.common.replication import Replica
from sandbox.failure.actions.switchover import move_writer
from sandbox.profile.images import Text
from sandbox.profile.versions import at_least, belongs_to
from sandbox.stack.protocol import StackNode

_TABLES_LIMIT_S = 300.0
_TABLES = (
    "exec $(command -v mariadb-upgrade || command -v mysql_upgrade)"
    " --defaults-file=/sandbox/client.cnf"
)


class RollingUpgrade(Action):
    """Each server is stopped in order and started in another version; the next follows when all are
    ready again.

    MySQL upgrades its system tables itself as it starts (from 8.0.16 on); for MariaDB it is done
    once it is ready. With asynchronous replication an upgraded replica takes the writer's place
    before the writer is stopped.
    """

    starts_servers: ClassVar[bool] = True
    to: Text = Field(
        pattern=r"^\d+(\.\d+)*(-\S+)?$", description="version to upgrade to, such as 11.8"
    )
    ready_limit_s: float = Field(
        default=300.0, ge=1, le=3600, description="seconds for the group to be ready again"
    )

    @property
    def typical_s(self) -> float:
        return 45.0

    @property
    def _series(self) -> str:
        """The version that a server of a tag such as ``8.4.10-10.1`` says it is."""
        return self.to.partition("-")[0]

    def perform(self, operation: Operation) -> str:
        """Refused for a version that is older than a server's, and where every server has it
        already.
        """
        order = [node for node in writer_last(operation) if self._is_older(operation, node)]
        if not order:
            raise ActionRefusedError(
                "there is nothing to upgrade", f"every server is {self.to} already"
            )
        before = to_be_ready(operation)
        for node in order:
            move_writer(operation, node)
            operation.stack.upgrade(node.name, self.to)
            wait_until_back(operation, node, before, self.ready_limit_s, time.monotonic())
            self._finish(operation, node)
        return f"upgraded to {self.to} in turn: {', '.join(node.name for node in order)}"

    def _is_older(self, operation: Operation, node: StackNode) -> bool:
        now = _version(operation, node)
        if belongs_to(now, self._series):
            return False
        if at_least(now, self._series):
            raise ActionRefusedError(
                f"{node.name} is {now}, which is newer than {self.to}", "data cannot go back"
            )
        return True

    def _finish(self, operation: Operation, node: StackNode) -> None:
        """Does what the server's version demands of its system tables, and checks that it is this
        version.
        """
        if node.family == "mariadb":
            answer = operation.stack.run(
                node.name, ["sh", "-c", _TABLES], timeout_s=_TABLES_LIMIT_S
            )
            if answer.code:
                known = answer.last_error or f"exit code {answer.code}"
                raise MachineError(
                    f"the system tables of {node.name} are not upgraded", known, "try: make logs"
                )
        now = _version(operation, node)
        if not belongs_to(now, self._series):
            what = f"{node.name} is {now} after its upgrade to {self.to}"
            raise MachineError(what, "its image has another version than its name", "try: make ps")


def _version(operation: Operation, node: StackNode) -> str:
    return Replica(operation, node).version
