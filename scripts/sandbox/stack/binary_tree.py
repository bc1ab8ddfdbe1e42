"""The files of a server that somebody built: which layouts are known, where each file belongs in an
image.
"""

import os
import re
import tarfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, Literal

BASE = "usr/local/mysql"
"""Where a tree that stands by itself goes, without the leading slash."""
SERVERS = ("mariadbd", "mysqld")
"""The programs that are a server; MariaDB's has the other name, too, as a link."""
ARCHIVE = re.compile(r".+\.(tar|tgz|tar\.(gz|bz2|xz))")
_PROGRAMS = (
    "mysqld|mysql|mysqladmin|mysqlbinlog|mysqlcheck|mysqldump|mysqlshow|mysqlslap|perror"
    "|mysql_tzinfo_to_sql|mysql_config_editor|my_print_defaults|ibd2sdi|innochecksum"
)
_UNUSED = r"(?:mysql-test|mariadb-test|sql-bench|man|docs|include|support-files|lib/plugin/debug)/"
Rules = tuple[tuple[str, str | None], ...]
"""Pattern of a whole path → its place in the image, None: it is left out. The first that matches
counts; what none matches is left out.
"""


@dataclass(frozen=True, slots=True)
class ServerLayout:
    """One way in which the files of a server lie. ``folder``: where its program is.

    ``source``: of the folder from which a build tree was made.
    """

    name: str
    folder: str
    rules: Rules
    source: Rules = ()
    libraries: bool = False
    """Whether its libraries are found only where they were built."""

    def place(self, path: str, rules: Rules | None = None) -> str | None:
        """Where a file belongs in the image; None where it is left out."""
        for pattern, target in self.rules if rules is None else rules:
            match = re.fullmatch(pattern, path)
            if match:
                return match.expand(target) if target else None
        return None


_WHOLE: Rules = (
    (rf"{_UNUSED}.*|.*\.a|bin/mysqld-debug", None),
    (r"(.*)", rf"{BASE}/\1"),
)
LAYOUTS = (
    ServerLayout(
        "a build of MySQL",
        "runtime_output_directory",
        (
            (rf"runtime_output_directory/({_PROGRAMS})", rf"{BASE}/bin/\1"),
            (r"plugin_output_directory/(.*\.so)", rf"{BASE}/lib/plugin/\1"),
            (r"library_output_directory/(.*\.so[.\d]*)", rf"{BASE}/lib/\1"),
            (r"share/(?!CMakeFiles)(.*\.(?:sys|sql|txt|xml))", rf"{BASE}/share/\1"),
        ),
        source=((r"share/(charsets/.*|.*\.sql|.*\.txt)", rf"{BASE}/share/\1"),),
        libraries=True,
    ),
    ServerLayout(
        "a build of MariaDB",
        "sql",
        (
            (r".*/CMakeFiles/.*", None),
            (r"sql/(mariadbd|mysqld|mariadb-tzinfo-to-sql)", rf"{BASE}/bin/\1"),
            (r"client/((?:mariadb|mysql)[\w-]*)", rf"{BASE}/bin/\1"),
            (r"extra/(my_print_defaults|resolveip|innochecksum|replace)", rf"{BASE}/bin/\1"),
            (r"extra/mariabackup/(mariadb-backup|mariabackup|mbstream)", rf"{BASE}/bin/\1"),
            (r"scripts/([\w-]+\.sql)", rf"{BASE}/share/\1"),
            (r"scripts/((?:mariadb|mysql|wsrep)[\w-]*)", rf"{BASE}/scripts/\1"),
            (r"sql/share/(.*\.sys)", rf"{BASE}/share/\1"),
            (r"libmariadb/libmariadb/(libmariadb\.so[.\d]*)", rf"{BASE}/lib/\1"),
            (r"(?:storage|plugin|libmariadb|sql)/(?:.*/)?([\w-]+\.so)", rf"{BASE}/lib/plugin/\1"),
        ),
        source=(
            (r"scripts/([\w-]+\.sql)", rf"{BASE}/share/\1"),
            (r"sql/share/(charsets/.*)", rf"{BASE}/share/\1"),
        ),
        libraries=True,
    ),
    ServerLayout(
        "an unpacked package",
        "usr/sbin",
        (
            (r"usr/share/(?:doc|man|info|locale|lintian|bash-completion)/.*", None),
            (r"(usr/.*)", r"\1"),
        ),
    ),
    ServerLayout("an installed tree", "bin", _WHOLE),
    ServerLayout("an installed tree", "sbin", _WHOLE),
)


@dataclass(frozen=True, slots=True)
class FoundServer:
    """A server that was found. ``top``: the folder above its files, empty or ending in a slash."""

    layout: ServerLayout
    program: str
    top: str

    @property
    def path(self) -> str:
        """The path of the server's program."""
        return f"{self.top}{self.layout.folder}/{self.program}"


def found_at(path: str) -> FoundServer | None:
    """The server whose program this path is; at most one folder above its files."""
    for layout in LAYOUTS:
        for program in SERVERS:
            match = re.fullmatch(rf"((?:[^/]+/)?){re.escape(layout.folder)}/{program}", path)
            if match and match[1].rstrip("/") not in ("usr", "debian"):
                return FoundServer(layout, program, match[1])
    return None


@dataclass(frozen=True, slots=True)
class ServerFile:
    """One file or link of a tree, with its place in the image."""

    place: str
    mode: int
    link: str | None
    size: int


