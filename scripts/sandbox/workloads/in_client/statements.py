"""The user's own statements, drawn by weight."""

import itertools
import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.workloads.in_client.scenario import Job, Scenario

_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_READING = ("select", "show", "with", "values", "table", "explain", "describe", "desc")
_WRITING = ("insert", "update", "delete", "replace", "load", "call")


def kind_of(statement: str) -> str:
    """``read``, ``write`` or ``other``, by the first word."""
    word = statement.lstrip("( \n\t").split(None, 1)[0].lower()
    return "read" if word in _READING else "write" if word in _WRITING else "other"


@cache
def _read_units(file: str) -> list[dict[str, Any]]:
    """Read once for all threads of a process."""
    units: list[dict[str, Any]] = json.loads(Path(file).read_text(encoding="utf-8"))
    return units


class StatementsScenario(Scenario):
    """Draws a unit (a statement, or everything from BEGIN to COMMIT) by weight, and fills in its placeholders."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._units = _read_units(self.options["file"])
        self._bounds = list(itertools.accumulate(unit["weight"] for unit in self._units))

    def draw(self) -> tuple[str, Callable[[], None]]:
        (unit,) = self.random.choices(self._units, cum_weights=self._bounds)
        statements = ["".join(map(self._piece, pieces)) for pieces in unit["statements"]]
        return unit["name"], lambda: self._execute(statements)

    def _piece(self, piece: Any) -> str:
        """A piece is text, or a placeholder: its name and its numbers."""
        if isinstance(piece, str):
            return piece
        name, *numbers = piece
        if name == "random":
            return str(self.random.randint(*numbers))
        if name == "string":
            return "".join(self.random.choices(_LETTERS, k=numbers[0]))
        return str(self.job.number + 1)

    def _execute(self, statements: list[str]) -> None:
        for statement in statements:
            kind = kind_of(statement)
            if kind == "read":
                self.connection.read(statement)
            elif kind == "write":
                self.connection.write(statement)
            else:
                self.connection.other(statement)


def make(job: Job) -> Scenario:
    """Every thread does the same."""
    return StatementsScenario(job)
