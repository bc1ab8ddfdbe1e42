"""A list-append history by key: who appended what, who read what, and the order of versions. Pure.

Each append is unique, so a list says which writes it holds and in which order: Kingsbury and
Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB 2020).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from sandbox.load.common.isolation.history import Txn

Key = int
Element = int
Elements = tuple[Element, ...]


@dataclass(frozen=True, slots=True)
class ListRead:
    """One read of a list. ``external``: its transaction had not appended to that key before."""

    txn: Txn
    key: Key
    elements: Elements
    external: bool


@dataclass(frozen=True)
class ListHistory:
    """A history and what follows from it."""

    txns: Sequence[Txn]

    @cached_property
    def committed(self) -> list[Txn]:
        """Committed transactions of the load."""
        return [txn for txn in self.txns if txn.outcome == "ok" and not txn.final]

    @cached_property
    def writer(self) -> Mapping[Element, Txn]:
        """Element → the transaction that appended it, whatever became of it."""
        return {op[2]: txn for txn in self.txns for op in txn.ops if op[0] == "append"}

    @cached_property
    def reads(self) -> list[ListRead]:
        """Every read of a committed transaction, the final ones too."""
        return [read for txn in self.txns if txn.outcome == "ok" for read in _reads_of(txn)]

    @cached_property
    def first_reads(self) -> Mapping[int, Mapping[Key, Elements]]:
        """Index of a committed transaction → key → what its first external read saw; without the
        final ones.
        """
        return _by_txn(reversed(self.reads))

    @cached_property
    def last_reads(self) -> Mapping[int, Mapping[Key, Elements]]:
        """What its last external read saw."""
        return _by_txn(self.reads)

    @cached_property
    def finals(self) -> Mapping[str, Mapping[Key, Elements]]:
        """Node → key → the list there in the end."""
        found: dict[str, dict[Key, Elements]] = {}
        for read in self.reads:
            if read.txn.final:
                found.setdefault(read.txn.node, {})[read.key] = read.elements
        return found

    @cached_property
    def final(self) -> Mapping[Key, Elements] | None:
        """The lists in the end at the first node that was read; None where none was."""
        return next(iter(self.finals.values()), None)

    @cached_property
    def order(self) -> Mapping[Key, Elements]:
        """Order of versions: the list in the end, or without it the longest that anyone read."""
        longest: dict[Key, Elements] = {}
        for read in self.reads:
            if len(read.elements) > len(longest.get(read.key, ())):
                longest[read.key] = read.elements
        return {**longest, **(self.final or {})}

    @cached_property
    def place(self) -> Mapping[Element, int]:
        """Place of each element in the order of versions of its key."""
        return {
            element: place
            for elements in self.order.values()
            for place, element in enumerate(elements)
        }

    def is_version(self, key: Key, elements: Elements) -> bool:
        """Whether a list is a beginning of the order of versions."""
        return self.order.get(key, ())[: len(elements)] == elements

    def later(self, key: Key, elements: Elements) -> Elements:
        """Elements that came after a version.

        Nothing of a list that is no version: where clients write lists that they computed, one that
        had read an older list may have replaced it, and it is not known what it came before.
        """
        return self.order.get(key, ())[len(elements) :] if self.is_version(key, elements) else ()


def appends_of(txn: Txn) -> dict[Key, list[Element]]:
    """What a transaction appends, by key, in its order."""
    found: dict[Key, list[Element]] = {}
    for op in txn.ops:
        if op[0] == "append":
            found.setdefault(op[1], []).append(op[2])
    return found


def _by_txn(reads: Iterable[ListRead]) -> dict[int, dict[Key, Elements]]:
    """The latter of several reads of a key counts."""
    found: dict[int, dict[Key, Elements]] = {}
    for read in reads:
        if read.external and not read.txn.final:
            found.setdefault(read.txn.index, {})[read.key] = read.elements
    return found


def _reads_of(txn: Txn) -> list[ListRead]:
    found, appended = [], set()
    for name, key, value in txn.ops:
        if name == "append":
            appended.add(key)
        else:
            found.append(ListRead(txn, key, tuple(value or ()), key not in appended))
    return found
