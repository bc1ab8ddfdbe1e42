"""The ledger of a trial: what the client was promised against what every node holds. Pure."""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sandbox.measure.trial.columns import ACKED, FAILED, READ_STREAMS, STREAMS, UNKNOWN, Whole
from sandbox.measure.trial.observers import took_writes
from sandbox.measure.trial.prober_log import ProberLog
from sandbox.record.trial import BackwardsReads, LedgerCounts, OpCount, ReadExample, StaleReads

NO_OPS: Whole = np.empty(0, np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class NodeRows:
    """The ledger's rows on one node (docs/failover.md)."""

    ops: Whole
    """Sorted, each once."""
    by_host: Mapping[str, Whole]
    """@@hostname in the row → its ops, sorted, each once; one that two nodes took is in both."""
    more_than_once: Mapping[int, int]
    """Op → its number of rows, where that is not 1."""

    @property
    def count(self) -> int:
        """Rows in the table."""
        return len(self.ops) + sum(self.more_than_once.values()) - len(self.more_than_once)

    @property
    def repeated(self) -> Whole:
        """Ops with more than one row, sorted."""
        return np.array(sorted(self.more_than_once), dtype=np.int64)


def rows_of(content: str | Mapping[str, Any]) -> NodeRows:
    """Rows from compact JSON, parsed or not: ``{"hosts": {"galera1": ["1-500", "502"]},
    "more_than_once": {"17": 2}}``.

    Raises ValueError for anything else, and for an op that has several rows but is not among those
    of any host.
    """
    try:
        parsed = json.loads(content) if isinstance(content, str) else content
        by_host = {host: _expanded(ranges) for host, ranges in parsed["hosts"].items()}
        more = {int(op): int(rows) for op, rows in parsed["more_than_once"].items()}
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"not the rows of a ledger: {error!r} in {str(content)[:200]}") from None
    ops = union(by_host.values())
    if not np.isin(list(more), ops).all() or any(rows < 2 for rows in more.values()):
        raise ValueError(f"not the rows of a ledger: more_than_once holds {str(more)[:200]}")
    return NodeRows(ops, by_host, more)


def _expanded(ranges: Sequence[str]) -> Whole:
    """Every number of ranges such as ``1-500`` and ``502``, sorted, each once."""
    single = [each for each in ranges if "-" not in each]
    ends = [each.split("-") for each in ranges if "-" in each]
    first = np.fromiter((int(low) for low, _ in ends), np.int64, len(ends))
    lengths = np.fromiter((int(high) for _, high in ends), np.int64, len(ends)) - first + 1
    if (lengths < 1).any():
        raise ValueError("a range ends before it begins")
    before = np.cumsum(lengths) - lengths
    expanded = np.repeat(first - before, lengths) + np.arange(lengths.sum())
    return union([np.fromiter(map(int, single), np.int64, len(single)), expanded])


def union(sets: Iterable[Whole]) -> Whole:
    """Every op of these sets, sorted, each once.

    ``np.unique`` of NumPy 2.3 and newer collects the ops in a hash table first, whose time grows
    faster than their number: 400,000 ops took 0.6 s there and 0.004 s here.
    """
    ops = np.sort(np.concatenate([NO_OPS, *sets]))
    first_of_its_kind = np.ones(len(ops), dtype=bool)
    first_of_its_kind[1:] = ops[1:] != ops[:-1]
    return ops[first_of_its_kind]


