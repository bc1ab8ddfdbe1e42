"""A history as a client saw it: transactions with their outcome, from JSON lines in the form that
Elle reads. Pure.
"""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

MOST_EXAMPLES = 3
_SHOWN_ELEMENTS = 4

TxnOutcome = Literal["ok", "fail", "info"]
"""Committed, rolled back, or unknown."""
MicroOp = Sequence[Any]
"""``["append", key, element]`` or ``["r", key, [elements]]``; of a bank: see `bank`."""


@dataclass(frozen=True, slots=True)
class Txn:
    """One transaction. ``ops``: as far as it came, with what it read; of one that is not ``ok``, as
    it was meant.

    ``began_ns``, ``ended_ns``: on the client's one monotonic clock. ``final``: a read after the
    load had ended.
    """

    index: int
    process: int
    node: str
    outcome: TxnOutcome
    began_ns: int
    ended_ns: int
    ops: Sequence[MicroOp]
    final: bool = False

    def __str__(self) -> str:
        shown = ", ".join(map(_shown, self.ops[:_SHOWN_ELEMENTS]))
        return (
            f"#{self.index} on {self.node}"
            f" ({shown}{', …' if len(self.ops) > _SHOWN_ELEMENTS else ''})"
        )


def _shown(op: MicroOp) -> str:
    name, key, *rest = op
    (value,) = rest if len(rest) == 1 else (rest,)
    if isinstance(value, list) and len(value) > _SHOWN_ELEMENTS:
        return f"{name} {key} [… {' '.join(map(str, value[-_SHOWN_ELEMENTS:]))}]"
    return (
        f"{name} {key} [{' '.join(map(str, value))}]"
        if isinstance(value, list)
        else f"{name} {key} {value}"
    )


class Anomaly(BaseModel):
    """How often an anomaly was found, and the first of them in words."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    count: int = 0
    examples: tuple[str, ...] = ()

    @classmethod
    def of(cls, found: Sequence[str]) -> "Anomaly":
        """From a description of each."""
        return cls(count=len(found), examples=tuple(found[:MOST_EXAMPLES]))


def read_history(lines: Iterable[str]) -> list[Txn]:
    """Transactions in the order in which they began. One without its completion has an unknown
    outcome.
    """
    open_by_process: dict[int, dict[str, Any]] = {}
    found: list[Txn] = []
    last_ns = 0
    for line in lines:
        event = json.loads(line)
        last_ns = event["time_ns"]
        if event["type"] == "invoke":
            open_by_process[event["process"]] = event
        else:
            found.append(_txn(open_by_process.pop(event["process"]), event))
    found += [
        _txn(begun, {**begun, "type": "info", "time_ns": last_ns})
        for begun in open_by_process.values()
    ]
    return sorted(found, key=lambda txn: txn.index)


def _txn(begun: dict[str, Any], ended: dict[str, Any]) -> Txn:
    outcome: TxnOutcome = ended["type"]
    ops = ended["value"] if outcome == "ok" else begun["value"]
    times = begun["time_ns"], ended["time_ns"]
    return Txn(
        begun["index"],
        begun["process"],
        begun["node"],
        outcome,
        *times,
        ops,
        begun.get("final", False),
    )
