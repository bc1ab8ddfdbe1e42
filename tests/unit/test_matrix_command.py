"""A matrix or calibration that was interrupted, or came to nothing, says so as one; no engine is asked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.commands import calibrate, matrix, matrix_data, matrix_plan, matrix_request
from sandbox.commands.calibrate import CalibrateOptions, a_against_a
from sandbox.commands.matrix_file import read_matrix
from sandbox.commands.matrix_request import benches_of_file
from sandbox.commands.matrix_stacks import StackMaker
from sandbox.commands.planning import offline_plan
from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.experiment import make_experiment
from sandbox.run.calibration_file import calibration_path
from sandbox.stack.keeping import somebody_measures

OPTIONS = CalibrateOptions("mysql@9.7", "oltp_read_only", 8, 5, 1, 24, False)


@pytest.fixture(autouse=True)
def _no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(matrix_request, "engine_facts", lambda _: SimpleNamespace())
    monkeypatch.setattr(matrix_request, "host_class", lambda _: "here")
    for module in (matrix_request, matrix_data, matrix_plan):
        monkeypatch.setattr(module, "planned", offline_plan)
    monkeypatch.setattr(matrix, "foreseen_s", lambda *_: 0.0)
    monkeypatch.setattr(StackMaker, "begin_alike", lambda *_: None)  # or it makes the data of a real server


@pytest.mark.parametrize(
    "interruption",
    [KeyboardInterrupt(), SandboxError("interrupted", "x", "try: make up NAME=matrix-arm1", ExitCode.INTERRUPTED)],
)
def test_wherever_it_is_interrupted_it_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    def stopped(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(matrix, "run_matrix", stopped)
    with pytest.raises(SandboxError) as told:
        matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert told.value.exit_code is ExitCode.INTERRUPTED
    assert told.value.lines() == [
        "interrupted before the first run",
        "every run that ended is saved, and every stack of the matrix is removed",
        "try: the same command again (it goes on from there)",
    ]


def test_no_snapshot_is_taken_while_a_matrix_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(StackMaker, "begin_alike", lambda *_: seen.append(somebody_measures()))
    monkeypatch.setattr(matrix, "run_matrix", lambda *_: seen.append(somebody_measures()))
    matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert seen == [True, True] and not somebody_measures()


def test_an_engine_that_went_away_says_what_is_saved_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_request: Any, _stacks: Any, _results: Any, line: Any) -> None:
        line.done, line.runs = 3, 18
        raise SandboxError("the Docker engine does not answer", "no socket", "try: make doctor", ExitCode.ENVIRONMENT)

    monkeypatch.setattr(matrix, "run_matrix", gone)
    with pytest.raises(SandboxError) as told:
        matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert told.value.lines() == [
        "the Docker engine does not answer",
        "no socket; 3 of 18 runs are saved",
        "try: make doctor; then the same command again (it goes on from there)",
    ]


def test_a_calibration_without_a_good_pair_leaves_what_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty = SimpleNamespace(manifest=SimpleNamespace(matrix=None), records=list, path=tmp_path)
    monkeypatch.setattr(calibrate, "need_images", lambda _: None)
    monkeypatch.setattr(calibrate, "run_experiment", lambda *_: empty)
    with pytest.raises(SandboxError, match="0 pairs of the calibration were any good") as refused:
        calibrate.run(OPTIONS)
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert not calibration_path().exists()


MATRIX = """\
title: Durable commits
question: What do they cost?
common: {profile: mysql}
factors:
  commits:
    relaxed: {add: relaxed}
    durable: {add: durable}
  threads: [1, 4]
