"""What of a repro has no place in a pack: where its file says it, and why not."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.core.yaml_lines import Place


@dataclass(frozen=True, slots=True)
class Unpackable:
    """A part of a repro. ``place``: in its file; ``what``: as a message names it."""

    place: Place
    what: str
    why: str


class UnpackableError(Exception):
    """Parts of a repro that a pack cannot have, in the order of its file; at least one."""

    def __init__(self, parts: Sequence[Unpackable]) -> None:
        super().__init__(f"{parts[0].what}: {parts[0].why}")
        self.parts = tuple(parts)


class UnsayableError(Exception):
    """Why something cannot be said in a pack; whoever knows its place in the file adds it."""
