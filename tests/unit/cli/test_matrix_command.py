"""A matrix or calibration that was interrupted, or came to nothing, says so as one; no engine is
asked.
"""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.cli.commands import calibrate, matrix
from sandbox.cli.common import matrices
from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.matrix import estimate, resolve, runner
from sandbox.matrix.calibrate import a_against_a
from sandbox.matrix.file import read_matrix
from sandbox.matrix.resolve import Plans, resolve_file
from sandbox.matrix.resolved import ResolvedMatrix, schedule
from sandbox.matrix.runner import Advance
from sandbox.matrix.stack_pool import StackStarter
from sandbox.measure.machine import calibration_path
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.stack.planning import offline_plan
from sandbox.stack.snapshots.background import somebody_measures

A_AGAINST_A = a_against_a("mysql@9.7", "oltp_read_only", 8, 5, 1, pairs=6)


@pytest.fixture(autouse=True)
def _no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(resolve, "engine_facts", lambda _: None)
    monkeypatch.setattr(resolve, "host_class", lambda _: "here")
    monkeypatch.setattr(resolve, "planned", offline_plan)
    monkeypatch.setattr(estimate, "data_s", lambda *_: 0.0)
    # Or it makes the data of a real server.
    monkeypatch.setattr(StackStarter, "begin_alike", lambda *_: None)


def a_calibration() -> ResolvedMatrix:
    """Six pairs."""
    return resolve.resolve(A_AGAINST_A)


@pytest.mark.parametrize(
    "interruption",
    [
        KeyboardInterrupt(),
        SandboxError("interrupted", "x", "try: make up NAME=matrix-variant1", ExitCode.INTERRUPTED),
    ],
)
def test_wherever_it_is_interrupted_it_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    def stopped(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(runner, "run_matrix", stopped)
    with pytest.raises(SandboxError) as caught:
        matrices.run_resolved(a_calibration())
    assert caught.value.exit_code is ExitCode.INTERRUPTED
    assert caught.value.lines() == [
        "interrupted before the first run",
        "every run that ended is saved, and every stack of the matrix is removed",
        "try: the same command again (it resumes from there)",
    ]


def test_no_snapshot_is_taken_while_a_matrix_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bool] = []
    monkeypatch.setattr(StackStarter, "begin_alike", lambda *_: seen.append(somebody_measures()))
    monkeypatch.setattr(runner, "run_matrix", lambda *_: seen.append(somebody_measures()))
    matrices.run_resolved(a_calibration())
    assert seen == [True, True] and not somebody_measures()


def test_an_engine_that_went_away_says_what_is_saved_and_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def gone(resolved: ResolvedMatrix, _stacks: Any, _results: Any, tell: Any) -> None:
        tell(Advance(3, 18, 6, schedule(resolved, 6, 1)[3], None))
        raise MachineError("the Docker engine does not answer", "no socket", "try: make doctor")

    monkeypatch.setattr(runner, "run_matrix", gone)
    with pytest.raises(SandboxError) as caught:
        matrices.run_resolved(a_calibration())
    assert caught.value.lines() == [
        "the Docker engine does not answer",
        "no socket; 3 of 18 runs are saved",
        "try: make doctor; then the same command again (it resumes from there)",
    ]


def test_a_calibration_without_a_good_pair_leaves_what_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty = SimpleNamespace(manifest=SimpleNamespace(matrix=None), records=list, path=tmp_path)
    monkeypatch.setattr(Plans, "reason", lambda *_: None)
    monkeypatch.setattr(calibrate, "run_resolved", lambda _: empty)
    with pytest.raises(SandboxError, match="0 pairs of the calibration are usable") as refused:
        calibrate.run(A_AGAINST_A, as_json=False)
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


def run_typed(file: str, only: str | None = None, as_json: bool = False) -> int:
    """Runs a matrix as typed."""
    return matrix.command(file, seconds=5, warmup=1, blocks=8, only=only, seed=1, json=as_json)


