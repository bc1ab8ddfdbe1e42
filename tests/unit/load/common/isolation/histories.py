"""Histories of list-append, made by hand or by an executor that runs one transaction after the
other.
"""

import random
from collections.abc import Sequence
from typing import Any

from sandbox.load.common.isolation.history import Txn, TxnOutcome
from sandbox.load.common.isolation.list_append import ListHistory, anomalies

Op = Sequence[Any]


def append(key: int, element: int) -> Op:
    """An append."""
    return ["append", key, element]


def read(key: int, *elements: int) -> Op:
    """A read and what it saw."""
    return ["r", key, list(elements)]


class Script:
    """Transactions one after the other, unless a test says otherwise; each second one."""

    def __init__(self) -> None:
        self.txns: list[Txn] = []

    def add(
        self,
        *ops: Op,
        outcome: TxnOutcome = "ok",
        process: int | None = None,
        at: tuple[int, int] | None = None,
        final: bool = False,
        node: str = "n1",
    ) -> Txn:
        """``at``: beginning and end, s; else after all before it."""
        number = len(self.txns)
        began, ended = at or (10 * number, 10 * number + 5)
        client = number if process is None else process
        txn = Txn(number, client, node, outcome, began * 10**9, ended * 10**9, list(ops), final)
        self.txns.append(txn)
        return txn

    def end(self, *ops: Op, node: str = "n1") -> "Script":
        """The final reads of a node."""
        self.add(*ops, final=True, node=node)
        return self

    @property
    def found(self) -> dict[str, int]:
        """Anomalies with a count above 0."""
        every = anomalies(ListHistory(self.txns))
        assert all(len(each.examples) == min(3, each.count) for each in every.values())
        return {name: each.count for name, each in every.items() if each.count}


def serial(seed: int, count: int, keys: int, overwrite: bool) -> Script:
    """What a server shows that runs one transaction at a time; some roll back, of some the client
    knows nothing.
    """
    dice, script = random.Random(seed), Script()
    lists: dict[int, list[int]] = {key: [] for key in range(keys)}
    element = 0
    for _ in range(count):
        outcome: TxnOutcome = dice.choices(("ok", "fail", "info"), (8, 1, 1))[0]
        taken = outcome == "ok" or (outcome == "info" and dice.random() < 0.5)
        now = {key: list(value) for key, value in lists.items()}
        ops = []
        for _ in range(dice.randint(1, 4)):
            key = dice.randrange(keys)
            writes = dice.random() < 0.5
            if not writes or overwrite:
                ops.append(read(key, *now[key]))
            if writes:
                element += 1
                now[key].append(element)
                ops.append(append(key, element))
        script.add(*ops, outcome=outcome, process=dice.randrange(3))
        lists = now if taken else lists
    return script.end(*(read(key, *value) for key, value in lists.items()))


def with_ops(txn: Txn, ops: Sequence[Op]) -> Txn:
    """The same transaction with other operations."""
    return Txn(
        txn.index, txn.process, txn.node, txn.outcome, txn.began_ns, txn.ended_ns, ops, txn.final
    )