baseline: {commits: relaxed}
"""


def typed(file: str, only: str | None = None, as_json: bool = False) -> matrix.MatrixOptions:
    """The options of a matrix that is run."""
    return matrix.MatrixOptions(file, 5, 1, 8, only, 1, plan=False, new=False, as_json=as_json)


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A matrix file of which every cell can run here, up to the first run."""

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "mine.yaml"
    path.write_text(MATRIX)
    monkeypatch.setattr(matrix, "RESULTS", tmp_path / "results")
    monkeypatch.setattr(matrix, "skipped_cells", lambda _: {})
    monkeypatch.setattr(matrix, "foreseen_s", lambda *_: 0.0)
    monkeypatch.setattr(matrix, "run_matrix", stopped)
    return str(path)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_plan_is_shown_before_it_starts(mine: str, as_json: bool, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SandboxError, match="interrupted before the first run"):
        matrix.run(typed(mine, "threads=4", as_json))
    told = capsys.readouterr()
    lines = told.err.splitlines()
    assert told.out == "", "what is printed there is the result"
    assert lines[:2] == ["Durable commits", "What do they cost?"]
    assert "    arm2  mysql+durable" in lines and "left out: threads 1" in lines
    assert [line.split()[1:] for line in lines if line.startswith("  commits-durable.threads-4 ")] == [["arm2", "runs"]]
    assert any("2 cells and the canary, 8 blocks: 24 runs of 1 + 5 s" in line for line in lines)
    assert "2 comparisons at once: one lone difference among them takes 7 blocks" in lines
    assert max(map(len, lines)) <= 100


@pytest.mark.usefixtures("mine")
def test_a_calibration_begins_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SandboxError):
        matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert capsys.readouterr().err.startswith("matrix  The same against the same; about ")


def test_where_nothing_is_left_to_be_compared_no_baseline_is_measured(
    monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    lost = {f"commits-durable.threads-{threads}": "cannot be had here: x:1" for threads in (1, 4)}
    monkeypatch.setattr(matrix, "skipped_cells", lambda _: lost)
    with pytest.raises(SandboxError) as refused:
        matrix.run(typed(mine))
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert refused.value.lines() == [
        "of the matrix mine nothing that could be compared can run here",
        "2 of 4 cells cannot; commits-durable.threads-1: cannot be had here: x:1",
        "try: make matrix MATRIX=mine PLAN=1 (shows what can)",
    ]
    lost.pop("commits-durable.threads-1")
    with pytest.raises(SandboxError, match="interrupted"):
        matrix.run(typed(mine))


def test_a_baseline_that_cannot_run_here_takes_only_its_own_comparisons_along(
    monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    made = make_experiment(read_matrix(Path(mine)))
    baselines = [each.baseline for each in made.comparisons]
    lost = {made.canary_of.name: "cannot be had here: x:1"}
    here = matrix_plan.with_canary_here(made, lost)
    assert here.canary_of.name in baselines and here.canary_of.name not in lost
    assert here.key != made.key, "a result with another canary is not gone on with"
    monkeypatch.setattr(matrix, "skipped_cells", lambda _: lost)
    with pytest.raises(SandboxError, match="interrupted"):
        matrix.run(typed(mine))
    lost |= dict.fromkeys(baselines, "cannot be had here: x:1")
    with pytest.raises(SandboxError, match="the baseline of the matrix mine cannot run here"):
        matrix.run(typed(mine))


def test_only_what_a_cell_asks_for_is_a_reason_to_skip_it(monkeypatch: pytest.MonkeyPatch, mine: str) -> None:
    made = make_experiment(read_matrix(Path(mine)))

    def refusing(code: ExitCode) -> None:
        def planned(_: Any) -> None:
            raise SandboxError("no", "why", "try: x", code)

        monkeypatch.setattr(matrix_plan, "planned", planned)

    refusing(ExitCode.BAD_INPUT)
    assert set(matrix_plan.skipped_cells(made).values()) == {"no: why"}
    refusing(ExitCode.INTERNAL)
    with pytest.raises(SandboxError, match="no"):
        matrix_plan.skipped_cells(made)


def test_a_cell_whose_stack_has_no_such_entry_is_skipped_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(
        """\
title: Ways in
question: What do they cost?
common: {profile: mysql}
factors:
  proxy: {none: {}, haproxy: {add: haproxy}}
  way: {server: {via: mysql1}, proxy: {via: haproxy}}
baseline: {proxy: none, way: server}
"""
    )
    made = make_experiment(read_matrix(path))
    benches_of_file(made, path)
    reasons = {name: reason for name, reason in matrix_plan.skipped_cells(made).items() if "via" in reason}
    assert reasons == {"proxy-none.way-proxy": "via: haproxy is not part of mysql"}


def test_stacks_that_cannot_be_restored_are_foreseen_to_start_from_nothing(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MATRIX.replace("{add: durable}", "{set: init_file=/x.sql}"))
    engine: Any = SimpleNamespace()
    request = matrix_request.matrix_request(make_experiment(read_matrix(path)), 6, {}, 1, False, engine)
    assert request.from_nothing == {"arm2"} and request.proxied == set()
