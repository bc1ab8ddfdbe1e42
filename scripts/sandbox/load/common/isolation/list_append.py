"""The anomalies of a list-append history: by direct observation of lists, and as cycles of
dependencies. Pure.
"""

from collections.abc import Iterator, Mapping
from itertools import pairwise

from sandbox.load.common.isolation.cycles import Dependencies, cycles
from sandbox.load.common.isolation.history import Anomaly, Txn
from sandbox.load.common.isolation.lists import (
    Element,
    Elements,
    Key,
    ListHistory,
    ListRead,
    appends_of,
)


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
        order, count, own = history.order.get(read.key, ()), len(read.elements), read.txn.index
        if read.txn.final or not read.external or not history.is_version(read.key, read.elements):
            continue
        if count and read.elements[-1] in writer:
            wr.add((writer[read.elements[-1]], own))
        if count < len(order) and writer.get(order[count], own) != own:
            rw.add((own, writer[order[count]]))
    return Dependencies(frozenset(ww), frozenset(wr), frozenset(rw))
