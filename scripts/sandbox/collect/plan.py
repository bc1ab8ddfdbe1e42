"""PURE: the plan of a collection: what is asked of each node as it is, and what cannot be."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.collect.of_nodes import NODES
from sandbox.collect.of_proxies import PROXIES
from sandbox.collect.of_servers import SERVERS
from sandbox.collect.piece import BesidePiece, InsidePiece, Piece, SqlPiece
from sandbox.stack.protocol import StackNode

PIECES: tuple[Piece, ...] = (*SERVERS, *PROXIES, *NODES)
ROOT = "/proc/1/root"
"""The node's files, as a container beside it sees them."""
SQL_LIMIT_S = 3.0
DEADLINE_S = 12.0
"""For all that is asked beside a node."""
CORE_LIMIT_S = 120.0


@dataclass(frozen=True, slots=True)
class CollectOptions:
    """What is wanted. ``nodes``: names, empty for all; ``tools``: pt-stalk and its like, which take
    seconds.
    """

    nodes: tuple[str, ...] = ()
    stacks: bool = True
    core: bool = False
    tools: bool = True


SMALL = CollectOptions(tools=False)
"""What is taken without anybody asking for it."""


@dataclass(frozen=True, slots=True)
class PlanOfNode:
    """What is asked of one node, and by file, or by ``.`` for all of it, why something is not."""

    node: StackNode
    sql: Sequence[SqlPiece] = ()
    beside: Sequence[BesidePiece] = ()
    inside: Sequence[InsidePiece] = ()
    core: bool = False
    left_out: Mapping[str, str] = field(default_factory=dict)

    @property
    def pieces(self) -> list[Piece]:
        """All that is asked."""
        return [*self.sql, *self.beside, *self.inside]


def plan_of(node: StackNode, state: str, options: CollectOptions) -> PlanOfNode:
    """The plan for a node. ``state``: of its container, as ``running`` or ``exited (139)``."""
    wanted = [piece for piece in PIECES if piece.is_of(node) and _is_wanted(piece, options)]
    sql = [each for each in wanted if isinstance(each, SqlPiece)]
    beside = sorted(
        (each for each in wanted if isinstance(each, BesidePiece)),
        key=lambda each: not each.is_stacks,
    )
    inside = [each for each in wanted if isinstance(each, InsidePiece)]
    if not node.has_container:
        return PlanOfNode(node, sql, left_out={".": "it has no container here: SQL alone"})
    if state == "running":
        return PlanOfNode(node, sql, beside, inside, options.core)
    if state == "paused":
        return _frozen(PlanOfNode(node, sql, beside, inside, options.core))
    text = f"its container is {state}: nothing in it can be asked"
    return PlanOfNode(node, left_out={".": text})


def _is_wanted(piece: Piece, options: CollectOptions) -> bool:
    if piece.is_thorough and not options.tools:
        return False
    return options.stacks or not (isinstance(piece, BesidePiece) and piece.is_stacks)


def _frozen(plan: PlanOfNode) -> PlanOfNode:
    """Of a node whose processes are all frozen by the engine: what the kernel says of them.

    A tracer would wait for the threads, and they would stop once they are let go.
    """
    asks = [each for each in plan.beside if each.is_stacks or each.is_thorough]
    text = "it is frozen (paused): nothing in it answers, and its threads cannot be stopped"
    left_out = {each.file: text for each in [*plan.sql, *asks, *plan.inside]}
    if plan.core:
        left_out["core"] = text
    beside = [each for each in plan.beside if each not in asks]
    return PlanOfNode(plan.node, beside=beside, left_out=left_out)


def request_of(plan: PlanOfNode, functions: str) -> dict[str, Any]:
    """The request to in_helper/look.py. ``functions``: what its scripts may call."""
    accounts = dict.fromkeys(piece.account for piece in plan.sql)
    return {
        "deadline_s": DEADLINE_S,
        "functions": functions,
        "sql": [_sql_request(plan, account) for account in accounts],
        "scripts": [
            {
                "file": each.file,
                "script": each.script,
                "limit_s": each.limit_s,
                "is_late": each.is_thorough,
            }
            for each in plan.beside
        ],
        "core_limit_s": CORE_LIMIT_S if plan.core else 0,
    }


def _sql_request(plan: PlanOfNode, account: str) -> dict[str, Any]:
    pieces = [
        {"file": each.file, "statements": each.statements, "layout": each.layout}
        for each in plan.sql
        if each.account == account
    ]
    own = {"account": f"{ROOT}{account}", "address": {}}
    if not plan.node.has_container:
        address = {"host": plan.node.host, "port": plan.node.port}
        own = {"account": f"{ROOT}/sandbox/app.cnf", "address": address}
    return {**own, "limit_s": SQL_LIMIT_S, "pieces": pieces}


def pairs_in(plan: PlanOfNode) -> set[str]:
    """Files of names and values, whose values are masked by their names too."""
    return {each.file for each in plan.sql if each.layout == "pairs"}
