"""The index of all results: a DuckDB file next to them, updated file by file before each query."""

import csv
import json
import os
import shutil
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import duckdb
from pydantic import ValidationError

from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.record.tables import ALWAYS, DEFINITIONS, TYPES, Part, version

INDEX = ".index.duckdb"
_AT_ONCE = 250
"""Files loaded in one batch: some ten to forty megabytes."""

_WORTH_A_WORD = 1000
Identity = str
"""Of one state of a file: inode, size and times. A file that is written whole and renamed always
gets a new one.
"""
Found = Mapping[Part, Mapping[str, Identity]]
"""The files that each part is loaded from, each in its current state."""
Show = Callable[[str], None]


@dataclass(frozen=True)
class OpenIndex:
    """``broken``: files that were skipped, by their path under the results folder, each with the
    reason.
    """

    connection: duckdb.DuckDBPyConnection
    broken: Mapping[str, str]

    def confine(self) -> None:
        """From here on no statement can reach a file or change that: for statements that a user
        typed.

        ``now()`` and the like are in UTC, like the times of records.
        """
        for setting in (
            "TimeZone = 'UTC'",
            "enable_external_access = false",
            "lock_configuration = true",
        ):
            self.connection.execute(f"SET {setting}")

    def write_parquet(self, select: str, path: Path) -> None:
        """Writes the result of a statement (not user input) as a Parquet file, atomically. Raises
        OSError.
        """
        temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
        try:
            target = str(temporary).replace("'", "''")
            self.connection.execute(
                f"COPY ({select}) TO '{target}' (FORMAT parquet, COMPRESSION zstd)"
            )
            temporary.replace(path)
        except duckdb.IOException as problem:
            raise OSError(str(problem)) from problem
        finally:
            temporary.unlink(missing_ok=True)


def open_index(
    results: Path, parts: Collection[Part] = ALWAYS, show: Show = lambda _: None
) -> OpenIndex:
    """A connection that sees every result in its current state, and can change none.

    A file next to the results caches what was read before. If it cannot be written, all is read
    into memory. ``parts``: in addition to those always loaded; ``show`` is called before steps that
    take seconds.
    """
    found = _found(results, _folders(results), parts)
    index = results / INDEX
    connection = (
        _up_to_date(index, found)
        or _renewed(results, found, show)
        or _made(":memory:", results, found, show)
    )
    return _opened(connection, found)


def open_one(result: Path) -> OpenIndex:
    """An index of a single result folder anywhere; writes nothing next to it."""
    found = _found(result.parent, [result.name], ())
    return _opened(_made(":memory:", result.parent, found, lambda _: None), found)


def _found(results: Path, names: Sequence[str], parts: Collection[Part]) -> Found:
    manifests = _states(results, (f"{name}/manifest.json" for name in names))
    runs = ((name, run) for name in names for run in _folders(results / name / "runs"))
    records = _states(results, (f"{name}/runs/{run}/record.json" for name, run in runs))
    return {
        part: manifests if part == "manifests" else records for part in sorted({*ALWAYS, *parts})
    }


def _opened(connection: duckdb.DuckDBPyConnection, parts: Collection[Part]) -> OpenIndex:
    rows = connection.execute(
        "SELECT path, any_value(broken) FROM loaded WHERE broken IS NOT NULL AND list_contains($1,"
        " part) GROUP BY 1",
        [list(parts)],
    ).fetchall()
    return OpenIndex(connection, dict(sorted(rows)))


def _folders(parent: Path) -> list[str]:
    """The folders in a folder by name, without hidden ones and the link ``latest``; none if there
    is no such folder.
    """
    with suppress(FileNotFoundError, NotADirectoryError), os.scandir(parent) as entries:
        return sorted(
            each.name
            for each in entries
            if each.is_dir(follow_symlinks=False) and each.name[0] != "."
        )
    return []


def _states(results: Path, paths: Iterable[str]) -> dict[str, Identity]:
    found = {}
    for path in paths:
        with suppress(FileNotFoundError, NotADirectoryError):
            about = os.stat(f"{results}/{path}")  # noqa: PTH116  (ten thousand of them: Path would take 50 % longer)
            found[path] = f"{about.st_ino}.{about.st_size}.{about.st_mtime_ns}.{about.st_ctime_ns}"
    return found


def _up_to_date(index: Path, found: Found) -> duckdb.DuckDBPyConnection | None:
    """The existing index, if it knows every file in its current state; else None."""
    if not index.is_file():
        return None
    with suppress(duckdb.Error):  # broken, or of a version that cannot be read: it is rebuilt
        connection = duckdb.connect(str(index), read_only=True)
        if _is_of_this_version(connection) and not any(
            _stale(connection, *each) for each in found.items()
        ):
            return connection
        connection.close()
    return None


