"""The order of runs: complete blocks, random inside, the same for the same seed; the cells of a smoke benchmark."""

from collections import Counter
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.judge.gate import LARGEST_MARGIN
from sandbox.matrix.definition import CANARY, Change, Matrix
from sandbox.matrix.selection import SMOKE_METRICS, Experiment, make_experiment, schedule, smoke_experiment


def experiment(depth: str = "slices") -> Experiment:
    """Two stacks, three levels of threads."""
    data = {
        "name": "x",
        "title": "x",
        "question": "x?",
        "common": {"profile": "mysql"},
        "factors": {"rewriter": {"off": {}, "on": {"add": "rewriter"}}, "threads": [1, 16, 64]},
        "baseline": {"rewriter": "off"},
        "depth": depth,
    }
    return make_experiment(Matrix.model_validate(data))


@pytest.mark.parametrize("depth", ["slices", "restart"])
@given(seed=st.integers(1, 2**31))
def test_every_block_holds_every_cell_and_the_canary_once(depth: str, seed: int) -> None:
    made = experiment(depth)
    runs = schedule(made, 4, seed)
    cells = {cell.name for cell in made.cells} | {"canary"}
    for block in range(1, 5):
        assert Counter(run.cell for run in runs if run.block == block) == dict.fromkeys(cells, 1)
    assert [run.block for run in runs] == sorted(run.block for run in runs)
    assert runs == schedule(made, 4, seed)


@given(seed=st.integers(1, 2**31))
def test_slices_keep_what_is_compared_close_in_time(seed: int) -> None:
    for _, block in groupby(schedule(experiment(), 3, seed), key=lambda run: run.block):
        levels = [level for level, _ in groupby(run.of.levels["threads"] for run in block)]
        assert len(levels) == 3, "a level was left and come back to"


@given(seed=st.integers(1, 2**31))
def test_restart_blocks_start_each_stack_once(seed: int) -> None:
    for _, block in groupby(schedule(experiment("restart"), 3, seed), key=lambda run: run.block):
        assert len([stack for stack, _ in groupby(run.stack for run in block)]) == 3


def test_the_canary_is_the_baseline_on_a_stack_of_its_own() -> None:
    made = experiment()
    canaries = [run for run in schedule(made, 2, 1) if run.cell == "canary"]
    assert {run.of.name for run in canaries} == {"rewriter-off.threads-16"}
    assert {run.stack for run in canaries} == {"canary"}
    assert sorted(set(made.stack_of.values())) == ["variant1", "variant2"]


@pytest.mark.parametrize("depth", ["slices", "restart"])
def test_no_place_in_a_block_belongs_to_a_stack(depth: str) -> None:
    """Each stack comes first about as often as the others: an order that favours one would be a bias."""
    made = experiment(depth)
    first = Counter(schedule(made, 1, seed)[0].stack for seed in range(1, 1201))
    # Slices: two levels have two stacks, the middle one has three, so a stack is first in 2/3 · 1/2 + 1/3 · 1/3.
    shares = {"restart": (1 / 3, 1 / 3, 1 / 3), "slices": (4 / 9, 4 / 9, 1 / 9)}[depth]
    for stack, share in zip(("variant1", "variant2", "canary"), shares, strict=True):
        assert abs(first[stack] - 1200 * share) < 80


LOAD = Change(workload="oltp_read_only", threads=4, rows=25_000, tables=4)


def smoke(base: Change, head: Change) -> Experiment:
    """The experiment of a smoke benchmark with these two sides."""
    return smoke_experiment(base, head, LOAD, 5, 1)


def test_a_against_a_has_a_server_for_each_variant() -> None:
    experiment = smoke(Change(profile="mysql@9.7"), Change(profile="mysql@9.7"))
    assert sorted(set(experiment.stack_of.values())) == ["variant1", "variant2"]
    runs = schedule(experiment, 8, 7, first=0)
    assert len(runs) == 9 * 3 and {run.block for run in runs} == set(range(9))
    assert {(run.cell, run.stack) for run in runs} == {
        ("variant-base", "variant1"),
        ("variant-head", "variant2"),
        (CANARY, "canary"),
    }
    canary = next(run for run in runs if run.cell == CANARY)
    assert canary.of.name == "variant-base", "the canary is the base once more"


def test_each_side_has_what_it_was_given() -> None:
    head = Change(profile="mysql@8.4", image="sha256:1", set=["max_connections=9", "x=1"], cpus="0.5", memory="1g")
    base, changed = (cell.change for cell in smoke(Change(profile="mysql@9.7"), head).cells)
    assert (base.profile, base.image, base.set, base.cpus, base.memory) == ("mysql@9.7", None, [], None, None)
    assert (changed.profile, changed.image, changed.cpus, changed.memory) == ("mysql@8.4", "sha256:1", "0.5", "1g")
    assert changed.set == ["max_connections=9", "x=1"]
    assert (base.threads, base.rows, base.workload) == (changed.threads, changed.rows, changed.workload)


def test_the_head_alone_is_compared_by_what_decides_and_what_is_shown() -> None:
    experiment = smoke(Change(profile="mysql"), Change(profile="mysql"))
    assert experiment.matrix.depth == "slices" and experiment.matrix.metrics == list(SMOKE_METRICS)
    assert [(each.cell, each.baseline) for each in experiment.comparisons] == [("variant-head", "variant-base")]
    assert set(LARGEST_MARGIN) < set(SMOKE_METRICS)


def test_a_matrix_file_may_ask_for_an_image_and_is_adjusted_as_before() -> None:
    data = {
        "name": "x", "title": "x", "question": "x?", "common": {"profile": "mysql"},
        "factors": {"image": ["mine:1", "mine:2"]}, "baseline": {"image": "mine:1"},
    }  # fmt: skip
    matrix = Matrix.model_validate(data)
    assert [cell.change.image for cell in matrix.all_cells()] == ["mine:1", "mine:2"]
    assert len({cell.stack_key for cell in matrix.all_cells()}) == 2
    assert matrix.adjustment == "Benjamini-Hochberg"
