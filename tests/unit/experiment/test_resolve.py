"""A matrix file resolved: stacks with the data that their levels want, what breaks in a cell, how many blocks."""

from pathlib import Path

import pytest

from sandbox.errors import ExitCode, SandboxError
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


FAULTS = """\
title: Failover
question: How long?
common: {profile: mysql@9.7+replica1, tables: 1, rows: 1000, threads: 4, workload: oltp_read_only}
factors:
  fault:
    crash: {faults: server-crash}
    promoted: {faults: [promotion], target: writer}
    steps:
      faults:
        - {at: 10s, fault: partition, for: 5s, away_from: servers}
        - {at: 12s, action: promote, after_s: 3}
  load: [idle, loaded]
baseline: {fault: crash}
metrics: [rto_ms]
depth: restart
"""


def failover(tmp_path: Path, old: str = "", new: str = "") -> Resolved:
    """The matrix with faults, with one text changed."""
    assert old in FAULTS
    path = tmp_path / "failover.yaml"
    path.write_text(FAULTS.replace(old, new) if old else FAULTS)
    return resolve.resolve_file(read_matrix(path), path, None)


def test_what_breaks_in_a_cell_is_a_schedule(tmp_path: Path) -> None:
    trials = {name: cell.load.trial for name, cell in failover(tmp_path).cells.items()}
    steps = {name: [step.name for step in trial.schedule.steps] for name, trial in trials.items() if trial}
    assert steps["fault-crash.load-idle"] == ["server-crash"]
    assert steps["fault-promoted.load-idle"] == ["server-crash", "promote", "rejoin"]
    assert steps["fault-steps.load-loaded"] == ["partition", "promote"]


def test_the_workload_runs_only_beside_a_loaded_probe(tmp_path: Path) -> None:
    loads = {name: cell.load for name, cell in failover(tmp_path).cells.items()}
    idle, loaded = loads["fault-crash.load-idle"], loads["fault-crash.load-loaded"]
    assert idle.workload.name == "noop" and idle.trial and not idle.trial.loaded
    assert loaded.workload.name == "oltp_read_only" and loaded.trial and loaded.trial.loaded
    assert idle.data_need is None and loaded.data_need is not None


def test_options_of_the_workload_are_no_matter_where_it_does_not_run(tmp_path: Path) -> None:
    made = failover(tmp_path, "workload: oltp_read_only", "workload: tpcc, options: {warehouses: 1}")
    idle, loaded = (made.cells[f"fault-crash.load-{load}"].load for load in ("idle", "loaded"))
    assert idle.workload.name == "noop" and loaded.workload.workload.options()["warehouses"] == 1


def test_a_cell_whose_workload_needs_another_stack_is_skipped_with_the_reason(tmp_path: Path) -> None:
    made = resolved(tmp_path, "workload: {plain: {}, replayed: {workload: replica-catch-up}}")
    reasons = {name.rpartition(".")[2]: reason for name, reason in made.skipped.items()}
    assert reasons.keys() == {"workload-replayed"} and len(made.skipped) == 2
    assert reasons["workload-replayed"].startswith("the workload replica-catch-up needs a replica: mysql@9.7+")


def test_each_cell_with_a_fault_has_a_stack_and_ten_trials(tmp_path: Path) -> None:
    made = failover(tmp_path)
    assert len(set(made.experiment.stack_of.values())) == 6 and set(made.stacks) >= {"variant6", "canary"}
    assert made.blocks == resolve.FEWEST_TRIALS == 10
    assert failover(tmp_path, "depth: restart", "depth: restart\nblocks: 6").blocks == 6


def test_without_a_fault_blocks_are_as_many_as_a_difference_needs(tmp_path: Path) -> None:
    assert resolved(tmp_path, "threads: [1, 4]").blocks < resolve.FEWEST_TRIALS


@pytest.mark.parametrize(
    ("old", "new", "line", "what"),
    [
        ("faults: server-crash", "faults: server-crsh", 6, "there is no fault 'server-crsh'"),
        (
            "workload: oltp_read_only",
            "workload: replica-catch-up",
            12,
            "the workload replica-catch-up cannot be the load of a trial",
        ),
        ("after_s: 3", "aftr_s: 3", 9, "these faults are no schedule: steps.0.aftr_s"),
        ("for: 5s", "for: 5", 9, "these faults are no schedule: steps.0.for"),
    ],
)
def test_a_fault_that_there_is_none_of_is_reported_with_its_line(
    tmp_path: Path, old: str, new: str, line: int, what: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        failover(tmp_path, old, new)
    assert refused.value.what == f"{tmp_path / 'failover.yaml'}:{line}: {what}"
    assert refused.value.exit_code is ExitCode.BAD_INPUT