def lose(monkeypatch: pytest.MonkeyPatch, lost: Mapping[str, str]) -> None:
    """These cells cannot run here."""
    monkeypatch.setattr(Plans, "reason", lambda _, cell: lost.get(cell.name))


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A matrix file of which every cell can run here, up to the first run."""

    def stopped(*_: Any) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "mine.yaml"
    path.write_text(MATRIX)
    monkeypatch.setattr(matrices, "RESULTS", tmp_path / "results")
    lose(monkeypatch, {})
    monkeypatch.setattr(runner, "run_matrix", stopped)
    return str(path)


@pytest.mark.parametrize("as_json", [False, True])
def test_the_plan_is_shown_before_it_starts(
    mine: str, as_json: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SandboxError, match="interrupted before the first run"):
        run_typed(mine, "threads=4", as_json)
    caught = capsys.readouterr()
    lines = caught.err.splitlines()
    assert caught.out == "", "what is printed there is the result"
    assert lines[:2] == ["Durable commits", "What do they cost?"]
    assert "  variant2  mysql+durable" in lines and "  left out: threads 1" in lines
    assert [
        line.split()[1:] for line in lines if line.startswith("  commits-durable.threads-4 ")
    ] == [["variant2", "runs"]]
    assert any("2 cells and the canary, 8 blocks: 24 runs of 1 + 5 s" in line for line in lines)
    assert "  2 comparisons at once: a single difference among them needs 7 blocks" in lines
    assert max(map(len, lines)) <= 100


@pytest.mark.parametrize(
    ("given", "blocks"),
    [({"trials": 7}, 7), ({"blocks": 8, "trials": 8}, 8), ({"blocks": 8}, 8), ({}, 10)],
)
def test_trials_are_the_blocks_of_a_matrix_with_faults(
    mine: str, given: dict[str, Any], blocks: int, capsys: pytest.CaptureFixture[str]
) -> None:
    text = MATRIX.replace("{profile: mysql}", "{profile: mysql, faults: server-crash}")
    Path(mine).write_text(f"{text}depth: restart\nmetrics: [rto_ms]\n")
    with pytest.raises(SandboxError, match="interrupted before the first run"):
        matrix.command(mine, seed=1, **given)
    size = f"4 cells and the canary, {blocks} blocks: {5 * blocks} trials at depth restart, about "
    assert any(size in line for line in capsys.readouterr().err.splitlines())


@pytest.mark.usefixtures("mine")
def test_a_calibration_begins_with_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SandboxError):
        matrices.run_resolved(a_calibration())
    assert capsys.readouterr().err.startswith("matrix  A/A calibration; about ")


def test_where_nothing_is_left_to_be_compared_no_baseline_is_measured(
    monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    lost = {f"commits-durable.threads-{threads}": "not available here: x:1" for threads in (1, 4)}
    lose(monkeypatch, lost)
    with pytest.raises(SandboxError) as refused:
        run_typed(mine)
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert refused.value.lines() == [
        "no comparison of the matrix mine can run here",
        "2 of 4 cells cannot run; commits-durable.threads-1: not available here: x:1",
        f"try: make matrix MATRIX={mine} PLAN=1 (shows what can)",
    ]
    lost.pop("commits-durable.threads-1")
    with pytest.raises(SandboxError, match="interrupted"):
        run_typed(mine)


@pytest.mark.parametrize(
    ("given", "step"),
    [
        ({"seconds": 0}, "SECONDS=1"),
        ({"blocks": 0}, "BLOCKS=1"),
        ({"trials": 0}, "TRIALS=1"),
        ({"blocks": 0, "trials": 3}, "BLOCKS=1"),
        ({"blocks": 201}, "BLOCKS=200"),
        ({"trials": 272}, "TRIALS=200"),
        ({"blocks": 3, "trials": 10}, "TRIALS=10"),
        ({"only": "commit=durable"}, "ONLY='commits=relaxed,durable'"),
        ({"only": "threads=1@8.4"}, "PLAN=1"),
        ({"only": "commits=relaxed"}, "PLAN=1"),
    ],
)
def test_the_next_step_takes_a_file_by_its_path(
    mine: str, given: dict[str, Any], step: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        matrix.command(mine, **given)
    assert refused.value.next_step == f"try: make matrix MATRIX={mine} {step}"


def test_the_next_step_takes_a_shipped_matrix_by_its_name() -> None:
    with pytest.raises(SandboxError) as refused:
        matrix.command("quick", blocks=0, warmup=-1)
    assert refused.value.next_step == "try: make matrix MATRIX=quick WARMUP=0"


def test_a_calibration_that_cannot_run_here_says_what_would(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lose(monkeypatch, {"variant-A": "not available here: x:1"})
    with pytest.raises(SandboxError) as refused:
        calibrate.run(A_AGAINST_A, as_json=False)
    profile = A_AGAINST_A.cells[0].change.expression
    assert refused.value.next_step == f"try: make plan PROFILE={profile}   (shows its images)"


def test_a_baseline_that_cannot_run_here_takes_only_its_own_comparisons_along(
    monkeypatch: pytest.MonkeyPatch, mine: str
) -> None:
    made = resolved_file(Path(mine))
    baselines = [each.baseline for each in made.comparisons]
    lost = {made.canary_of.name: "not available here: x:1"}
    lose(monkeypatch, lost)
    here = resolved_file(Path(mine))
    assert here.canary_of.name in baselines and here.canary_of.name not in lost
    assert here.key != made.key, "a result with another canary is not resumed"
    with pytest.raises(SandboxError, match="interrupted"):
        run_typed(mine)
    lost |= dict.fromkeys(baselines, "not available here: x:1")
    with pytest.raises(SandboxError, match="the baseline of the matrix mine cannot run here"):
        run_typed(mine)


def resolved_file(path: Path) -> ResolvedMatrix:
    """A matrix file, resolved."""
    return resolve_file(read_matrix(path), path, None)


def test_only_what_a_cell_asks_for_is_a_reason_to_skip_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MATRIX)

    def refusing(code: ExitCode) -> None:
        def planned(_: Any) -> None:
            raise SandboxError("no", "why", "try: x", code)

        monkeypatch.setattr(resolve, "planned", planned)

    refusing(ExitCode.BAD_INPUT)
    assert set(resolved_file(path).skipped.values()) == {"no: why"}
    refusing(ExitCode.INTERNAL)
    with pytest.raises(SandboxError, match="no"):
        resolved_file(path)


def test_every_stack_is_planned_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    path, asked = tmp_path / "mine.yaml", []

    def planned(request: PlanRequest) -> Plan:
        asked.append(request)
        return offline_plan(request)

    path.write_text(MATRIX)
    monkeypatch.setattr(resolve, "planned", planned)
    resolved_file(path)
    assert len(asked) == len(set(asked))


def test_a_cell_whose_stack_has_no_such_entry_is_skipped_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("""\
title: Ways in
question: What do they cost?
common: {profile: mysql}
factors:
  proxy: {none: {}, haproxy: {add: haproxy}}
  way: {server: {via: mysql1}, proxy: {via: haproxy}}
baseline: {proxy: none, way: server}
""")
    reasons = {
        name: reason for name, reason in resolved_file(path).skipped.items() if "via" in reason
    }
    assert reasons == {"proxy-none.way-proxy": "via: haproxy is not part of mysql"}


def test_stacks_that_cannot_be_restored_are_known_as_such(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(MATRIX.replace("{add: durable}", "{set: init_file=/x.sql}"))
    lose(monkeypatch, {})
    stacks = resolved_file(path).stacks
    assert [name for name, stack in stacks.items() if not stack.dataset] == ["variant2"]
    assert not any(stack.has_proxy for stack in stacks.values())
