"""The order of runs: complete blocks, random inside, the same for the same seed."""

from collections import Counter
from functools import cache
from itertools import groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.matrix.definition import Matrix
from sandbox.matrix.resolved import ResolvedMatrix, schedule
from sandbox.matrix.selection import select
from unit.matrix.resolved import resolved


@cache
def small(depth: str = "slices") -> ResolvedMatrix:
    """Two stacks, three levels of threads; resolved once, as every seed orders the same cells."""
    data = {
        "name": "x",
        "title": "x",
        "question": "x?",
        "common": {"profile": "mysql"},
        "factors": {"rewriter": {"off": {}, "on": {"add": "rewriter"}}, "threads": [1, 16, 64]},
        "baseline": {"rewriter": "off"},
        "depth": depth,
    }
    return resolved(select(Matrix.model_validate(data)))


@pytest.mark.parametrize("depth", ["slices", "restart"])
@given(seed=st.integers(1, 2**31))
def test_every_block_holds_every_cell_and_the_canary_once(depth: str, seed: int) -> None:
    made = small(depth)
    runs = schedule(made, 4, seed)
    cells = made.cells.keys() | {"canary"}
    for block in range(1, 5):
        assert Counter(run.cell for run in runs if run.block == block) == dict.fromkeys(cells, 1)
    assert [run.block for run in runs] == sorted(run.block for run in runs)
    assert runs == schedule(made, 4, seed)


@given(seed=st.integers(1, 2**31))
def test_slices_keep_what_is_compared_close_in_time(seed: int) -> None:
    for _, block in groupby(schedule(small(), 3, seed), key=lambda run: run.block):
        levels = [level for level, _ in groupby(run.of.levels["threads"] for run in block)]
        assert len(levels) == 3, "a level was left and come back to"


@given(seed=st.integers(1, 2**31))
def test_restart_blocks_start_each_stack_once(seed: int) -> None:
    for _, block in groupby(schedule(small("restart"), 3, seed), key=lambda run: run.block):
        assert len([stack for stack, _ in groupby(run.stack for run in block)]) == 3


def test_the_canary_is_the_baseline_on_a_stack_of_its_own() -> None:
    made = small()
    canaries = [run for run in schedule(made, 2, 1) if run.cell == "canary"]
    assert {run.of.name for run in canaries} == {"rewriter-off.threads-16"}
    assert {run.stack for run in canaries} == {"canary"}
    assert sorted({cell.stack for cell in made.cells.values()}) == ["variant1", "variant2"]


@pytest.mark.parametrize("depth", ["slices", "restart"])
def test_no_place_in_a_block_belongs_to_a_stack(depth: str) -> None:
    """Each stack comes first about as often as the others: an order that favours one would be a
    bias.
    """
    made = small(depth)
    first = Counter(schedule(made, 1, seed)[0].stack for seed in range(1, 1201))
    # Slices: two levels have two stacks, the middle one has three, so a stack is first in 2/3 · 1/2
    # + 1/3 · 1/3.
    shares = {"restart": (1 / 3, 1 / 3, 1 / 3), "slices": (4 / 9, 4 / 9, 1 / 9)}[depth]
    for stack, share in zip(("variant1", "variant2", "canary"), shares, strict=True):
        assert abs(first[stack] - 1200 * share) < 80