def _renewed(results: Path, found: Found, show: Show) -> duckdb.DuckDBPyConnection | None:
    """The index updated in a copy, which then takes its place: readers of the old one are not
    disturbed.
    """
    index = results / INDEX
    copy = results / f"{INDEX}.{os.getpid()}.tmp"
    try:
        _remove_left_over(results)
        _refresh_file(results, index, copy, found, show)
        connection = duckdb.connect(str(copy), read_only=True)
        copy.replace(index)
    except (OSError, duckdb.Error):
        return None
    finally:
        with suppress(OSError):
            copy.unlink(missing_ok=True)
    return connection


def _remove_left_over(results: Path) -> None:
    """Removes copies that killed commands left."""
    for copy in results.glob(f"{INDEX}.*.tmp*"):
        process = copy.name.removeprefix(f"{INDEX}.").split(".")[0]
        if not process.isdecimal() or not _runs(int(process)):
            copy.unlink(missing_ok=True)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return process != os.getpid()


def _refresh_file(results: Path, index: Path, copy: Path, found: Found, show: Show) -> None:
    if index.is_file():
        shutil.copyfile(index, copy)
        with suppress(duckdb.Error), duckdb.connect(str(copy)) as connection:
            if _is_of_this_version(connection):
                _refresh(connection, results, found, show)
                return
        copy.unlink()
    _made(str(copy), results, found, show).close()


def _made(file: str, results: Path, found: Found, show: Show) -> duckdb.DuckDBPyConnection:
    """A new index, in a file or in memory, with everything that was found."""
    connection = duckdb.connect(file)
    connection.begin()  # one commit, not one a definition
    for definition in DEFINITIONS:
        connection.execute(definition)
    connection.execute("INSERT INTO about VALUES ($1)", [version(duckdb.__version__)])
    connection.commit()
    _refresh(connection, results, found, show)
    return connection


def _is_of_this_version(connection: duckdb.DuckDBPyConnection) -> bool:
    return connection.execute("SELECT version FROM about").fetchone() == (
        version(duckdb.__version__),
    )


def _stale(
    connection: duckdb.DuckDBPyConnection, part: Part, found: Mapping[str, Identity]
) -> set[str]:
    """Paths that are new, changed or gone."""
    rows = connection.execute(
        "SELECT path, identity FROM loaded WHERE part = $1", [part]
    ).fetchall()
    return {path for path, _ in {*found.items()} ^ {*rows}}


def _refresh(
    connection: duckdb.DuckDBPyConnection, results: Path, found: Found, show: Show
) -> None:
    for part, identities in found.items():
        stale = sorted(_stale(connection, part, identities))
        if len(stale) >= _WORTH_A_WORD:
            show(f"reading {len(stale):,} new or changed {part}")
        if stale:
            connection.begin()
            connection.execute(
                "DELETE FROM loaded WHERE part = $1 AND list_contains($2, path)", [part, stale]
            )
            connection.execute(f"DELETE FROM {part}_loaded WHERE list_contains($1, path)", [stale])  # noqa: S608
            _load(
                connection,
                results,
                part,
                {path: identities[path] for path in stale if path in identities},
            )
            connection.commit()


def _load(
    connection: duckdb.DuckDBPyConnection, results: Path, part: Part, files: Mapping[str, Identity]
) -> None:
    paths = list(files)
    for begin in range(0, len(paths), _AT_ONCE):
        batch = paths[begin : begin + _AT_ONCE]
        contents = {path: _content(results / path, part) for path in batch}
        whole = {path: text for path, (text, _) in contents.items() if text is not None}
        connection.execute(
            f"INSERT INTO {part}_loaded SELECT path, split_part(path, '/', 1), from_json(content, $3)"  # noqa: E501, S608
            " FROM (SELECT unnest($1::VARCHAR[]) AS path, unnest($2::VARCHAR[]) AS content)",
            [list(whole), list(whole.values()), json.dumps(TYPES[part])],
        )
        connection.execute(
            "INSERT INTO loaded SELECT $1, unnest($2::VARCHAR[]), unnest($3::VARCHAR[]),"
            " unnest($4::VARCHAR[])",
            [
                part,
                batch,
                [files[path] for path in batch],
                [reason for _, reason in contents.values()],
            ],
        )


def _content(path: Path, part: Part) -> tuple[str | None, str | None]:
    """A file's content as JSON of the part's type; else None and why there is none."""
    try:
        if part == "manifests":
            return ResultFolder(path.parent).manifest.model_dump_json(), None
        text = path.read_text(encoding="utf-8")
        record = Record.model_validate_json(text)
        return _series(path, record) if part == "seconds" else text, None
    except ValidationError as problem:
        first = problem.errors(include_url=False)[0]
        return None, ": ".join([*(str(part) for part in first["loc"][:1]), first["msg"]])
    except (OSError, ValueError, KeyError) as problem:
        return None, f"{type(problem).__name__}: {problem}"


def _series(path: Path, record: Record) -> str:
    """The one-second series next to a record; empty where none was saved."""
    file = path.parent / record.files.get("series", "")
    if not file.is_file():
        return "[]"
    with file.open(encoding="utf-8", newline="") as lines:
        rows = csv.DictReader(lines)
        return json.dumps(
            [{name: value or None for name, value in row.items() if name} for row in rows]
        )
