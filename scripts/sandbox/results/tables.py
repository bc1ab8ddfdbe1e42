"""The index of results as SQL: columns from the models of a record, tables, and the views that a query sees."""

import hashlib
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel

from sandbox.results.manifest import Manifest
from sandbox.results.record import Environment, HostLoad, Metrics, Record, WorkloadRecord

_SCALARS: dict[Any, str] = {
    str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", AwareDatetime: "TIMESTAMP",
}  # fmt: skip
Part = Literal["manifests", "records", "servers", "seconds"]
"""Parts that are loaded separately. The last two are large, and wait for a query that names one of their views."""

ALWAYS: tuple[Part, ...] = ("manifests", "records")
LATER: dict[str, Part] = {"variables": "servers", "status_delta": "servers", "seconds": "seconds"}
"""View → the part that it needs."""

_LARGE = ("variables", "status_delta")
SECONDS = {
    "phase": "VARCHAR", "second": "BIGINT", "threads": "BIGINT", "tps": "DOUBLE", "qps": "DOUBLE",
    "reads_per_s": "DOUBLE", "writes_per_s": "DOUBLE", "p95_ms": "DOUBLE", "conflicts_per_s": "DOUBLE",
    "reconnects_per_s": "DOUBLE", "errors": "BIGINT",
}  # fmt: skip
"""Columns of a run's one-second series."""


def sql_type(annotation: Any) -> str:
    """``dict[str, int] | None`` → ``MAP(VARCHAR, BIGINT)``; a model → a STRUCT. Times are UTC without a zone.

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
    return [name for name, field in model.model_fields.items() if sql_type(field.annotation) in _SCALARS.values()]


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
    "servers": struct_of(Record, without=tuple(name for name in Record.model_fields if name not in _LARGE)),
    "seconds": f"STRUCT({', '.join(f'{quoted(name)} {kind}' for name, kind in SECONDS.items())})[]",
}
"""By part, DuckDB's type of one file's content."""

TABLES = [
    "CREATE TABLE about (version VARCHAR)",
    "CREATE TABLE loaded (part VARCHAR, path VARCHAR, identity VARCHAR, broken VARCHAR)",
    *(f"CREATE TABLE {part}_loaded (path VARCHAR, result VARCHAR, content {kind})" for part, kind in TYPES.items()),
]
"""``loaded``: which file is loaded in which state; ``broken``: why a file that was read is not."""


def _flat(model: type, prefix: str, without: tuple[str, ...] = ()) -> str:
    return ", ".join(f"{prefix}.{quoted(name)}" for name in scalars_of(model) if name not in without)


def _runs() -> str:
    """One row per run that was not discarded; the server is the writer where one is known, else the first."""
    answered = "list_filter(r.nodes, lambda node: node.server_version IS NOT NULL"
    return f"""
        SELECT run.result, m.content.matrix.name AS matrix, r.cell, r.block, r.status, r.reason, r.profile,
            r.started_utc, r.workload.name AS workload, {_flat(WorkloadRecord, "r.workload", ("name",))},
            r.workload.entry.via AS via, {_flat(Metrics, "r.metrics")},
            r.metrics.errors_by_code, r.metrics.conflicts_by_code,
            server.server_version, server.package_version, server.image, server.image_id, server.image_source,
            {_flat(Environment, "r.environment")}, {_flat(HostLoad, "r.environment.during", ("seconds",))},
            r.environment.inputs.assignments AS settings, r.environment.inputs.cpus AS node_cpus,
            r.environment.inputs.memory AS node_memory, c.levels, r.seed, r.stack, r.run_id
        FROM (
            SELECT result, r, coalesce({answered} AND node.role = 'writer')[1], {answered})[1]) AS server
            FROM (SELECT result, content AS r FROM records_loaded)
        ) run
        LEFT JOIN manifests_loaded m USING (result)
        LEFT JOIN cells c ON c.result = run.result AND c.cell = r.cell
        WHERE r.block > 0
    """  # noqa: S608  (field names, no user input)


def _of_servers(field: str, key: str) -> str:
    """One row per entry of a field that maps servers to entries."""
    return f"""
        SELECT result, cell, block, node, entry.key AS {key}, entry.value AS value FROM (
            SELECT result, cell, block, server.key AS node, unnest(map_entries(server.value)) AS entry FROM (
                SELECT s.result, r.content.cell, r.content.block, unnest(map_entries(s.content.{field})) AS server
                FROM servers_loaded s JOIN records_loaded r USING (path)))
    """  # noqa: S608  (field names, no user input)


VIEWS = {
    "cells": """
        SELECT result, cell.name AS cell, cell.arm AS variant, cell.profile, cell.levels, cell.skipped
        FROM (SELECT result, unnest(content.matrix.cells) AS cell FROM manifests_loaded)
    """,
    "runs": _runs(),
    "results": """
        SELECT m.result, content.kind, content.matrix.name AS matrix, content.profile, content.started_utc,
            content.tool_commit, content.ended_utc, coalesce(counted.runs, 0) AS runs, coalesce(counted.ok, 0) AS ok,
            content.matrix.title, content.matrix.question, content.matrix.host_class, content.matrix.seed,
            content.matrix.blocks, content.matrix.depth, content.matrix.warmup_s, content.matrix.seconds,
            content.matrix.metrics, content.matrix.baseline, content.command
        FROM manifests_loaded m LEFT JOIN (
            SELECT result, count(*) AS runs, count(*) FILTER (content.status = 'ok') AS ok
            FROM records_loaded GROUP BY result
        ) counted USING (result)
    """,
    "nodes": """
        SELECT result, cell, block, node.*
        FROM (SELECT result, content.cell, content.block, unnest(content.nodes) AS node FROM records_loaded)
    """,
    "checks": """
        SELECT result, cell, block, verdict.*
        FROM (SELECT result, content.cell, content.block, unnest(content.checks) AS verdict FROM records_loaded)
    """,
    "variables": _of_servers("variables", "variable"),
    "status_delta": _of_servers("status_delta", "counter"),
    "seconds": """
        SELECT result, cell, block, point.*
        FROM (SELECT s.result, r.content.cell, r.content.block, unnest(s.content) AS point
              FROM seconds_loaded s JOIN records_loaded r USING (path))
    """,
}  # fmt: skip
"""The views that a query sees, by name."""

ABOUT_VIEWS = {
    "runs": "one row per run: cell, block, status, load, every metric, server, machine",
    "results": "one row per result: a bench, or a matrix with its question and plan",
    "cells": "the cells of each matrix with their levels",
    "nodes": "the nodes of each run: role, image, digest, version",
    "checks": "the verdicts of the checks on each run",
    "variables": "effective variables of every server of every run",
    "status_delta": "how every server's status counters changed during each run",
    "seconds": "the one-second series of every run",
}

DEFINITIONS = [*TABLES, *(f"CREATE VIEW {name} AS {select}" for name, select in VIEWS.items())]


def version(library: str) -> str:
    """Of an index: one with a different version, or made by another version of DuckDB, is rebuilt."""
    return hashlib.sha256("\n".join([library, *DEFINITIONS]).encode()).hexdigest()
