"""The table of metrics: what a row says holds for the record, and none is written twice."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from sandbox.record import record as record_module
from sandbox.record.metrics import METRICS, Metric, in_group
from sandbox.record.record import Metrics, Part


@pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)
def test_a_field_of_the_record_has_the_type_that_the_row_says(metric: Metric) -> None:
    expected: Any = int | None if metric.whole else float | None
    assert Metrics.model_fields[metric.name].annotation == expected


def test_names_titles_and_export_units_are_different() -> None:
    for words in (
        [metric.title for metric in METRICS.values()],
        [metric.export_unit for metric in METRICS.values()],
    ):
        assert len(set(words)) == len(words)


def test_a_time_is_exported_in_seconds() -> None:
    rto, share = METRICS["rto_ms"], METRICS["flow_control_paused_percent"]
    assert (2500.0 * rto.export_factor, rto.export_unit) == (2.5, "rto-sec")
    assert share.export_factor == METRICS["catch_up_s"].export_factor == 1.0


def test_a_group_keeps_the_order_of_the_table() -> None:
    assert in_group("cluster") == (
        "flow_control_paused_percent",
        "queue_max",
        "load_tps_change_percent",
    )


@pytest.fixture
def two_more(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Metric, Metric]]:
    """Two rows more than the record declares."""
    share = replace(METRICS["tps"], name="made_up_share")
    count = replace(METRICS["errors"], name="made_up_count")
    for metric in (share, count):
        monkeypatch.setitem(METRICS, metric.name, metric)
    yield share, count


@pytest.mark.usefixtures("two_more")
def test_a_row_that_the_model_does_not_declare_is_a_field_of_it() -> None:
    made = record_module._with_every_metric(Metrics)
    assert list(made.model_fields) == [*Metrics.model_fields, "made_up_share", "made_up_count"]
    assert made.model_validate({"tps": 5.0}).model_dump()["made_up_share"] is None
    found = made.model_validate({"made_up_share": 0.5, "made_up_count": 3}).model_dump()
    assert (found["made_up_share"], found["made_up_count"]) == (0.5, 3)
    with pytest.raises(ValueError, match="made_up_count"):
        made.model_validate({"made_up_count": 3.5})
    with pytest.raises(ValueError, match="Extra inputs"):
        made.model_validate({"unknown": 1})
    assert isinstance(made(), Part)


def test_the_model_is_left_alone_where_it_declares_every_row() -> None:
    assert record_module._with_every_metric(Metrics) is Metrics
