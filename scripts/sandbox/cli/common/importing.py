"""Imports: what is read, which reader takes it, the draft that is written, what is said of it."""

import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from sandbox.cli.common.showing import show
from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.core.paths import HERE, write_atomically
from sandbox.core.plugins import plugins_of_classes
from sandbox.profile.library import Library
from sandbox.profile.reader import load_library
from sandbox.repro.file import read_repro
from sandbox.repro.importing.common.draft import ReproDraft, text_of
from sandbox.repro.importing.common.source import STDIN, ImportSource, Known, SourceReader
from sandbox.stack.engine import Docker
from sandbox.stack.planning import option_defaults

READERS = plugins_of_classes(
    "sandbox.repro.importing",
    SourceReader,  # type: ignore[type-abstract]
    "make import FROM=<file or folder>",
)
_KINDS = "a .test file, a folder, a Compose file, my.cnf, SHOW VARIABLES, pt-summary, a report"
_LARGEST = 64 << 20
"""Bytes of a text that is read."""
_MOST_NAMES = 20_000
_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")


def import_(path: str | None, out: str | None, as_json: bool) -> int:
    """Writes a draft and says what it holds, and what it does without; returns the exit code.

    Raises SandboxError (exit 2) for a source that cannot be read, or of which no draft can be made.
    """
    if not path:
        raise SandboxError("no FROM was given", f"known: {_KINDS}", "try: make import FROM=x.test")
    source = _source(path)
    name, reader = _reader_of(source)
    target = _target(source, out)
    draft = reader.draft(source, known_here(load_library(), Docker()))
    _write(target, text_of(draft))
    shown = target.relative_to(HERE) if target.is_relative_to(HERE) else target
    data = {
        "draft": str(shown),
        "kind": name,
        "profile": draft.profile,
        "set": draft.set,
        "steps": len(draft.steps),
        "to_finish": draft.to_finish,
        "left_out": [
            {"place": each.place, "what": each.what, "why": each.why} for each in draft.left
        ],
    }
    show(as_json, data, _lines(str(shown), reader, draft))
    return int(ExitCode.OK)


def _lines(target: str, reader: SourceReader, draft: ReproDraft) -> list[str]:
    lines = [f"{target}  a draft from {reader.reads}"]
    lines.append(f"  profile {draft.profile}, {counted(len(draft.steps), 'step')}")
    lines += [f"  set {each}" for each in draft.set]
    if draft.to_finish:
        lines += ["to look at:", *(f"  {each}" for each in draft.to_finish)]
    if draft.left:
        lines += [f"left out ({len(draft.left)}):", *(f"  {each.text}" for each in draft.left)]
    return [*lines, f"next: make repro REPRO={target} PLAN=1"]


def _source(path: str) -> ImportSource:
    """What is imported. Raises SandboxError (exit 2) where it cannot be read."""
    if path == STDIN:
        if sys.stdin.isatty():
            known = f"the text of one of these is read from standard input: {_KINDS}"
            raise SandboxError("nothing is piped in", known, "try: make import FROM=- <report.txt")
        return ImportSource(STDIN, sys.stdin.read())
    at = Path(path)
    if at.is_dir():
        return ImportSource(path, None, _names(at), _reading(at))
    try:
        if at.stat().st_size > _LARGEST:
            known = f"a text of at most {_LARGEST >> 20} MiB is read"
            raise SandboxError(f"FROM={path} is too large", known, f"try: ls -l {path}")
        text = at.read_text(encoding="utf-8", errors="replace")
    except OSError as problem:
        known = problem.strerror or str(problem)
        raise SandboxError(f"FROM={path} cannot be read", known, f"try: ls -l {path}") from problem
    if "\0" in text:
        raise SandboxError(f"FROM={path} is no text", f"known: {_KINDS}", f"try: file {path}")
    return ImportSource(path, text, _names(at.parent), _reading(at.parent))


def _names(folder: Path) -> list[str]:
    """Names of its files; with those of its folder ``t``, where a suite has its tests."""
    found = [each.name for each in folder.iterdir() if each.is_file()]
    tests = folder / "t"
    if tests.is_dir():
        found += [f"t/{each.name}" for each in tests.iterdir() if each.is_file()]
    return sorted(found)[:_MOST_NAMES]


def _reading(folder: Path) -> Callable[[str], str | None]:
    def read(name: str) -> str | None:
        try:
            return (folder / name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            return None

    return read


def _reader_of(source: ImportSource) -> tuple[str, SourceReader]:
    readers = {name: kind() for name, kind in READERS.every().items()}
    for name, reader in sorted(readers.items(), key=lambda item: item[1].rank):
        if reader.recognises(source):
            return name, reader
    what = f"FROM={source.path} is of no known kind"
    raise SandboxError(what, f"known: {_KINDS}", f"try: ls {source.path}")


def known_here(library: Library, docker: Docker) -> Known:
    """What a reader may know: the catalog's series and images, and the defaults of servers here."""
    components = library.components
    keys = {name: components.get(name).spec.image for name in _standalone(library)}
    series = {
        name: list(library.catalog.image(key).series)
        for name, key in keys.items()
        if key is not None
    }
    repositories: dict[str, str] = {}
    for key, image in library.catalog.images.items():
        if key in keys:
            published = [each.published for each in image.series.values() if each.published]
            repositories |= dict.fromkeys([*published, *image.repositories], key)
    return Known(series, repositories, _asked_once(docker))


def _standalone(library: Library) -> list[str]:
    """The components that have an image of their own, whatever they are attached to."""
    return [name for name in library.components.names() if name not in ("replica", "external")]


def _asked_once(docker: Docker) -> Callable[[str], Mapping[str, str | None] | None]:
    known: dict[str, Mapping[str, str | None] | None] = {}

    def defaults(term: str) -> Mapping[str, str | None] | None:
        if term not in known:
            known[term] = option_defaults(term, docker)
        return known[term]

    return defaults


def _target(source: ImportSource, out: str | None) -> Path:
    """Where the draft goes. Raises SandboxError (exit 2) for a file that is there already."""
    target = Path(out) if out else HERE / f"{_UNSAFE.sub('-', source.stem)}.yaml"
    if out and not out.endswith((".yaml", ".yml")):
        step = f"try: make import FROM={source.path} OUT={out}.yaml"
        raise SandboxError(f"OUT={out} is no name of a repro", "it ends in .yaml", step)
    if target.exists():
        step = f"try: make import FROM={source.path} OUT=other.yaml"
        raise SandboxError(f"{target} is there already", "a draft replaces no file", step)
    return target


def _write(target: Path, text: str) -> None:
    """Writes the draft, and reads it as a repro is read: one that is not valid does not stay."""
    try:
        write_atomically(target, text)
    except OSError as problem:
        known = problem.strerror or str(problem)
        step = f"try: ls -ld {target.parent}"
        raise SandboxError(f"{target} cannot be written", known, step) from problem
    try:
        read_repro(str(target))
    except SandboxError:
        target.unlink()
        raise
