"""Events while a stack comes up or changes, as data: a console shows them, a test reads them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

NodeState = Literal["creating", "starting", "waiting", "ready", "failed", "stopping", "stopped"]
ImageState = Literal["waiting", "pulling", "building", "here", "failed"]


@dataclass(frozen=True, slots=True)
class NodeEvent:
    """A node's state, what it last answered, and seconds since the command started to work on it."""

    node: str
    state: NodeState
    answer: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class ImageEvent:
    """An image being pulled or built, and seconds since the start."""

    reference: str
    state: ImageState
    detail: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Note:
    """A sentence for the user."""

    text: str


@dataclass(frozen=True, slots=True)
class LogTail:
    """The last lines of the log of a node that failed."""

    node: str
    lines: tuple[str, ...]


Event = NodeEvent | ImageEvent | Note | LogTail
OnEvent = Callable[[Event], None]
