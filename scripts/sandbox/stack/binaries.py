"""Servers that somebody built, as `BINARY=` names them: read before anything is planned."""

import hashlib
import shlex
import tarfile
from pathlib import Path

from sandbox.core.errors import SandboxError
from sandbox.profile.given import Binary
from sandbox.stack.binary_tree import ARCHIVE, SERVERS, FoundServer, ServerTree, machine_of, tree_at
from sandbox.stack.engine import Docker
from sandbox.stack.images import recipe

RECIPE = "binary"
"""The folder of images/ from which their images are made."""
_EXAMPLE = 'try: make up PROFILE=mysql BINARY="mysql=server.tar.xz"'
_CHUNK = 1 << 20


def read_binaries(texts: tuple[str, ...]) -> tuple[Binary, ...]:
    """The binaries of ``word=path`` texts.

    Raises SandboxError (exit 2) for a text that is none, and a path without a server of Linux.
    """
    pairs = dict(_pair(piece) for text in texts for piece in _pieces(text))
    return tuple(_read(word, path) for word, path in pairs.items())


def _pieces(text: str) -> list[str]:
    try:
        return shlex.split(text)
    except ValueError as problem:
        raise _no_pair(text, str(problem)) from problem


def _pair(piece: str) -> tuple[str, str]:
    word, _, path = piece.partition("=")
    if not word or not path:
        raise _no_pair(piece, "no word=path")
    return word, path


def _no_pair(piece: str, reason: str) -> SandboxError:
    known = (
        "word=path, separated by spaces; the word is a component, a term or a node, the path an"
        " archive or a folder with a server"
    )
    return SandboxError(f"BINARY: {piece!r} names no server ({reason})", known, _EXAMPLE)


def _read(word: str, text: str) -> Binary:
    path = Path(text).expanduser()
    if not path.is_dir() and not (path.is_file() and ARCHIVE.fullmatch(path.name)):
        known = "a folder, or a file .tar, .tar.gz, .tgz, .tar.bz2 or .tar.xz"
        raise SandboxError(
            f"BINARY: {text} is not there, or no archive", known, f"try: ls -l {text}"
        )
    try:
        return _binary(word, text, tree_at(path))
    except (OSError, EOFError, tarfile.TarError) as problem:
        raise SandboxError(
            f"BINARY: {text} cannot be read", str(problem), f"try: ls -l {text}"
        ) from problem


def _binary(word: str, text: str, tree: ServerTree) -> Binary:
    found = tree.find()
    if found is None:
        folders = "bin, sbin, usr/sbin, sql or runtime_output_directory"
        known = (
            f"{' or '.join(SERVERS)} is looked for in {folders}, at most one folder further down"
        )
        raise SandboxError(f"BINARY: {text} has no server in it", known, f"try: ls {text}")
    machine = machine_of(tree.program(found))
    if machine is None:
        what = f"BINARY: {found.path} of {text} is no program of Linux"
        raise SandboxError(what, "it does not begin as an ELF file does", f"try: file {text}")
    return Binary(word, text, found.program, machine, _content(tree, found))


def _content(tree: ServerTree, found: FoundServer) -> str:
    """sha256 of an archive as it is, of a folder's files that belong in an image; and of the
    recipe.
    """
    digest = hashlib.sha256(recipe(RECIPE).encode())
    if tree.path.is_file():
        with tree.path.open("rb") as file:
            while chunk := file.read(_CHUNK):
                digest.update(chunk)
        return digest.hexdigest()
    for entry, content in tree.entries(found):
        digest.update(f"{entry.place}\0{entry.mode:o}\0{entry.link or ''}\0{entry.size}\n".encode())
        while content and (chunk := content.read(_CHUNK)):
            digest.update(chunk)
    return digest.hexdigest()


def refuse_other_processor(binaries: tuple[Binary, ...], docker: Docker) -> None:
    """Raises SandboxError (exit 2) for a server of another processor than the engine's."""
    if not binaries:
        return
    here = docker.ask("version", "--format", "{{.Server.Arch}}").strip()
    for each in binaries:
        if each.machine != here:
            what = f"BINARY: the server of {each.path} is for {each.machine}"
            step = f"try: make up PROFILE={each.word} IMAGE={each.word}=…"
            raise SandboxError(what, f"the engine's processor is {here}", step)
