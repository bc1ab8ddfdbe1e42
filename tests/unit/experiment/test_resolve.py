"""Levels that want different data in one place get stacks of their own, each restored from its own data."""

from pathlib import Path

import pytest

from sandbox.experiment import resolve
from sandbox.experiment.dataset import needs_kept
from sandbox.experiment.file import read_matrix
from sandbox.experiment.resolve import Resolved
from sandbox.experiment.selection import schedule
from sandbox.stack.planning import offline_plan

MATRIX = """\
title: Data
question: Which of it where?
common: {profile: mysql@9.7, tables: 1, rows: 1000}
factors:
  commits: {relaxed: {add: relaxed}, durable: {add: durable}}
  FACTOR
baseline: {commits: relaxed}
"""


@pytest.fixture(autouse=True)
def _no_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(resolve, "planned", offline_plan)
    monkeypatch.setattr(resolve, "engine_facts", lambda _: None)
    monkeypatch.setattr(resolve, "host_class", lambda _: "here")


def resolved(tmp_path: Path, factor: str) -> Resolved:
    path = tmp_path / "data.yaml"
    path.write_text(MATRIX.replace("FACTOR", factor))
    return resolve.resolve_file(read_matrix(path), path, None)


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
    made = resolved(tmp_path, factor).experiment
    assert len(set(made.stack_of.values())) == stacks
    assert made.canary_of in made.cells and len(made.comparisons) == len(made.cells) / 2


def test_every_run_finds_the_data_that_its_stack_was_restored_with(tmp_path: Path) -> None:
    made = resolved(tmp_path, "rows: [1000, 2000]")
    datasets = {name: stack.dataset for name, stack in made.stacks.items() if stack.dataset}
    held = {name: {need.key for need in needs_kept(each.loads)} for name, each in datasets.items()}
    for run in schedule(made.experiment, 2, 1):
        (need,) = needs_kept([made.cells[run.of.name].load])
        assert held[run.stack] == {need.key}
    keys = {name: each.key for name, each in datasets.items()}
    assert len(set(keys.values())) == 2, "settings that change no layout share data"
    assert keys["canary"] == keys[made.experiment.stack_of[made.experiment.canary_of.name]]
