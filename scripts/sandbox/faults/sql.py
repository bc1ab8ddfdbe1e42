"""sql: a statement breaks a server."""

import re
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.errors import MachineError, SandboxError
from sandbox.faults.common.model import Ending, Fault, Scene
from sandbox.faults.common.node import asking, has_ended, is_up, revive
from sandbox.plan.library import Kind
from sandbox.stack.protocol import ExecResult, NodeControl

_CONNECTION_LOST = frozenset({1053, 2006, 2013})
_KILLED = 137  # exit status of a command whose container has ended


class SqlFault(Fault):
    """The server carries out a statement, as root: what is seen depends on it, such as SHUTDOWN or SET GLOBAL."""

    kinds: ClassVar[frozenset[Kind]] = frozenset({"database", "replica", "external"})
    ending: ClassVar[Ending] = "ends the container"
    statement: str = Field(min_length=1, description="what breaks it; several are separated by ;")
    heal_statement: str | None = Field(default=None, description="what mends it")
    timeout_s: float = Field(default=10, gt=0, le=600, description="seconds that either may take")

    def before(self, node: NodeControl, scene: Scene) -> dict[str, str]:  # noqa: ARG002  (peers do not matter)
        _refuse_external(node)
        return {}

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (the same)
        _refuse_external(node)
        result = self._ask(node, self.statement)
        if result.code and not _has_lost_connection(result) and not has_ended(node):
            raise _refused(node, result)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (inject has seen it)
        return None

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        if has_ended(node):  # what a statement has set went with the server
            revive(node)
        elif self.heal_statement and is_up(node):
            result = self._ask(node, self.heal_statement)
            if result.code:
                raise _refused(node, result)

    def _ask(self, node: NodeControl, statement: str) -> ExecResult:
        try:
            return node.execute(asking(statement), self.timeout_s)
        except TimeoutError as problem:
            known = f"no answer within {self.timeout_s:g} s; timeout_s allows more"
            raise MachineError(f"the statement on {node.name} does not end", known, "try: make ps") from problem


def _has_lost_connection(result: ExecResult) -> bool:
    found = re.search(r"ERROR (\d+)", result.stderr)
    return int(found[1]) in _CONNECTION_LOST if found else result.code == _KILLED


def _refused(node: NodeControl, result: ExecResult) -> MachineError:
    known = result.last_error or f"exit code {result.code}"
    return MachineError(f"{node.name} refuses the statement", known, f"try: make sql NODE={node.name}")


def _refuse_external(node: NodeControl) -> None:
    if node.kind == "external":
        known = "it has no container here: run the statement there, and use the fault by-hand"
        raise SandboxError(f"{node.name} is run by somebody else", known, "try: make trial FAULT=by-hand")