class ServerTree:
    """A folder or an archive with a server. OSError, tarfile.TarError where it is neither."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def find(self) -> FoundServer | None:
        """The server in it; None where there is none."""
        raise NotImplementedError

    def program(self, found: FoundServer) -> bytes:
        """The bytes of the server's program."""
        raise NotImplementedError

    def entries(self, found: FoundServer) -> Iterator[tuple[ServerFile, IO[bytes] | None]]:
        """Every file that belongs in an image with its content, which is read before the next."""
        raise NotImplementedError


class ServerFolder(ServerTree):
    """A folder."""

    def find(self) -> FoundServer | None:
        tops = ["", *(f"{each.name}/" for each in sorted(self.path.iterdir()) if each.is_dir())]
        for top in tops:
            for layout in LAYOUTS:
                for program in SERVERS:
                    path = f"{top}{layout.folder}/{program}"
                    found = found_at(path)
                    if found and (self.path / path).is_file():
                        return found
        return None

    def program(self, found: FoundServer) -> bytes:
        return (self.path / found.path).read_bytes()

    def entries(self, found: FoundServer) -> Iterator[tuple[ServerFile, IO[bytes] | None]]:
        root = self.path / found.top
        yield from _of_folder(root, found.layout, found.layout.rules)
        source = source_folder(root)
        if found.layout.source and source:
            yield from _of_folder(source, found.layout, found.layout.source)


class ServerArchive(ServerTree):
    """An archive of tar, compressed or not."""

    def find(self) -> FoundServer | None:
        with tarfile.open(self.path) as archive:
            for member in archive:
                found = found_at(_plain(member.name))
                if found and member.isreg():
                    return found
        return None

    def program(self, found: FoundServer) -> bytes:
        with tarfile.open(self.path) as archive:
            for member in archive:
                if _plain(member.name) == found.path:
                    content = archive.extractfile(member)
                    return content.read() if content else b""
        return b""

    def entries(self, found: FoundServer) -> Iterator[tuple[ServerFile, IO[bytes] | None]]:
        with tarfile.open(self.path) as archive:
            for member in archive:
                name = _plain(member.name)
                place = None
                if name.startswith(found.top) and not member.isdir():
                    place = found.layout.place(name.removeprefix(found.top))
                if place is None:
                    continue
                if member.issym():
                    yield ServerFile(place, 0o777, member.linkname, 0), None
                elif member.isreg() or member.islnk():
                    content = archive.extractfile(member)
                    yield ServerFile(place, member.mode & 0o755, None, member.size), content


def tree_at(path: Path) -> ServerTree:
    """The tree at a path."""
    return ServerFolder(path) if path.is_dir() else ServerArchive(path)


def source_folder(build: Path) -> Path | None:
    """The folder that a build tree was made from, as CMake notes it; None where it is not here."""
    with _lines(build / "CMakeCache.txt") as lines:
        for line in lines:
            if line.startswith("CMAKE_HOME_DIRECTORY:INTERNAL="):
                folder = Path(line.partition("=")[2].strip())
                return folder if folder.is_dir() else None
    return None


@contextmanager
def _lines(path: Path) -> Iterator[Iterable[str]]:
    if not path.is_file():
        yield ()
        return
    with path.open(encoding="utf-8", errors="replace") as file:
        yield file


def _plain(name: str) -> str:
    """The name of an archive's member without what leads nowhere."""
    return name.removeprefix("./").lstrip("/")


def _of_folder(
    root: Path, layout: ServerLayout, rules: Rules
) -> Iterator[tuple[ServerFile, IO[bytes] | None]]:
    for folder, names, files in os.walk(root):
        names.sort()
        for name in sorted(
            [*files, *(each for each in names if (Path(folder) / each).is_symlink())]
        ):
            path = Path(folder) / name
            place = layout.place(PurePosixPath(path.relative_to(root)).as_posix(), rules)
            if place is None:
                continue
            if path.is_symlink():
                yield ServerFile(place, 0o777, str(path.readlink()), 0), None
            elif path.is_file():
                size = path.stat()
                with path.open("rb") as content:
                    yield ServerFile(place, size.st_mode & 0o755, None, size.st_size), content


Machine = Literal["amd64", "arm64", "ppc64le", "s390x", "riscv64"]
_MACHINES: dict[int, Machine] = {
    62: "amd64",
    183: "arm64",
    21: "ppc64le",
    22: "s390x",
    243: "riscv64",
}
"""`e_machine` of the ELF header (System V ABI, chapter 4) → the engine's word for it."""


def machine_of(program: bytes) -> str | None:
    """The processor that a program is for, in the engine's words; None for no Linux program."""
    if program[:4] != b"\x7fELF" or len(program) < 20:
        return None
    order: Literal["little", "big"] = "little" if program[5] == 1 else "big"
    number = int.from_bytes(program[18:20], order)
    return _MACHINES.get(number, f"processor {number} of the ELF header")


def symbols_of(program: bytes) -> tuple[int, int]:
    """The newest symbols of the C and C++ libraries that a program names: (36, 30) is GLIBC_2.36
    and GLIBCXX_3.4.30. Older libraries do not start it.
    """
    return _newest(rb"GLIBC_2\.(\d+)", program), _newest(rb"GLIBCXX_3\.4\.(\d+)", program)


def _newest(pattern: bytes, program: bytes) -> int:
    return max((int(number) for number in re.findall(pattern, program)), default=0)
