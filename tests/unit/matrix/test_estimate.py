"""How long a matrix takes: starts, data, runs; what is left of one; what this host took before."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sandbox.load.common.registry import NamedWorkload, find_workload
from sandbox.load.common.workload import make_parameters
from sandbox.load.replica_catch_up import ReplicaCatchUp
from sandbox.matrix import estimate
from sandbox.matrix.cell import CANARY, Cell
from sandbox.matrix.dataset import needing_data
from sandbox.matrix.definition import Matrix
from sandbox.matrix.estimate import (
    TYPICAL,
    Typical,
    keeping_s,
    known_pace,
    load_s,
    overhead_s,
    runs_left,
    trial_s,
)
from sandbox.matrix.result_folder import matrix_part
from sandbox.matrix.selection import Selection, select
from sandbox.measure.bench import BenchRequest
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.scenario import FaultProfile, Scenario
from sandbox.measure.trial.schedule import Step
from sandbox.record.manifest import Manifest
from sandbox.record.store import ResultFolder, readable_results
from sandbox.stack.engine import Docker
from unit.matrix.resolved import resolved

WORKLOADS = [Path(__file__).parents[3] / "profiles" / "workloads"]
ROWS = 70_000
ELSE = replace(estimate.ELSE, start_s=100, cold_start_s=200, keep_data_s=5)


def selection(depth: str = "slices", **factors: Any) -> Selection:
    """Two stacks by two levels, and the canary."""
    data = {
        "name": "x",
        "title": "X",
        "question": "What?",
        "common": {"profile": "mysql@9.7", "tables": 1, "rows": ROWS},
        "factors": {
            "commits": {"relaxed": {}, "durable": {"add": "durable"}},
            "threads": [1, 4],
            **factors,
        },
        "baseline": {"commits": "relaxed"},
        "depth": depth,
        "warmup": 1,
        "seconds": 9,
    }
    return select(Matrix.model_validate(data))


def load_of(cell: Cell, workload: str = "oltp_read_only") -> BenchRequest:
    """The load of a cell."""
    change = cell.change
    parameters = make_parameters(
        threads=change.threads or 1,
        warmup_s=1,
        tables=change.tables or 1,
        rows_per_table=change.rows or 1,
    )
    return BenchRequest(find_workload(workload, WORKLOADS), parameters)


@pytest.fixture(autouse=True)
def _round_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "RUN_OVERHEAD_S": 1,
        "THREAD_S": 0,
        "PROXIED_THREAD_S": 1,
        "ELSE": ELSE,
        "ROWS_PER_S": ROWS,
        "HOST_CHECK_S": 0,
    }.items():
        monkeypatch.setattr(estimate, name, value)


def test_slices_start_each_stack_once_with_its_data() -> None:
    made = resolved(selection(), load_of)
    left = runs_left(made, 1)
    assert (len(left), load_s(made, left)) == (10, 100)
    assert overhead_s(made, left) == 3 * 100 + 10


@pytest.mark.parametrize(
    ("topology", "servers", "lasts"),
    [
        ("single", 1, ELSE),
        ("galera", 3, TYPICAL["galera"]),
        ("gr", 3, TYPICAL["gr"]),
        ("gr", 1, TYPICAL["gr1"]),
    ],
)
def test_a_trial_takes_as_long_as_its_schedule_and_its_topology(
    topology: str, servers: int, lasts: Typical
) -> None:
    scenario = Scenario((FaultProfile(title="-", steps=[Step(at_s=10, fault="hang", for_s=20)]),))

    def trial_of(cell: Cell) -> BenchRequest | TrialRequest:
        load = load_of(cell)
        if cell.change.threads != 4:
            return load
        return TrialRequest(load.workload, load.parameters, scenario=scenario)

    made = resolved(selection("restart"), trial_of, 1, topology=(topology, servers))
    plain = resolved(selection("restart"), load_of, 1, topology=(topology, servers))
    left = runs_left(made, 1)
    plain_s = overhead_s(plain, runs_left(plain, 1))
    trials = sum(run.of.change.threads == 4 for run in left)
    a_trial = TrialRequest(find_workload("noop", WORKLOADS), make_parameters(), scenario=scenario)
    assert 0 < trials < len(left) and load_s(made, left) == 10 * (len(left) - trials), (
        "no clock ends a trial"
    )
    more_s = overhead_s(made, left) - plain_s
    assert more_s == pytest.approx(trials * trial_s(a_trial, lasts.trial))
    assert plain_s == pytest.approx(3 * lasts.start_s + len(left))


def test_a_workload_that_ends_with_its_work_takes_its_typical_time_at_the_pace_of_the_host() -> (
    None
):
    catching_up = NamedWorkload("replica-catch-up", "", ReplicaCatchUp(transactions=30_000))
    made = resolved(selection(), lambda cell: replace(load_of(cell), workload=catching_up), 1)
    plain = resolved(selection(), load_of, 1)
    left = runs_left(made, 1)
    plain_s = overhead_s(plain, runs_left(plain, 1))
    work_s = catching_up.workload.work_s(load_of(left[0].of).parameters)
    assert load_s(made, left) == len(left) * 1, "the warm-up alone ends by the clock"
    assert overhead_s(made, left) - plain_s == pytest.approx(len(left) * (work_s or 0))


def test_threads_take_longer_to_connect_through_a_proxy() -> None:
    direct, proxied = (
        resolved(selection(), load_of, 1, proxied=names) for names in ((), ("variant2",))
    )
    left = runs_left(direct, 1)
    assert overhead_s(proxied, left) - overhead_s(direct, left) == 2 * (1 + 4)


def test_restarts_start_every_stack_for_every_block() -> None:
    made = resolved(selection("restart"), load_of)
    assert overhead_s(made, runs_left(made, 1)) == 6 * 100 + 10


def test_a_stack_that_cannot_be_restored_starts_from_nothing_and_makes_its_data() -> None:
    made = resolved(selection("restart"), load_of, cold=("variant2",))
    assert overhead_s(made, runs_left(made, 1)) == 4 * 100 + 2 * 201 + 10


def test_data_that_is_not_kept_yet_is_made_once() -> None:
    loads = [load_of(cell) for cell in selection().cells]
    assert keeping_s(needing_data(loads), ELSE) == 5 + 1


def test_what_is_done_or_cannot_run_takes_no_time() -> None:
    made = resolved(selection(), load_of)
    left = runs_left(made, 7)
    done = {f"{run.cell}.{run.block}" for run in left[:9]}
    rest = runs_left(made, 7, done)
    assert [run.cell for run in rest] == [left[9].cell]
    assert overhead_s(made, rest) == 100 + 1
    skipped = {name: "no image" for name in made.cells if "durable" in name}
    assert {run.stack for run in runs_left(resolved(selection(), load_of, skipped=skipped), 1)} == {
        "variant1",
        "canary",
    }


def test_data_is_made_again_when_it_changes_and_where_it_is_used_up() -> None:
    made = resolved(selection(rows=[ROWS, 2 * ROWS]), load_of, 1)
    left = runs_left(made, 1)
    switches = overhead_s(made, left) - 3 * 100 - len(left)
    assert switches > 1, "each stack holds one set of data at a time"
    plain = resolved(selection(), lambda cell: load_of(cell, "oltp_delete"), 1)
    assert overhead_s(plain, runs_left(plain, 1)) == 3 * 100 + 5 * 2 + 5


def test_the_pace_of_the_newest_whole_matrices_of_this_host_counts(tmp_path: Path) -> None:
    assert known_pace([], "here", trials=False) == 1
    # The last one had ended before all of its load: less than nothing is no figure. The first is
    # too long ago.
    here = [("here", spent) for spent in (900.0, 30.0, 90.0, 60.0, 60.0, 60.0)]
    for second, (host, spent) in enumerate(
        [*here, ("there", 10.0), ("here", None), ("here", -142.0)]
    ):
        made = resolved(selection(), load_of, 6, host_class=host)
        started = datetime(2026, 1, 1, 0, 0, second, tzinfo=UTC)
        manifest = Manifest(
            kind="matrix",
            slug="x",
            profile="mysql",
            command=[],
            started_utc=started,
            matrix=matrix_part(made),
        )
        result = ResultFolder.create(tmp_path, manifest)
        if spent:
            result.note(overhead_s=spent, estimated_overhead_s=30.0)
    manifests = [manifest for _, manifest in readable_results(tmp_path, pytest.fail)]
    assert known_pace(manifests, "here", trials=False) == 2
    assert known_pace(manifests, "here", trials=True) == 1, "a trial's overhead is its whole length"


def test_results_that_cannot_be_read_are_skipped_with_a_note(tmp_path: Path) -> None:
    for name, content in {"1": b"{}", "2": b"{", "3": bytes([0xFF]), "4": None}.items():
        manifest = tmp_path / f"2999010{name}T000000Z-x" / "manifest.json"
        manifest.parent.mkdir()
        manifest.write_bytes(content) if content else manifest.mkdir()
    notes: list[str] = []
    made = resolved(selection(), load_of, 6, cold=["variant1", "variant2", CANARY])
    found = estimate.estimate(made, tmp_path, Docker(), notes.append)
    assert found.resumes is None and found.seconds > 0
    assert [note.partition(": ")[0] for note in notes] == [
        f"skipped  2999010{number}T000000Z-x/manifest.json" for number in (4, 3, 2, 1)
    ]
