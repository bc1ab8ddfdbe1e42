"""Values that nobody set and that differ: found by pair of variants, with where they come from, and told."""

from typing import Any

from sandbox.report.unset_text import unset_text
from sandbox.results.matrix_part import CellPart, ComparisonPart, MatrixPart
from sandbox.results.record import Environment, Inputs, Record
from sandbox.results.unset import unset_differences
from unit.results.samples import sample_record

VARIABLES = {"sync_binlog": "1", "innodb_io_capacity": "200", "server_uuid": "a", "old_only": "1"}


def record(cell: str, version: str = "9.7.0", cpus: str | None = None, **variables: str) -> Record:
    """An ok run of one server."""
    plain = sample_record()
    nodes = [plain.nodes[0].model_copy(update={"server_version": version})]
    return plain.model_copy(
        update={
            "cell": cell,
            "nodes": nodes,
            "variables": {"mysql1": {**VARIABLES, **variables}},
            "environment": Environment(inputs=Inputs(cpus=cpus)),
        }
    )


def part(**changed: Any) -> MatrixPart:
    """Two servers by two numbers of threads."""
    cells = [
        CellPart(
            name=f"{server}-{n}",
            levels={"server": server, "threads": str(n)},
            profile="mysql",
            variant=f"variant-{server}",
        )
        for server in ("a", "b")
        for n in (1, 2)
    ]
    given: dict[str, Any] = {
        "name": "x", "title": "X", "question": "What?", "note": "", "key": "k", "host_class": "here", "seed": 1,
        "blocks": 6, "depth": "slices", "warmup_s": 1, "seconds": 2, "metrics": ["tps"],
        "factors": {"server": ["a", "b"], "threads": ["1", "2"]}, "baseline": {"server": "a"}, "cells": cells,
        "comparisons": [ComparisonPart(cell=f"b-{n}", baseline=f"a-{n}") for n in (1, 2)],
        "canary": ComparisonPart(cell="canary", baseline="a-1"),
        "planned": {"variant-a": {"sync_binlog": "1"}, "variant-b": {"sync_binlog": "0"}},
    }  # fmt: skip
    return MatrixPart(**{**given, **changed})


def test_only_what_no_layer_set_is_found_once_for_a_pair_of_variants() -> None:
    newer = record("b-1", "11.8.6", sync_binlog="0", innodb_io_capacity="300", server_uuid="b", new_only="2")
    (found,) = unset_differences(part(), [record("a-1"), record("a-2"), newer, record("b-2", "11.8.6")])
    assert [each.variable for each in found.values] == ["innodb_io_capacity"]
    assert (found.cell, found.baseline, found.causes, found.only_one) == ("b-1", "a-1", ("version",), 1)


def test_limits_are_causes_and_nothing_different_is_nothing() -> None:
    (found,) = unset_differences(part(), [record("a-1"), record("b-1", cpus="0.5", innodb_io_capacity="1")])
    assert found.causes == ("CPUS",)
    assert unset_differences(part(), [record("a-1"), record("b-1", sync_binlog="0")]) == []
    assert unset_differences(part(), [record("a-1")]) == [], "the other has not run"


def test_they_are_told_in_the_summary() -> None:
    heading, text = unset_text(part(), [record("a-1"), record("b-1", "11.8.6", innodb_io_capacity="300")])
    assert heading == "### Differing values that nobody set"
    assert text == "- server b against a (different version): `innodb_io_capacity` 200 → 300"
    assert unset_text(part(), [record("a-1"), record("b-1", "11.8.6")]) == []
