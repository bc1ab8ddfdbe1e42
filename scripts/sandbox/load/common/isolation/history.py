"""A history of transactions: its events, and the cycles of dependencies among them. Pure."""

import heapq
import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
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

    model_config = ConfigDict(defer_build=True, extra="forbid", frozen=True)
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


Edge = tuple[int, int]
Cycle = list[int]


@dataclass(frozen=True)
class Dependencies:
    """Edges between transactions: the second depends on the first (Adya 1999; Elle 2020).

    ``ww``: it overwrote its version; ``wr``: it read it; ``rw``: it overwrote the version that the
    first read.
    """

    ww: frozenset[Edge]
    wr: frozenset[Edge]
    rw: frozenset[Edge]


def cycles(given: Dependencies) -> dict[str, list[Cycle]]:
    """``g0``: of writes alone; ``g1c``: with reads; ``g_single``: with exactly one read-write edge;
    ``g2_item``: more.

    Of G0, G1c and G2 one for each strongly connected component, of G-single one for each read-write
    edge that closes one; a component that holds a lesser kind is not searched for G2.
    """
    flow = given.ww | given.wr
    writes = _components(given.ww)
    both = _components(flow)
    all_edges = _components(flow | given.rw)
    g0 = _closed_in(writes, given.ww, given.ww)
    g1c = _closed_in(both, given.wr - given.ww, flow)
    g_single = _single(given, flow, both, all_edges)
    lesser = {all_edges[cycle[0]] for cycle in (*g0, *g1c, *g_single)}
    rest = {edge for edge in given.rw if all_edges[edge[0]] not in lesser}
    return {
        "g0": g0,
        "g1c": g1c,
        "g_single": g_single,
        "g2_item": _closed_in(all_edges, rest, flow | given.rw),
    }


def _components(edges: Collection[Edge]) -> dict[int, int]:
    """Node → number of its strongly connected component."""
    nodes = sorted({node for edge in edges for node in edge})
    if not nodes:
        return {}
    from scipy.sparse import csr_matrix  # here: it takes a second to import
    from scipy.sparse.csgraph import connected_components

    number = {node: place for place, node in enumerate(nodes)}
    ends = np.array([(number[first], number[second]) for first, second in edges])
    matrix = csr_matrix(
        (np.ones(len(ends), dtype=np.int8), (ends[:, 0], ends[:, 1])), shape=(len(nodes),) * 2
    )
    _, labels = connected_components(matrix, directed=True, connection="strong")
    return {node: int(label) for node, label in zip(nodes, labels, strict=True)}


def _closed_in(
    component: Mapping[int, int], through: Iterable[Edge], edges: Collection[Edge]
) -> list[Cycle]:
    """One cycle for each component that has an edge of ``through`` inside."""
    inside: dict[int, Edge] = {}
    for first, second in sorted(through):
        if component[first] == component[second]:
            inside.setdefault(component[first], (first, second))
    following = _following(edge for edge in edges if component[edge[0]] in inside)
    found = []
    for number, (first, second) in inside.items():
        if path := _path(following, second, first, component, (number, number)):
            found.append([first, *path])
    return found


def _single(
    given: Dependencies,
    flow: frozenset[Edge],
    both: Mapping[int, int],
    all_edges: Mapping[int, int],
) -> list[Cycle]:
    """One cycle for each read-write edge whose end leads back to its beginning by other edges
    alone.
    """
    following = _following(flow)
    rank = _ranks(flow, both)
    place = {node: rank[number] for node, number in both.items()}
    found = []
    for first, second in sorted(given.rw):
        if all_edges[first] != all_edges[second] or first not in both or second not in both:
            continue
        if path := _path(following, second, first, place, (place[second], place[first])):
            found.append([first, *path])
    return found


def _ranks(edges: Iterable[Edge], component: Mapping[int, int]) -> dict[int, int]:
    """Topological rank of each component, older transactions first, so that a search between two
    ranks is short.
    """
    oldest: dict[int, int] = {}
    for node, number in sorted(component.items()):
        oldest.setdefault(number, node)
    between = {
        (component[first], component[second])
        for first, second in edges
        if component[first] != component[second]
    }
    following = _following(between)
    waiting = dict.fromkeys(oldest, 0)
    for _, second in between:
        waiting[second] += 1
    ready = [(node, number) for number, node in oldest.items() if not waiting[number]]
    heapq.heapify(ready)
    rank: dict[int, int] = {}
    while ready:
        _, number = heapq.heappop(ready)
        rank[number] = len(rank)
        for each in following.get(number, ()):
            waiting[each] -= 1
            if not waiting[each]:
                heapq.heappush(ready, (oldest[each], each))
    return rank


def _following(edges: Iterable[Edge]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for first, second in edges:
        found.setdefault(first, []).append(second)
    return found


def _path(
    following: Mapping[int, Sequence[int]],
    start: int,
    end: int,
    place: Mapping[int, int],
    within: tuple[int, int],
) -> list[int] | None:
    """The shortest path over nodes whose place is within two bounds, both ends included; None
    without one.
    """
    lowest, highest = within
    came_from: dict[int, int | None] = {start: None}
    waiting = deque([start])
    while waiting:
        node = waiting.popleft()
        if node == end:
            return _back(came_from, end)
        for each in following.get(node, ()):
            if each not in came_from and lowest <= place[each] <= highest:
                came_from[each] = node
                waiting.append(each)
    return None


def _back(came_from: Mapping[int, int | None], end: int) -> list[int]:
    path: list[int] = []
    at: int | None = end
    while at is not None:
        path.append(at)
        at = came_from[at]
    return path[::-1]
