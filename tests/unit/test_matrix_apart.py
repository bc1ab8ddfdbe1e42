"""Levels that want different data in one place get stacks of their own, each restored from its own data."""

from pathlib import Path

import pytest

from sandbox.commands.matrix_apart import apart_by_data
from sandbox.commands.matrix_data import data_of_arms
from sandbox.commands.matrix_file import read_matrix
from sandbox.commands.matrix_request import bench_of, benches_of_arms
from sandbox.plan.experiment import Experiment, make_experiment
from sandbox.run.data import needs_kept
from sandbox.run.schedule import arms, schedule

MATRIX = """\
title: Data
question: Which of it where?
common: {profile: mysql@9.7, tables: 1, rows: 1000}
factors:
  commits: {relaxed: {add: relaxed}, durable: {add: durable}}
  FACTOR
baseline: {commits: relaxed}
"""


def experiment(tmp_path: Path, factor: str) -> Experiment:
    path = tmp_path / "data.yaml"
    path.write_text(MATRIX.replace("FACTOR", factor))
    made = make_experiment(read_matrix(path))
    return apart_by_data(made, [bench_of(cell, made.matrix) for cell in made.cells])


@pytest.mark.parametrize(
    ("factor", "stacks"),
    [
        ("rows: [1000, 2000]", 4),
        ("tables: [1, 2]", 4),
        ("threads: [1, 4]", 2),
        ("dist: [uniform, pareto]", 2),
        ("workload: [oltp_read_write, oltp_point_select]", 2),
        ("workload: [oltp_read_write, tpcc]", 2),  # beside one another
        ("workload: [oltp_read_write, oltp_insert]", 4),
        ("workload: [oltp_delete, oltp_insert]", 2),  # each uses up what it finds
        ("workload: [oltp_insert, oltp_read_write, oltp_point_select]", 4),
    ],
)
def test_stacks_are_as_many_as_need_be(tmp_path: Path, factor: str, stacks: int) -> None:
    made = experiment(tmp_path, factor)
    assert len(arms(made)) == stacks
    assert made.canary_of in made.cells and len(made.comparisons) == len(made.cells) / 2


def test_every_run_finds_the_data_that_its_stack_was_restored_with(tmp_path: Path) -> None:
    made = experiment(tmp_path, "rows: [1000, 2000]")
    benches = benches_of_arms(made, {})
    held = {stack.arm: {need.key for need in needs_kept(each)} for stack, each in benches.items()}
    for run in schedule(made, 2, 1):
        (need,) = needs_kept([bench_of(run.of, made.matrix)])
        assert held[run.arm] == {need.key}
    keys = {stack.arm: data.key for stack, data in data_of_arms(benches).items()}
    assert len(set(keys.values())) == 2, "settings that change no layout share data"
    assert keys["canary"] == keys[arms(made)[made.canary_of.stack_key]]
