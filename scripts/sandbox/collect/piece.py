"""PURE: a piece of evidence: the file that it becomes, the nodes that have it, how it is asked
for.
"""

from dataclasses import dataclass
from typing import Literal

from sandbox.stack.protocol import StackNode

Layout = Literal["table", "pairs", "vertical", "text"]
"""How the rows of SQL are written: with tabs below a line of names; the same of names and values,
which are masked by name too; a line for each field; the last column alone, as it is.
"""
SERVER_KINDS = ("database", "replica", "external")
CLIENT_CNF = "/sandbox/client.cnf"
"""The option file of a server's root account, in its container."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Piece:
    """One piece. Its nodes: by kind, component, family and topology, each empty for any."""

    file: str
    """Name in the folder of its node."""
    about: str
    """What it is, for README.txt."""
    kinds: tuple[str, ...] = ()
    components: tuple[str, ...] = ()
    family: str | None = None
    topology: str | None = None
    limit_s: float = 6.0
    """Of a script; SQL has the limit of its connection."""
    is_thorough: bool = False
    """Whether only a collection that somebody asked for has it: it takes seconds."""

    def is_of(self, node: StackNode) -> bool:
        """Whether a node has such a piece."""
        return (
            (not self.kinds or node.kind in self.kinds)
            and (not self.components or node.component in self.components)
            and self.family in (None, node.family)
            and self.topology in (None, node.topology)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class SqlPiece(Piece):
    """The answer to SQL."""

    statements: tuple[str, ...]
    """The same question for several versions, the newest first: the first that is known counts."""
    layout: Layout = "table"
    account: str = CLIENT_CNF
    """Option file in the node's container, with the address and the account."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BesidePiece(Piece):
    """The output of a Bash script in a container that sees the node's processes, its files under
    ``$root`` and its network, also while the node is frozen (in_helper/look.sh: what it may call).
    """

    script: str
    is_stacks: bool = False
    """Whether it looks at the stacks of threads, each of which it stops for a moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InsidePiece(Piece):
    """The output of a shell script in the node's own container, with the node's own programs."""

    script: str
