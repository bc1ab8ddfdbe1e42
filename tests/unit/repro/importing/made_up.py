"""Sources that nobody sent: files and folders in memory, and drafts of them."""

import posixpath
from collections.abc import Mapping
from pathlib import Path

from sandbox.repro.definition import Repro
from sandbox.repro.file import read_repro
from sandbox.repro.importing.common.draft import ReproDraft, text_of
from sandbox.repro.importing.common.source import ImportSource, Known, SourceReader

KNOWN = Known(
    {
        "mysql": ["5.7", "8.0", "8.4", "9.7"],
        "gr": ["8.0", "8.4", "9.7"],
        "ps": ["8.0", "8.4"],
        "pxc": ["8.0", "8.4"],
        "mariadb": ["10.5", "10.11", "11.8"],
        "galera": ["10.5", "10.11", "11.8"],
        "haproxy": ["3.0"],
        "proxysql": ["2.7", "3.0"],
    },
    {
        "mysql": "mysql",
        "mariadb": "mariadb",
        "percona/percona-server": "ps",
        "percona/percona-xtradb-cluster": "pxc",
        "haproxy": "haproxy",
        "proxysql/proxysql": "proxysql",
    },
)


def source(path: str, text: str | None, files: Mapping[str, str] | None = None) -> ImportSource:
    """A source with files beside it, by their path from its folder."""
    beside = dict(files or {})
    names = [name for name in beside if not name.startswith("..")]

    def read(name: str) -> str | None:
        return beside.get(posixpath.normpath(name))

    return ImportSource(path, text, names, read)


def drafted(reader: type[SourceReader], given: ImportSource, known: Known = KNOWN) -> ReproDraft:
    """The draft that a reader makes of a source, which it must recognise."""
    assert reader().recognises(given)
    return reader().draft(given, known)


def as_repro(draft: ReproDraft, folder: Path) -> Repro:
    """The draft as `make repro` reads it."""
    path = folder / "draft.yaml"
    path.write_text(text_of(draft))
    return read_repro(str(path))


def left_out(draft: ReproDraft) -> dict[str, str]:
    """What it does without: place → the text and why."""
    return {each.place: f"{each.what}: {each.why}" for each in draft.left}
