"""A matrix that resumes where not the same cells can run as at its first start."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.judge.compare import Verdict
from sandbox.judge.matrix import judge_matrix
from sandbox.matrix import estimate
from sandbox.matrix.result_folder import resume
from sandbox.matrix.runner import Advance
from sandbox.record.store import ResultFolder
from sandbox.report.matrix_notes import lost_runs
from sandbox.stack.engine import Docker
from unit.matrix.resolved import resolved
from unit.matrix.small_matrix import Engine, load_of, records, run, selection

SKIPPED = {f"rewriter-on.threads-{threads}": "not available here: x:1" for threads in (4, 8)}


def interrupted(results: Path, runs: int, **changed: Any) -> ResultFolder:
    """A matrix whose next run after so many is interrupted."""
    loads: list[int] = []

    def interrupt() -> None:
        loads.append(1)
        if len(loads) == 2 * runs + 2:  # each run loads twice: warm-up and measured
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run(results, Engine(on_load=interrupt), **changed)
    return ResultFolder(max(results.glob("2*")))


def judged(result: ResultFolder) -> Sequence[Verdict]:
    """The verdicts on a result."""
    part = result.manifest.matrix
    assert part
    return judge_matrix(part, records(result), lambda _: (), {}).verdicts


def test_a_cell_that_can_run_by_now_is_compared_as_any_other(tmp_path: Path) -> None:
    first = interrupted(tmp_path, 4, skipped=SKIPPED)
    result, events = run(tmp_path, Engine())
    assert (
        result.path == first.path and [record.status for record in records(result)] == ["ok"] * 10
    )
    assert [event.done for event in events if isinstance(event, Advance)] == list(range(4, 10))
    part = result.manifest.matrix
    assert part and not any(cell.skipped for cell in part.cells)
    found = {each.cell: each.judgement.effect.blocks for each in judged(result) if each.judgement}
    assert found == dict.fromkeys(SKIPPED, 2)


def test_runs_of_a_cell_that_can_run_no_more_count_and_those_it_lacks_have_the_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = interrupted(tmp_path, 5)
    monkeypatch.setattr(estimate, "data_s", lambda *_: 0.0)
    expected = estimate.estimate(
        resolved(selection(), load_of, skipped=SKIPPED), tmp_path, Docker(), lambda _: None
    )
    assert expected.resumes == (first.path.name, 3), "of the six runs that can run here"
    result, events = run(tmp_path, Engine(), skipped=SKIPPED)
    assert result.path == first.path
    assert [(each.done, each.runs) for each in events if isinstance(each, Advance)] == [
        (done, 6) for done in (3, 4, 5)
    ]
    reasons = {
        f"{each.cell}.{each.block}": each.reason for each in records(result) if each.status != "ok"
    }
    reason = "its cell cannot run here any more: not available here: x:1"
    assert reasons == {f"{cell}.2": reason for cell in SKIPPED}
    part = result.manifest.matrix
    assert part and not any(cell.skipped for cell in part.cells)
    found = {
        each.cell: (each.judgement.effect.blocks, each.missing)
        for each in judged(result)
        if each.judgement
    }
    assert found == dict.fromkeys(SKIPPED, (1, 1))
    (line,) = lost_runs(part, records(result))
    assert line.endswith(reason)


def test_a_cell_that_has_not_run_and_cannot_now_is_skipped(tmp_path: Path) -> None:
    first = interrupted(tmp_path, 0)
    result, _ = run(tmp_path, Engine(), skipped=SKIPPED)
    part = result.manifest.matrix
    assert result.path == first.path and part
    assert {cell.name: cell.skipped for cell in part.cells if cell.skipped} == SKIPPED


def test_what_a_stack_was_started_with_stays_known_when_it_can_be_planned_no_more(
    tmp_path: Path,
) -> None:
    planned = {"variant2": {"innodb_flush_log_at_trx_commit": "2"}}
    first = interrupted(tmp_path, 5, planned=planned)
    asked = resolved(selection(), load_of, skipped=SKIPPED)
    others = {name: stack for name, stack in asked.stacks.items() if name != "variant2"}
    part = resume(replace(asked, stacks=others), first).manifest.matrix
    assert part and part.planned["variant2"] == planned["variant2"]


def test_what_a_new_one_has_replaced_is_not_resumed_after_its_end(tmp_path: Path) -> None:
    abandoned = interrupted(tmp_path, 1)
    finished, _ = run(tmp_path, Engine(), afresh=True)
    another, _ = run(tmp_path, Engine())
    assert len({abandoned.path, finished.path, another.path}) == 3
    assert abandoned.manifest.ended_utc is None and another.manifest.ended_utc
