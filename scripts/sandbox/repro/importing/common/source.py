"""PURE: what is imported, what is known beside it, and a reader of one kind of it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from sandbox.core.errors import SandboxError
from sandbox.repro.importing.common.draft import ReproDraft

STDIN = "-"


@dataclass(frozen=True, slots=True)
class ImportSource:
    """A file, a folder, or standard input. ``path``: as it was typed."""

    path: str
    text: str | None
    """None: it is a folder."""
    names: Sequence[str] = ()
    """Names of the files in its folder, or in the folder that it is."""
    read: Callable[[str], str | None] = field(default=lambda _: None)
    """The text of a file by its path from that folder; None: it is not there, or no text."""

    @property
    def name(self) -> str:
        """The last part of its path."""
        if self.path == STDIN:
            return "stdin"
        return self.path.rstrip("/").rpartition("/")[2]

    @property
    def stem(self) -> str:
        """Its name without an ending, for the draft's file."""
        if self.path == STDIN:
            return "imported"
        return self.name.partition(".")[0] or "imported"

    def beside(self, name: str) -> str:
        """The path of a file of its folder, as a command finds it."""
        folder = self.path if self.text is None else self.path.rpartition("/")[0]
        return f"{folder.rstrip('/')}/{name}" if folder else name


def _nothing_known(_: str) -> None:
    return None


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of servers here."""

    series: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Term of a server, such as ``mariadb`` → the series that it can have."""
    repositories: Mapping[str, str] = field(default_factory=dict)
    """Repository of a published image → the term that runs it."""
    defaults: Callable[[str], Mapping[str, str | None] | None] = _nothing_known
    """Options of a term's server with their defaults (None: it has none), as its program lists
    them; None: its image is not here.
    """


class SourceReader(ABC):
    """A reader of one kind. Its file's name is the kind's; the lowest ``rank`` is asked first."""

    rank: ClassVar[int]
    reads: ClassVar[str]
    """What it reads, for messages."""

    @abstractmethod
    def recognises(self, source: ImportSource) -> bool:
        """Whether a source is of its kind."""

    @abstractmethod
    def draft(self, source: ImportSource, known: Known) -> ReproDraft:
        """The draft. Raises SandboxError (exit 2) for a source of which none can be made."""


def refused(source: ImportSource, why: str, next_step: str) -> SandboxError:
    """The error for a source of which no draft can be made."""
    return SandboxError(f"FROM={source.path} cannot be imported", why, next_step)
