"""LEVELS=: levels of a matrix from the command line, and what of its rules is left."""

from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.matrix.definition import Matrix
from sandbox.matrix.levels import with_levels, with_scale
from sandbox.matrix.selection import select
from unit.matrix.resolved import resolved
from unit.matrix.test_definition import PROXIES, matrix


def levels(changed: Matrix, factor: str) -> list[str]:
    """Names of a factor's levels, in order."""
    return [*changed.factors[factor]]


def test_a_range_doubles_and_replaces_the_levels_of_the_file() -> None:
    changed = with_levels(matrix(), "threads=1..6")
    assert levels(changed, "threads") == ["1", "2", "4", "6"]
    assert [cell.change.threads for cell in changed.all_cells()][:4] == [1, 2, 4, 6]
    assert levels(changed, "rewriter") == ["off", "on"], "as in the file"


def test_plus_adds_to_the_levels_of_the_file() -> None:
    changed = with_levels(matrix(), "threads+=128,256 threads+=16")
    assert levels(changed, "threads") == ["1", "16", "64", "128", "256"], "none of them twice"


def test_a_word_of_the_file_is_its_level_and_any_other_a_value_of_their_key() -> None:
    file: dict[str, Any] = {
        "factors": {"server": {"old": {"profile": "mysql@8.4"}, "new": {"profile": "mysql@9.7"}}},
        "baseline": {"server": "old"},
    }
    changed = with_levels(matrix(**file), "server=mysql@5.7.13,new")
    assert [cell.change.expression for cell in changed.all_cells()] == ["mysql@5.7.13", "mysql@9.7"]
    assert changed.baseline == {"server": "mysql@5.7.13"}, "the first, since the file's is gone"


def test_options_of_a_workload_are_levels_too() -> None:
    file: dict[str, Any] = {
        "factors": {"option.warehouses": [1, 10]},
        "baseline": {"option.warehouses": 1},
    }
    changed = with_levels(matrix(**file), "option.warehouses=1,100")
    assert [cell.change.options["warehouses"] for cell in changed.all_cells()] == [1, "100"]


def test_rules_and_statements_on_levels_that_are_gone_are_left_out() -> None:
    floor = {"between": [1, 2]}
    statements = [
        {"metric": "tps", "value": {**floor, "where": {"threads": 64}}},
        {"metric": "tps", "value": {**floor, "where": {"threads": 1}}},
    ]
    file = matrix(**PROXIES | {"published": {"statements": statements}})
    changed = with_levels(file, "threads=64,128 proxy=direct,haproxy")
    (left,) = changed.published.statements
    assert left.value and left.value.where == {"threads": ["64"]}
    assert changed.exclude == [] and changed.conditions == [], "they were on proxysql"
    fewer = with_levels(file, "proxy=direct,proxysql threads=64")
    assert len(fewer.conditions) == 1 and len(fewer.exclude) == 1, "what holds still holds"
    same = with_levels(file, None)
    assert same is file and len(same.published.statements) == 2


@pytest.mark.parametrize(
    ("text", "what", "known"),
    [
        ("thread=1", "has no factor 'thread'", "did you mean 'threads'?"),
        ("threads=many", "'many' is no level of factor threads", "whole number"),
        ("threads=0", "'0' is no level of factor threads", "at least 1"),
        ("threads", "'threads' is no such change", "factor=level"),
        ("threads=4..2", "4..2 is no range", "up to the last"),
        ("threads='1", "cannot be read", "quotation"),
        ("rewriter=maybe", "factor rewriter has no level 'maybe'", "it has off, on"),
    ],
)
def test_what_cannot_be_a_level_is_refused_in_three_lines(text: str, what: str, known: str) -> None:
    file = matrix(
        factors={
            "rewriter": {"off": {}, "on": {"add": "rewriter", "init": "select 1"}},
            "threads": [1, 16],
        },
        baseline={"rewriter": "off"},
    )
    with pytest.raises(SandboxError) as refused:
        with_levels(file, text)
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert what in refused.value.what and known in refused.value.known
    assert refused.value.next_step.startswith("try: ")


SCALES: dict[str, Any] = {
    "server": {"common": {"rows": 10_000_000}, "levels": {"threads": "1..4"}, "seconds": 300}
}


def test_a_scale_is_over_the_file_and_one_plan_of_it_is_as_before() -> None:
    file = matrix(scales=SCALES)
    assert with_scale(file, None) is with_scale(file, "laptop") is file
    server = with_scale(file, "server")
    assert levels(server, "threads") == ["1", "2", "4"]
    assert (server.seconds, server.warmup, server.scale) == (300, file.warmup, "server")
    assert {cell.change.rows for cell in server.all_cells()} == {10_000_000}
    assert {cell.change.workload for cell in server.all_cells()} == {"oltp_read_only"}, "the file's"
    assert (file.other_scales, server.other_scales) == (["server"], ["laptop"])
    assert resolved(select(file)).key == resolved(select(matrix())).key
    assert resolved(select(server)).key != resolved(select(file)).key


def test_an_unknown_scale_is_refused_with_those_there_are() -> None:
    with pytest.raises(SandboxError, match="no scale 'sevrer'") as refused:
        with_scale(matrix(scales=SCALES), "sevrer")
    assert refused.value.known == "its scales: laptop, server"
