"""PURE: EXPLAIN of one query on two servers: what each does to each table, and what differs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.upgrade.sql_text import kind_of, words

Family = Literal["mysql", "mariadb"]
Cell = str | int | float | None

_COLUMNS: dict[Family, dict[str, int]] = {
    "mariadb": {"table": 2, "type": 3, "key": 5, "extra": 9},
    "mysql": {"table": 2, "type": 4, "key": 6, "extra": 11},
}
"""Places of the columns in the servers' traditional format."""
_SHOWN = ("Using filesort", "Using temporary", "Using index", "Using join buffer")
"""The notes of EXPLAIN that say how a query runs; the others say why."""
_SCANS = ("ALL", "index")


@dataclass(frozen=True, slots=True)
class PlanStep:
    """What a plan does to one table."""

    table: str
    access: str
    """EXPLAIN's type: ``ref``, ``ALL``, …"""
    key: str | None
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """``orders: ref by customer, Using filesort``."""
        by = f" by {self.key}" if self.key else ""
        return ", ".join([f"{self.table}: {self.access}{by}", *self.notes])


QueryPlan = tuple[PlanStep, ...]


def can_be_explained(sql: str) -> bool:
    """Whether EXPLAIN takes it."""
    return kind_of(sql) in ("read", "write") and words(sql)[:1] not in (["VALUES"], ["TABLE"])


def explain_of(sql: str, family: Family) -> str:
    """The question, in the format that has a row for each table."""
    # MySQL takes its default format from a variable.
    return f"EXPLAIN FORMAT=TRADITIONAL {sql}" if family == "mysql" else f"EXPLAIN {sql}"


def plan_of(rows: Sequence[Sequence[Cell]], family: Family) -> QueryPlan:
    """The steps of an answer, in their order; rows without a table, such as of a union's result,
    are left out.
    """
    places = _COLUMNS[family]
    steps = []
    for row in rows:
        if len(row) <= places["extra"] or row[places["table"]] is None:
            continue
        notes = _notes_in(str(row[places["extra"]] or ""))
        key = row[places["key"]]
        access = str(row[places["type"]])
        steps.append(
            PlanStep(str(row[places["table"]]), access, None if key is None else str(key), notes)
        )
    return tuple(steps)


def _notes_in(extra: str) -> tuple[str, ...]:
    """``Using where; Using join buffer (flat, BNL join)`` → what of it is shown."""
    said = [each.partition(" (")[0].strip() for each in extra.split(";")]
    return tuple(each for each in _SHOWN if each in said)


def text_of(plan: QueryPlan) -> str:
    """A plan in one line."""
    return "; ".join(step.text for step in plan) or "no table"


def differs_for_the_worse(on_from: QueryPlan, on_to: QueryPlan) -> bool:
    """Whether a table that was read by a key is read whole now."""
    before = {step.table: step.access for step in on_from}
    return any(
        step.access in _SCANS and before.get(step.table, "ALL") not in _SCANS for step in on_to
    )
