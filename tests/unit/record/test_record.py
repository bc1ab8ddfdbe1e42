"""The record keeps its shape, and says null where nothing is known."""

import json
from pathlib import Path

import pytest
from pydantic import ValidationError

from sandbox.record.record import Metrics, Record
from unit.record.samples import sample_record

GOLDEN = Path(__file__).parents[2] / "golden" / "record.schema.json"


def test_the_schema_is_the_golden_one() -> None:
    """After a wanted change this file, run as a program, writes the schema anew
    (CONTRIBUTING.md).
    """
    assert json.loads(GOLDEN.read_text(encoding="utf-8")) == Record.model_json_schema()


def test_top_level_keys_are_those_of_the_design() -> None:
    expected = (
        "schema_version run_id profile stack started_utc seed cell block status reason command"
        " nodes workload metrics status_delta variables environment checks files trial repro"
        " upgrade consistency"
    )
    assert list(Record.model_fields) == expected.split()


def test_metrics_of_the_design_are_there_and_null_until_known() -> None:
    expected = (
        "tps qps reads_per_s writes_per_s latency_avg_ms latency_p50_ms latency_p95_ms"
        " latency_p99_ms latency_max_ms tps_sd_1s errors_by_code conflicts_by_code reconnects"
    )
    written = json.loads(Metrics().model_dump_json())
    assert set(expected.split()) <= set(written)
    assert set(written.values()) == {None}


def test_a_record_survives_the_way_through_json() -> None:
    record = sample_record()
    assert Record.model_validate_json(record.to_json()) == record
    assert json.loads(record.to_json())["started_utc"] == "2025-01-31T23:59:59Z"


def test_an_unknown_key_is_refused() -> None:
    raw = json.loads(sample_record().to_json())
    with pytest.raises(ValidationError):
        Record.model_validate({**raw, "tps": 1})


if __name__ == "__main__":
    GOLDEN.write_text(json.dumps(Record.model_json_schema(), indent=2) + "\n", encoding="utf-8")
