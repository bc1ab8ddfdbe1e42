"""Models → DuckDB types: the columns of a table that holds whole records, and those that a flat view can show."""

from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic import AwareDatetime, BaseModel

_SCALARS: dict[Any, str] = {
    str: "VARCHAR", bool: "BOOLEAN", int: "BIGINT", float: "DOUBLE", AwareDatetime: "TIMESTAMP",
}  # fmt: skip


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


def scalars_of(model: type[BaseModel]) -> Iterator[str]:
    """Names of the fields that hold a single value."""
    for name, field in model.model_fields.items():
        if sql_type(field.annotation) in _SCALARS.values():
            yield name


def quoted(name: str) -> str:
    """A quoted SQL identifier."""
    return '"' + name.replace('"', '""') + '"'


def _widest(kinds: set[str]) -> str:
    """The common type: DOUBLE for integers and floats, VARCHAR for unrelated types."""
    if len(kinds) == 1:
        return kinds.pop()
    return "DOUBLE" if kinds == {"BIGINT", "DOUBLE"} else "VARCHAR"