MOST_EXAMPLES = 20
OLD_US = 1_000_000
"""Stale reads older than this count apart."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """The log of a prober, and the rows of each node that could be read after heal and rejoin.

    ``writer``: the node whose history counts then; in a multi-writer topology any; None where there
    is none. All sets are sorted arrays of op ids, each once; None: cannot be judged.
    """

    log: ProberLog
    present: Mapping[str, NodeRows]
    writer: str | None

    def written(self, outcome: int) -> Whole:
        """Ops with this outcome: `ACKED`, `FAILED` or `UNKNOWN`."""
        ops: Whole = self.log.writes.op[self.log.writes.outcome == outcome]
        return ops

    @cached_property
    def anywhere(self) -> Whole | None:
        """Ops that any node has; None where no node could be read."""
        return union([rows.ops for rows in self.present.values()]) if self.present else None

    @property
    def kept(self) -> Whole | None:
        """Ops that the writer has."""
        return (
            self.present[self.writer].ops
            if self.writer is not None and self.writer in self.present
            else None
        )

    @cached_property
    def taken(self) -> list[tuple[str, Whole]]:
        """Hosts, each with ops that it took as one node's rows say; a host once for each node that
        has such rows.
        """
        return [*itertools.chain(*(rows.by_host.items() for rows in self.present.values()))]

    def taker(self, op: int) -> str | None:
        """The host that took an op, by any node's rows; None where no row of it was read."""
        return next((host for host, ops in self.taken if op in ops), None)

    def lost(self) -> Whole | None:
        """Acked − present on the writer."""
        return _without(self.written(ACKED), self.kept)

    def lost_on(self, node: str) -> Whole | None:
        """Acked − present on this node."""
        return _without(
            self.written(ACKED), self.present[node].ops if node in self.present else None
        )

    def phantom(self) -> Whole | None:
        """Failed ∩ present on any node."""
        return _common(self.written(FAILED), self.anywhere)

    def duplicate(self) -> Whole | None:
        """Ops with more than one row on any node."""
        return union([rows.repeated for rows in self.present.values()]) if self.present else None

    def recovered(self) -> Whole | None:
        """Unknown ∩ present on the writer: information, no error."""
        return _common(self.written(UNKNOWN), self.kept)

    def unknown_absent(self) -> Whole | None:
        """Unknown − present on the writer: likewise."""
        return _without(self.written(UNKNOWN), self.kept)

    def unlisted(self) -> Whole | None:
        """Present on any node, but not in the log."""
        return None if self.anywhere is None else _without(self.anywhere, self.log.writes.op)

    def missing_on(self, node: str) -> Whole | None:
        """Present on another node, but not on this one."""
        return None if self.anywhere is None else _without(self.anywhere, self.present[node].ops)

    def divergent(self) -> Whole | None:
        """Ops whose rows differ between nodes: absent on one, of another host, or of another
        number.
        """
        nodes = list(self.present.values())
        if len(nodes) < 2:
            return None
        hosts = {host for rows in nodes for host in rows.by_host}
        sides = [[rows.by_host.get(host, NO_OPS) for rows in nodes] for host in hosts]
        numbers = [rows.more_than_once for rows in nodes]
        uneven = [
            op
            for op in {*itertools.chain(*numbers)}
            if len({each.get(op, 1) for each in numbers}) > 1
        ]
        return union([*map(_not_on_all, sides), np.array(uneven, dtype=np.int64)])

    def counts(self, split: Whole | None = None, writers_at_once: bool = False) -> LedgerCounts:
        """All verdicts as counts and examples; ``split``: the result of `split_brain`.

        ``writers_at_once``: several nodes take writes by design.
        """
        others = self.present.keys() - {self.writer}
        at_writer = _at_writer(self.log)
        if writers_at_once:
            at_writer[self._taken_elsewhere()] = False
        return LedgerCounts(
            acked=len(self.written(ACKED)),
            failed=len(self.written(FAILED)),
            unknown=len(self.written(UNKNOWN)),
            rows={node: rows.count for node, rows in self.present.items()},
            writer=self.writer,
            lost=_count(self.lost()),
            lost_on_readers=_counts_by_node(sorted(others), self.lost_on),
            phantom=_count(self.phantom()),
            duplicate=_count(self.duplicate()),
            recovered=_count(self.recovered()),
            unknown_absent=_count(self.unknown_absent()),
            unlisted=_count(self.unlisted()),
            divergent=_count(self.divergent()),
            missing_on=_counts_by_node(self.present, self.missing_on),
            split_brain=_count(split),
            stale={stream: stale_reads(self.log, stream, at_writer) for stream in READ_STREAMS},
            non_monotonic=backwards_reads(self.log),
        )

    def _taken_elsewhere(self) -> Whole:
        """Reads that missed only what other nodes than theirs had taken: as good as reads at a
        reader.
        """
        reads = self.log.reads
        nodes = np.array(self.log.nodes)[reads.node[reads.stale_read]]
        own, known = np.zeros((2, len(nodes)), dtype=bool)
        for host, ops in self.taken:
            held = np.isin(reads.stale_op, ops)
            known |= held
            own |= held & (nodes == host)
        elsewhere = known & ~own
        return np.setdiff1d(reads.stale_read[elsewhere], reads.stale_read[~elsewhere])


