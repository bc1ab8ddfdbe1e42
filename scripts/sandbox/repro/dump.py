"""PURE: a dump: one file, or a folder that mydumper wrote; what its files are, and in which order
they are loaded.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass

FORMS = (".sql", ".sql.gz", ".sql.zst")
"""How the name of a file ends that can be loaded."""
_METADATA = "metadata"
_UNFINISHED = "metadata.partial"
_KINDS = (
    re.compile(r"(?P<schema>[^.]+)-schema-create"),
    re.compile(r"(?P<schema>[^.]+)\.[^.]+-schema-sequence"),
    re.compile(r"(?P<schema>[^.]+)\.(?P<table>[^.]+)-schema"),
    re.compile(r"(?P<schema>[^.]+)\.(?P<of>[^.]+?)(?:\.\d+)*"),
    re.compile(r"(?P<schema>[^.]+)\.[^.]+-schema-triggers"),
    re.compile(r"(?P<schema>[^.]+)\.[^.]+-schema-view"),
    re.compile(r"(?P<schema>[^.]+)-schema-(?:triggers|post)"),
)
"""Names of mydumper's files, without their ending, in the order in which they are loaded: schemas,
sequences, tables, rows, triggers, views, routines and events.
"""
_TABLES = 2
_ROWS = 3
_BESIDE = re.compile(r"metadata.*|.*-checksum|.*-metadata|.*\.(?:log|checksum)")
"""Files of such a folder that hold no data."""


@dataclass(frozen=True, slots=True)
class DumpFile:
    """A file of a dump. ``schema``: into which it is loaded; None: it names its schema itself."""

    name: str
    schema: str | None = None


def is_dump(name: str) -> bool:
    """Whether a file has a name by which it can be loaded."""
    return name.endswith(FORMS)


def stages_of_folder(names: Collection[str]) -> list[list[DumpFile]]:
    """The files of mydumper's folder in stages: those of one stage in any order, or at once.

    Raises ValueError for a folder that is none, was not finished, or lacks a file.
    """
    if _UNFINISHED in names:
        raise ValueError("the dump was not finished: it has metadata.partial")
    if _METADATA not in names:
        raise ValueError("it is no folder of mydumper: it has no file metadata")
    stages: list[list[DumpFile]] = [[] for _ in _KINDS]
    tables = set()
    rows = set()
    for name in sorted(names):
        if _BESIDE.fullmatch(name):
            continue
        if not is_dump(name):
            raise ValueError(f"{name} is no SQL: dumps of mydumper's --load-data are not loaded")
        stage, found = _kind_of(name)
        if stage == _TABLES:
            tables.add((found["schema"], found["table"]))
        if stage == _ROWS:
            rows.add((found["schema"], found["of"]))
        schema = None if stage == 0 else found["schema"]
        stages[stage].append(DumpFile(name, schema))
    _refuse_incomplete(stages, tables, rows)
    return [stage for stage in stages if stage]


def _kind_of(name: str) -> tuple[int, "re.Match[str]"]:
    stem = re.sub(r"\.sql(?:\.gz|\.zst)?$", "", name)
    # The names of rows fit others, too: what is more special is tried before.
    order = [each for each in range(len(_KINDS)) if each != _ROWS]
    for stage in (*order, _ROWS):
        if found := _KINDS[stage].fullmatch(stem):
            return stage, found
    raise ValueError(f"{name} is no file of mydumper: they are <schema>.<table>.sql, …-schema.sql")


def _refuse_incomplete(
    stages: Sequence[Sequence[DumpFile]],
    tables: Collection[tuple[str, str]],
    rows: Collection[tuple[str, str]],
) -> None:
    """Raises ValueError for rows without their table, and for a table without its schema."""
    without = sorted(set(rows) - set(tables))
    if without:
        schema, table = without[0]
        raise ValueError(f"there are rows of {schema}.{table}, but no {schema}.{table}-schema.sql")
    made = {re.sub(r"-schema-create\..*", "", each.name) for each in stages[0]}
    lost = sorted({schema for schema, _ in tables} - made)
    if lost:
        raise ValueError(f"there is no {lost[0]}-schema-create.sql")
    if not made:
        raise ValueError("it holds no schema")
