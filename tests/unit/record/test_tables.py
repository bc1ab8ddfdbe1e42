"""The index has a column for whatever a record has, without anybody listing them twice."""

from typing import Any, Literal

import duckdb
import pytest
from pydantic import AwareDatetime

from sandbox.load.common.workload import Second
from sandbox.record.manifest import Manifest
from sandbox.record.record import HostLoad, Metrics, Record
from sandbox.record.tables import SECONDS, quoted, scalars_of, sql_type, struct_of


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (str, "VARCHAR"),
        (float | None, "DOUBLE"),
        (int | float, "DOUBLE"),
        (str | int | float | bool, "VARCHAR"),
        (Literal["ok", "failed"], "VARCHAR"),
        (Literal[1], "BIGINT"),
        (AwareDatetime | None, "TIMESTAMP"),
        (list[str], "VARCHAR[]"),
        (dict[str, dict[str, int]] | None, "MAP(VARCHAR, MAP(VARCHAR, BIGINT))"),
        (tuple[int, str], "JSON"),
        (Any, "JSON"),
    ],
)
def test_every_kind_of_field_has_a_type(annotation: Any, expected: str) -> None:
    assert sql_type(annotation) == expected


@pytest.mark.parametrize("model", [Record, Manifest])
def test_duckdb_takes_the_models_as_they_are(model: type[Record] | type[Manifest]) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"CREATE TABLE t (content {struct_of(model)})")
        fields = connection.execute("SELECT content.* FROM t").description
    assert fields and [field[0] for field in fields] == list(model.model_fields)


def test_a_flat_view_shows_single_figures_only() -> None:
    shown = list(scalars_of(Metrics))
    assert "tps" in shown and "errors_by_code" not in shown
    assert list(scalars_of(HostLoad)) == list(HostLoad.model_fields)


def test_a_name_is_quoted_whole() -> None:
    assert quoted('a"b') == '"a""b"'


def test_the_one_second_series_has_the_columns_that_a_workload_writes() -> None:
    assert {*SECONDS} == {*Second.__dataclass_fields__} - {"phase"} | {"phase"}