def split_brain(
    ledger: Ledger, elected: Sequence[tuple[float, str]], resolution_us: float
) -> Whole | None:
    """Acknowledged writes that another node took while an elected one was the writer, and that this
    one has not.

    For single-writer topologies. ``elected``: as `observers.elections` found them, each the writer
    until the next one. None where nothing was found, and a node's rows are missing for it: the
    elected one's, or those that have a write.
    """
    ends = [*(at for at, _ in elected[1:]), math.inf]
    periods = [
        (at + resolution_us, end - resolution_us)
        for (at, _), end in zip(elected, ends, strict=True)
    ]
    found = [
        _apart(ledger, node, period) for (_, node), period in zip(elected, periods, strict=True)
    ]
    apart = union([each for each in found if each is not None])
    return apart if len(apart) or all(each is not None for each in found) else None


def _apart(ledger: Ledger, elected: str, period_us: tuple[float, float]) -> Whole | None:
    """Judges by its own rows, not by the last writer's, which may be the old one; who took a write
    shows in any node's rows.
    """
    writes = ledger.log.writes
    rows = ledger.present.get(elected)
    (since, until) = period_us
    if rows is None:
        return None
    late = writes.op[(writes.outcome == ACKED) & (writes.sent > since) & (writes.sent < until)]
    missing = late[np.isin(late, rows.ops, invert=True)]
    apart = np.intersect1d(missing, union([ops for host, ops in ledger.taken if host != elected]))
    return (
        apart
        if len(apart) or np.isin(missing, union([ops for _, ops in ledger.taken])).all()
        else None
    )


def stale_reads(log: ProberLog, stream: str, at_writer: NDArray[np.bool_]) -> StaleReads:
    """The stale reads of the writer or of the readers: a read at the writer that a reader answered
    is the readers'.
    """
    reads = log.reads
    own = at_writer if stream == "writer" else ~at_writer
    chosen = np.flatnonzero(own[reads.stale_read])
    read, age = reads.stale_read[chosen], reads.stale_age[chosen]
    oldest = chosen[np.argsort(-age, kind="stable")[:MOST_EXAMPLES]]
    return StaleReads(
        reads=int(np.count_nonzero(own & reads.ok)),
        stale=len(np.unique(read)),
        above_1s=len(np.unique(read[age > OLD_US])),
        longest_age_ms=float(age.max()) / 1000 if len(age) else None,
        examples=tuple(
            ReadExample(
                op=int(reads.stale_op[each]),
                node=log.nodes[reads.node[reads.stale_read[each]]],
                age_ms=float(reads.stale_age[each]) / 1000,
            )
            for each in oldest
        ),
    )


def _at_writer(log: ProberLog) -> NDArray[np.bool_]:
    """Reads at the writer, by what their nodes were: without one, a client that has a list reads
    from the next node.
    """
    reads = log.reads
    found: NDArray[np.bool_] = reads.stream == STREAMS.index("writer")
    for code, node in enumerate(log.nodes):
        own = reads.node == code
        found[own] &= took_writes(log.observations.get(node, ()), reads.sent[own])
    return found


def backwards_reads(log: ProberLog) -> BackwardsReads:
    """The reads of both streams that were not monotonic."""
    reads = log.reads
    first = zip(
        reads.backwards_read[:MOST_EXAMPLES], reads.backwards_op[:MOST_EXAMPLES], strict=True
    )
    examples = tuple(
        ReadExample(op=int(op), node=log.nodes[reads.node[read]]) for read, op in first
    )
    return BackwardsReads(count=len(np.unique(reads.backwards_read)), examples=examples)


def _without(ops: Whole, others: Whole | None) -> Whole | None:
    return (
        None
        if others is None
        else ops[np.isin(ops, others, assume_unique=True, invert=True, kind="sort")]
    )


def _common(ops: Whole, others: Whole | None) -> Whole | None:
    return None if others is None else np.intersect1d(ops, others, assume_unique=True)


def _not_on_all(sides: Sequence[Whole]) -> Whole:
    """Ops that are not in each of these sets."""
    ops, counts = np.unique(np.concatenate(sides), return_counts=True)
    return ops[counts < len(sides)]


def _counts_by_node(
    nodes: Iterable[str], ops_of: Callable[[str], Whole | None]
) -> dict[str, OpCount]:
    """The count of ops of each node that has any."""
    found = {}
    for node in nodes:
        count = _count(ops_of(node))
        if count:
            found[node] = count
    return found


def _count(ops: Whole | None) -> OpCount | None:
    return (
        None
        if ops is None
        else OpCount(count=len(ops), examples=tuple(map(int, ops[:MOST_EXAMPLES])))
    )
