"""What one node's ledger table holds, from its compact JSON: op ids by the host that took them. Pure."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sandbox.results.trial.columns import Whole

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
    """Rows from compact JSON, parsed or not: ``{"hosts": {"galera1": ["1-500", "502"]}, "more_than_once": {"17": 2}}``.

    Raises ValueError for anything else, and for an op that has several rows but is not among those of any host.
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

    ``np.unique`` of NumPy 2.3 and newer collects the ops in a hash table first, whose time grows faster than their
    number: 400,000 ops took 0.6 s there and 0.004 s here.
    """
    ops = np.sort(np.concatenate([NO_OPS, *sets]))
    first_of_its_kind = np.ones(len(ops), dtype=bool)
    first_of_its_kind[1:] = ops[1:] != ops[:-1]
    return ops[first_of_its_kind]
