"""Tables and views of the index: the types that DuckDB has for records and manifests, the SQL."""

import hashlib
import re
from importlib.resources import files
from string import Template
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel

from sandbox.record.manifest import Manifest
from sandbox.record.record import Environment, HostLoad, Metrics, Record, WorkloadRecord

_SCALARS: dict[Any, str] = {
    str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", AwareDatetime: "TIMESTAMP",
}  # fmt: skip
Part = Literal["manifests", "records", "servers", "seconds"]
"""Parts that are loaded separately. The last two are large, and wait for a query that names one of
their views.
"""
ALWAYS: tuple[Part, ...] = ("manifests", "records")
LATER: dict[str, Part] = {"variables": "servers", "status_delta": "servers", "seconds": "seconds"}
"""View → the part that it needs."""
_LARGE = ("variables", "status_delta")
SECONDS = {
    "phase": "VARCHAR",
    "second": "BIGINT",
    "threads": "BIGINT",
    "tps": "DOUBLE",
    "qps": "DOUBLE",
    "reads_per_s": "DOUBLE",
    "writes_per_s": "DOUBLE",
    "p95_ms": "DOUBLE",
    "conflicts_per_s": "DOUBLE",
    "reconnects_per_s": "DOUBLE",
    "errors": "BIGINT",
}
"""Columns of a run's one-second series."""


def sql_type(annotation: Any) -> str:
    """``dict[str, int] | None`` → ``MAP(VARCHAR, BIGINT)``; a model → a STRUCT. Times are UTC
    without a zone.

    Everything else stays JSON.
    """
    origin, inner = get_origin(annotation), get_args(annotation)
    if annotation in _SCALARS:
        return _SCALARS[annotation]
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return struct_of(annotation)
    if origin in (UnionType, Union):
        return _widest({sql_type(each) for each in inner if each is not type(None)})
    if origin is Literal:
        return _widest({sql_type(type(each)) for each in inner})
    if origin is list:
        return f"{sql_type(inner[0])}[]"
    if origin is dict:
        return f"MAP({sql_type(inner[0])}, {sql_type(inner[1])})"
    return "JSON"


def struct_of(model: type[BaseModel], without: tuple[str, ...] = ()) -> str:
    """``STRUCT("name" VARCHAR, …)`` of a model's fields, in their order, by their names on disk."""
    fields = {
        field.serialization_alias or name: sql_type(field.annotation)
        for name, field in model.model_fields.items()
        if name not in without
    }
    return f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in fields.items())})"


def scalars_of(model: type[BaseModel]) -> list[str]:
    """Names of the fields that hold a single value."""
    return [
        name
        for name, field in model.model_fields.items()
        if sql_type(field.annotation) in _SCALARS.values()
    ]


def quoted(name: str) -> str:
    """A quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _widest(kinds: set[str]) -> str:
    """The common type: DOUBLE for integers and floats, VARCHAR for unrelated types."""
    if len(kinds) == 1:
        return kinds.pop()
    return "DOUBLE" if kinds == {"BIGINT", "DOUBLE"} else "VARCHAR"


TYPES: dict[Part, str] = {
    "manifests": struct_of(Manifest),
    "records": struct_of(Record, without=_LARGE),
    "servers": struct_of(
        Record, without=tuple(name for name in Record.model_fields if name not in _LARGE)
    ),
    "seconds": f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in SECONDS.items())})[]",
}
"""By part, DuckDB's type of one file's content."""
_VIEWS_SQL = files(__package__).joinpath("views.sql").read_text(encoding="utf-8")
VIEWS = {
    name: about
    for about, name in re.findall(r"^-- (.+)\nCREATE VIEW (\w+)", _VIEWS_SQL, re.MULTILINE)
}
"""The views that a query sees, each with what it shows."""


def _columns(model: type[BaseModel], prefix: str, without: tuple[str, ...] = ()) -> str:
    return ", ".join(
        f"{prefix}.{quoted(name)}" for name in scalars_of(model) if name not in without
    )


DEFINITIONS = [
    "CREATE TABLE about (version VARCHAR)",
    "CREATE TABLE loaded (part VARCHAR, path VARCHAR, identity VARCHAR, broken VARCHAR)",
    *(
        f"CREATE TABLE {part}_loaded (path VARCHAR, result VARCHAR, content {kind})"
        for part, kind in TYPES.items()
    ),
    Template(_VIEWS_SQL).substitute(
        load=_columns(WorkloadRecord, "r.workload", ("name",)),
        metrics=_columns(Metrics, "r.metrics"),
        machine=_columns(Environment, "r.environment"),
        during=_columns(HostLoad, "r.environment.during", ("seconds",)),
    ),
]
"""``loaded``: which file is loaded in which state; ``broken``: why a file that was read is not."""


def version(library: str) -> str:
    """The version of an index: one with a different version, or made by another version of DuckDB,
    is rebuilt.
    """
    return hashlib.sha256("\n".join([library, *DEFINITIONS]).encode()).hexdigest()
