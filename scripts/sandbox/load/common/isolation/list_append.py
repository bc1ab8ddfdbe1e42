"""Lists that transactions append to and read: their order of versions, and the anomalies of a
history of them. Pure.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from sandbox.load.common.isolation.history import Anomaly, Dependencies, Txn, cycles

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
    """A list-append history and what follows from it: who appended what, who read what, and the
    order of versions.

    Each append is unique, so a list says which writes it holds and in which order: Kingsbury and
    Alvaro, "Elle: Inferring Isolation Anomalies from Experimental Observations" (VLDB 2020).
    """

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
        """The elements that its last external read saw, by key."""
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
    """The elements that a transaction appends, by key, in its order."""
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
    found = []
    appended = set()
    for name, key, value in txn.ops:
        if name == "append":
            appended.add(key)
        else:
            found.append(ListRead(txn, key, tuple(value or ()), key not in appended))
    return found


def anomalies(history: ListHistory) -> dict[str, Anomaly]:
    """Every anomaly that is looked for, by the names of `promises.ANOMALIES`."""
    found = {
        "aborted_reads": _aborted(history),
        "intermediate_reads": _intermediate(history),
        "unexplained_reads": _unexplained(history),
        "incompatible_orders": _incompatible(history),
        "non_repeatable_reads": _non_repeatable(history),
        "internal_inconsistencies": _internal(history),
        "lost_updates": _lost_updates(history),
        "lost_writes": _lost_writes(history),
        "stale_reads": _stale(history),
        "fractured_reads": _fractured(history),
        "non_monotonic_reads": _non_monotonic(history),
        "divergence": _divergence(history),
    }
    by_kind = cycles(dependencies(history))
    names = {txn.index: txn for txn in history.txns}
    circles = {
        kind: [" → ".join(str(names[each]) for each in cycle) for cycle in by_kind[kind]]
        for kind in by_kind
    }
    return {name: Anomaly.of(list(each)) for name, each in (found | circles).items()}


def _seen(read: ListRead) -> str:
    return f"{read.txn}: key {read.key}"


def _aborted(history: ListHistory) -> Iterator[str]:
    """G1a: a read of what was rolled back (Adya 1999)."""
    failed = {element for element, txn in history.writer.items() if txn.outcome == "fail"}
    for read in history.reads:
        if bad := failed.intersection(read.elements):
            yield f"{_seen(read)} has {min(bad)}, which was rolled back"


def _intermediate(history: ListHistory) -> Iterator[str]:
    """G1b: a read between two writes of another transaction (Adya 1999)."""
    for read in history.reads:
        writer = history.writer.get(read.elements[-1]) if read.elements else None
        if writer is None or writer.index == read.txn.index:
            continue
        last = appends_of(writer).get(read.key, [None])[-1]
        if last != read.elements[-1] and last not in read.elements:
            yield (
                f"{_seen(read)} ends with {read.elements[-1]}, after which {writer} appended {last}"
            )


def _unexplained(history: ListHistory) -> Iterator[str]:
    """An element that no transaction appended, or one that is there twice (Elle: garbage and
    duplicate elements).
    """
    for read in history.reads:
        if len(set(read.elements)) < len(read.elements) or any(
            each not in history.writer for each in read.elements
        ):
            yield f"{_seen(read)} has an element twice, or one that nobody appended"


def _incompatible(history: ListHistory) -> Iterator[str]:
    """Two reads of a key of which neither is a beginning of the other (Elle: incompatible
    order).
    """
    found: dict[tuple[Key, Elements], ListRead] = {}
    for read in history.reads:
        if not history.is_version(read.key, read.elements):
            found.setdefault((read.key, read.elements), read)
    for read in found.values():
        yield f"{read.txn}: key {read.key} is no beginning of the final list"


def _non_repeatable(history: ListHistory) -> Iterator[str]:
    """P2: one transaction read a key twice, without a write of its own before, and differently
    (Berenson 1995).
    """
    earlier: dict[tuple[int, Key], Elements] = {}
    for read in history.reads:
        if (
            read.external
            and earlier.setdefault((read.txn.index, read.key), read.elements) != read.elements
        ):
            yield f"{_seen(read)} changed between two reads"


def _internal(history: ListHistory) -> Iterator[str]:
    """A read after a write of its own shows more, or less, than what it read before and wrote
    (Elle: internal).
    """
    for txn in history.committed:
        known: dict[Key, Elements] = {}
        own: dict[Key, Elements] = {}
        for name, key, value in txn.ops:
            if name == "append":
                own[key] = (*own.get(key, ()), value)
            elif key not in own:
                known[key] = tuple(value or ())
            elif not _follows(tuple(value or ()), known.get(key), own[key]):
                yield f"{txn}: key {key} is not what it read before, with its own writes"


def _follows(seen: Elements, known: Elements | None, own: Elements) -> bool:
    return seen == known + own if known is not None else seen[-len(own) :] == own


def _lost_updates(history: ListHistory) -> Iterator[str]:
    """P4: a transaction updated a version that another one had replaced since it had read it
    (Berenson 1995).
    """
    groups: dict[tuple[Key, Elements], list[tuple[Txn, Element]]] = {}
    for txn in history.committed:
        for key, elements in history.last_reads.get(txn.index, {}).items():
            if own := appends_of(txn).get(key):
                groups.setdefault((key, elements), []).append((txn, own[0]))
    for (key, version), updates in groups.items():
        late = [txn for txn, own in updates if history.place.get(own, 0) > len(version)]
        gone = [txn for txn, own in updates if own not in history.place]
        for txn in [*late, *(gone if len(gone) < len(updates) else gone[1:])]:
            yield (
                f"{txn}: key {key} was updated by another transaction between its read and its"
                " write"
            )


def _lost_writes(history: ListHistory) -> Iterator[str]:
    """An acknowledged append that is not there in the end."""
    if history.final is None:
        return
    for txn in history.committed:
        for key, elements in appends_of(txn).items():
            for element in {*elements} - {*history.final.get(key, ())}:
                yield f"{txn}: {element} is not in the final list of key {key}"


def _stale(history: ListHistory) -> Iterator[str]:
    """A read that began after an append was acknowledged and misses it, though it is there in the
    end.
    """
    acked = {
        element: txn.ended_ns for element, txn in history.writer.items() if txn.outcome == "ok"
    }
    never = 2**63
    for txn in history.committed:
        for key, elements in history.first_reads.get(txn.index, {}).items():
            missed = history.later(key, elements)
            if any(acked.get(each, never) < txn.began_ns for each in missed):
                oldest = min(acked.get(each, never) for each in missed)
                yield (
                    f"{txn}: key {key} misses a write acknowledged"
                    f" {(txn.began_ns - oldest) / 1e6:.1f} ms before"
                )


def _fractured(history: ListHistory) -> Iterator[str]:
    """A transaction saw one write of another, but not its write to another key (Bailis 2014: read
    atomicity).
    """
    written = {txn.index: appends_of(txn) for txn in history.txns}
    for txn in history.committed:
        reads = history.first_reads.get(txn.index, {})
        if len(reads) > 1 and (other := _half_seen(history, txn, reads, written)):
            yield f"{txn} saw a part of {other}"


def _half_seen(
    history: ListHistory,
    txn: Txn,
    reads: Mapping[Key, Elements],
    written: Mapping[int, Mapping[Key, list[Element]]],
) -> Txn | None:
    later = {key: frozenset(history.later(key, elements)) for key, elements in reads.items()}
    for elements in reads.values():
        for element in elements:
            writer = history.writer.get(element)
            if writer is None or writer.index == txn.index or writer.outcome == "fail":
                continue
            for key, own in written[writer.index].items():
                if not later.get(key, frozenset()).isdisjoint(own):
                    return writer
    return None


def _non_monotonic(history: ListHistory) -> Iterator[str]:
    """A client, whose reads all go to one node, no longer saw what it had seen (Terry 1994:
    monotonic reads).
    """
    latest: dict[tuple[int, Key], frozenset[Element]] = {}
    for txn in history.committed:
        for key, elements in history.first_reads.get(txn.index, {}).items():
            if not latest.get((txn.process, key), frozenset()).isdisjoint(
                history.later(key, elements)
            ):
                yield f"{txn}: key {key} lacks what this client had read before"
            latest[txn.process, key] = frozenset(elements)


def _divergence(history: ListHistory) -> Iterator[str]:
    """Nodes that hold different lists in the end."""
    for node, lists in history.finals.items():
        if history.final is not None and lists != history.final:
            differ = [key for key in history.final if lists.get(key) != history.final[key]]
            yield (
                f"{node} differs in key"
                f" {', '.join(map(str, differ[:3])) or 'more than the first node has'}"
            )


def dependencies(history: ListHistory) -> Dependencies:
    """Write-write, write-read and read-write dependencies between transactions that took effect
    (Adya 1999).

    Only of reads that are a beginning of the order of versions: of others it is not known what they
    depend on.
    """
    ww, wr, rw = set(), set(), set()
    writer = {
        element: txn.index for element, txn in history.writer.items() if txn.outcome != "fail"
    }
    for elements in history.order.values():
        known = [writer[each] for each in elements if each in writer]
        ww |= {(first, second) for first, second in pairwise(known) if first != second}
    for read in history.reads:
        order = history.order.get(read.key, ())
        count = len(read.elements)
        own = read.txn.index
        if read.txn.final or not read.external or not history.is_version(read.key, read.elements):
            continue
        if count and read.elements[-1] in writer:
            wr.add((writer[read.elements[-1]], own))
        if count < len(order) and writer.get(order[count], own) != own:
            rw.add((own, writer[order[count]]))
    return Dependencies(frozenset(ww), frozenset(wr), frozenset(rw))
