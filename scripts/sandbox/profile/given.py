"""The user's own images and binaries: what `IMAGE=` says, and what an image says of itself."""

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.core.errors import SandboxError
from sandbox.profile.versions import short_version

_VERSION = re.compile(r"\d+\.\d+[\w.+~-]*")
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@-]*")
_EXAMPLE = 'try: make up PROFILE=mariadb+proxysql IMAGE="mariadb=my/build:1"'


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """An image on the engine, asked for its identity and its programs.

    ``said``: version command → the line that it printed, of the programs that the image has.
    ``user``: uid:gid of its user ``mysql``; None where it has none.
    """

    identity: str
    said: Mapping[str, str]
    user: str | None = None

    def version(self, command: tuple[str, ...]) -> str | None:
        """The version in the line of a version command, as a table shows it; None without one."""
        found = _VERSION.search(self.said.get(" ".join(command), ""))
        return short_version(found[0]) if found else None


@dataclass(frozen=True, slots=True)
class Binary:
    """A server that the user built: the word of its nodes, where it is, its program, and what is in
    it.
    """

    word: str
    path: str
    program: str
    """``mysqld`` or ``mariadbd``."""
    machine: str
    """Its processor, in the engine's words: ``amd64``."""
    sha256: str
    """Of its files, and of all that makes an image of them here."""

    @property
    def mark(self) -> str:
        """The end of the tag of its image."""
        return f"binary-{self.sha256[:12]}"


def given_images(texts: tuple[str, ...]) -> dict[str | None, str]:
    """Word (component, term or node) → reference; None: the image of the first database.

    Of several for one word the last counts. Raises SandboxError (exit 2) for a piece that is no
    ``word=reference``.
    """
    found: dict[str | None, str] = {}
    for text in texts:
        for piece in _pieces(text):
            word, sign, reference = piece.partition("=")
            if not sign:
                word, reference = "", piece
            if not _REFERENCE.fullmatch(reference) or (sign and not word):
                raise _no_image(piece, "no word=reference")
            found[word or None] = reference
    return found


def _pieces(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise _no_image(text, str(problem)) from problem


def _no_image(piece: str, reason: str) -> SandboxError:
    known = (
        "word=reference, separated by spaces; the word is a component, a term or a node, the"
        " reference a local image, one to pull, or sha256:…"
    )
    return SandboxError(f"IMAGE: {piece!r} names no image ({reason})", known, _EXAMPLE)
