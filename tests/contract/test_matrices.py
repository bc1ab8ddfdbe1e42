"""Every matrix that ships: read, planned, with a question, a note and enough blocks to call one
difference real.
"""

import re
from functools import cache
from pathlib import Path

import pytest

from contract.stacks import LIBRARY
from sandbox.core.paths import yaml_files
from sandbox.matrix.definition import Matrix
from sandbox.matrix.file import MATRICES, read_matrix
from sandbox.matrix.loads import with_load
from sandbox.matrix.selection import select
from sandbox.measure.in_client.sampler import STATUS
from sandbox.measure.trial.run import TrialRequest
from sandbox.profile.images import Availability
from sandbox.profile.planner import make_plan
from sandbox.record.metrics import METRICS

FILES = list(yaml_files(MATRICES).values())


@cache
def matrix_in(path: Path) -> Matrix:
    """A matrix, read once for all tests."""
    return read_matrix(path)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_cell_can_be_planned_and_loaded(path: Path) -> None:
    matrix = matrix_in(path)
    for cell in select(matrix).cells:
        make_plan(cell.plan_request, LIBRARY, Availability(registry=lambda: True))
        with_load(cell, matrix)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_it_asks_one_question_and_says_what_the_original_found(path: Path) -> None:
    matrix = matrix_in(path)
    assert matrix.question.endswith("?") and "\n" not in matrix.question
    assert matrix.note
    assert matrix.blocks is None, "shipped matrices default to what one lone difference takes"
    assert set(matrix.metrics) <= set(METRICS)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_its_conditions_ask_what_is_sampled_and_each_concerns_some_cell(path: Path) -> None:
    matrix = matrix_in(path)
    sampled = re.search(r"'\^\((.*)\)\$'", STATUS)
    assert sampled
    for condition in matrix.conditions:
        assert re.fullmatch(sampled[1], condition.status), "the sampler does not ask for it"
        assert any(condition.holds_for(cell.levels) for cell in matrix.all_cells())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_what_a_level_breaks_is_broken_in_each_of_its_cells(path: Path) -> None:
    matrix = matrix_in(path)
    for cell in matrix.all_cells():
        changes = [
            matrix.common,
            *(matrix.factors[factor][level] for factor, level in cell.levels.items()),
        ]
        asked = [each for change in changes for each in change.faults or ()]
        broken = [
            each.get("named", each) if isinstance(each, dict) else each
            for each in cell.change.faults or ()
        ]
        assert asked == broken, cell.name


def test_every_cell_of_join_joins() -> None:
    matrix = matrix_in(yaml_files(MATRICES)["join"])
    for cell in matrix.all_cells():
        trial = with_load(cell, matrix).load
        assert isinstance(trial, TrialRequest) and "join" in [
            step.name for step in trial.schedule.steps
        ], cell.name


def test_one_server_stands_in_all_variants_of_the_pool_against_the_proxies() -> None:
    cells = list(matrix_in(yaml_files(MATRICES)["threadpool-vs-multiplexing"]).all_cells())
    assert {cell.change.expression.split("+")[0] for cell in cells} == {"gr1@9.7"}
    assert {cell.change.options["db_ps_mode"] for cell in cells} == {"disable"}
    assert all("max_connections=2000" in cell.assignments for cell in cells)
