"""sql: a statement breaks a server."""

import re
from collections.abc import Mapping
from typing import ClassVar

from pydantic import Field

from sandbox.core.errors import MachineError
from sandbox.failure.fault import Ending, Fault, Scene, soon
from sandbox.failure.faults.common.node import has_ended, is_up, revive, wait_for_end
from sandbox.profile.library import Kind
from sandbox.stack.protocol import ExecResult, NodeControl

_CONNECTION_LOST = frozenset({1053, 2006, 2013})
_AWAY = _CONNECTION_LOST | {2002, 2003, 2005}
"""Errors while an external server starts: no connection, or no name for its address."""
RETURN_LIMIT_S = 90.0
"""Less than the guard of a killed trial may take."""
SHUTDOWN_LIMIT_S = 60.0
_KILLED = 137  # exit status of a command whose container has ended


class SqlFault(Fault):
    """The server carries out a statement, as root (external: as its user): such as SHUTDOWN, SET
    GLOBAL.
    """

    kinds: ClassVar[frozenset[Kind]] = frozenset({"database", "replica", "external"})
    ending: ClassVar[Ending] = "ends the container"
    heals_inside: ClassVar[bool] = True
    statement: str = Field(min_length=1, description="what breaks it; several are separated by ;")
    heal_statement: str | None = Field(default=None, description="what heals it")
    timeout_s: float = Field(default=10, gt=0, le=600, description="seconds that either may take")

    def longest_s(self) -> float:
        return self.timeout_s

    def inject(self, node: NodeControl, scene: Scene) -> None:  # noqa: ARG002  (peers do not matter)
        result = self._ask(node, self.statement)
        if result.code and not _has_lost_connection(result) and not has_ended(node):
            raise _refused(node, result)

    def missing_effect(self, node: NodeControl, scene: Scene) -> str | None:  # noqa: ARG002  (inject has seen it)
        return None

    def heal(self, node: NodeControl, before: Mapping[str, str]) -> None:  # noqa: ARG002  (it needs nothing)
        # SHUTDOWN returns at once, and its server ends later, or starts anew.
        wait_for_end(node, SHUTDOWN_LIMIT_S)
        if has_ended(node):  # what a statement has set went with the server
            revive(node)
        elif self.heal_statement and (is_up(node) or node.kind == "external"):
            self._mend(node, self.heal_statement)

    def _mend(self, node: NodeControl, statement: str) -> None:
        """An external server may still be starting: nothing but asking again shows when it
        answers.
        """

        def look() -> str | None:
            result = self._ask(node, statement)
            if result.code and not (node.kind == "external" and _error_number(result) in _AWAY):
                raise _refused(node, result)
            return result.last_error if result.code else None

        if away := soon(look, RETURN_LIMIT_S):
            raise MachineError(f"{node.name} does not answer", away, "try: make heal")

    def _ask(self, node: NodeControl, statement: str) -> ExecResult:
        try:
            return node.ask(statement, self.timeout_s)
        except TimeoutError as problem:
            known = f"no answer within {self.timeout_s:g} s; timeout_s allows more"
            raise MachineError(
                f"the statement on {node.name} does not end", known, "try: make ps"
            ) from problem


def _has_lost_connection(result: ExecResult) -> bool:
    number = _error_number(result)
    return number in _CONNECTION_LOST if number else result.code == _KILLED


def _error_number(result: ExecResult) -> int | None:
    found = re.search(r"ERROR (\d+)", result.stderr)
    return int(found[1]) if found else None


def _refused(node: NodeControl, result: ExecResult) -> MachineError:
    known = result.last_error or f"exit code {result.code}"
    return MachineError(
        f"{node.name} refuses the statement", known, f"try: make sql NODE={node.name}"
    )
