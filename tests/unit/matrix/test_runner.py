"""A matrix from start to end on stacks without Docker: complete, resumed, skipped, a gate, its
overhead.
"""

from pathlib import Path

import pytest

from sandbox.judge.compare import observations
from sandbox.load.common.workload import Progress
from sandbox.matrix import runner as module
from sandbox.matrix.definition import Matrix
from sandbox.matrix.resolved import Gate
from sandbox.matrix.runner import Advance, MoreBlocks
from sandbox.matrix.selection import select
from sandbox.measure.bench import BenchRequest, BenchRun
from sandbox.measure.execute import Procedure
from sandbox.measure.execute import execute as carry_out
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from unit.matrix.small_matrix import Engine, records, run, selection


def test_every_cell_of_every_block_leaves_a_record(tmp_path: Path) -> None:
    result, events = run(tmp_path, Engine())
    assert len(result.manifest.runs) == 2 * 5 and result.manifest.ended_utc
    assert {record.status for record in records(result)} == {"ok"}
    assert {record.cell for record in records(result)} == {
        "canary",
        "rewriter-off.threads-4",
        "rewriter-off.threads-8",
        "rewriter-on.threads-4",
        "rewriter-on.threads-8",
    }
    advances = [event for event in events if isinstance(event, Advance)]
    assert [event.done for event in advances] == list(range(10)) and advances[-1].runs == 10
    assert (tmp_path / "latest").resolve() == result.path


def test_variants_of_a_block_draw_the_same_rows_and_blocks_others(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Engine())
    seeds = {block: {r.seed for r in records(result) if r.block == block} for block in (1, 2)}
    assert all(len(each) == 1 for each in seeds.values()) and seeds[1] != seeds[2]


def test_the_machine_is_looked_at_before_each_block(tmp_path: Path) -> None:
    result, _ = run(tmp_path, Engine())
    assert result.manifest.matrix and [
        check.block for check in result.manifest.matrix.host_checks
    ] == [1, 2]


def test_slices_keep_all_stacks_up_and_nothing_is_left(tmp_path: Path) -> None:
    engine = Engine()
    run(tmp_path, engine)
    ups = [each for each in engine.done if each.startswith("up")]
    assert sorted(ups) == ["up m-canary", "up m-variant1", "up m-variant2"]
    assert sorted(engine.done[-3:]) == ["down m-canary", "down m-variant1", "down m-variant2"]


def test_restart_blocks_start_each_stack_anew_and_alone(tmp_path: Path) -> None:
    engine = Engine()
    run(tmp_path, engine, selection=selection("restart"))
    after_clearing = engine.done[3:]
    assert len(after_clearing) == 2 * 3 * 2
    assert [each.split()[0] for each in after_clearing] == ["up", "down"] * 6


def test_an_interrupted_matrix_goes_on_where_it_stopped(tmp_path: Path) -> None:
    engine, loads = Engine(), []

    def interrupt_in_the_fourth_run() -> None:
        loads.append(1)
        if len(loads) == 8:  # each run loads twice: warm-up and measured
            raise KeyboardInterrupt

    engine.on_load = interrupt_in_the_fourth_run
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, engine)
    (unfinished,) = tmp_path.glob("2*")
    statuses = [entry.status for entry in ResultFolder(unfinished).manifest.runs]
    assert statuses == ["ok", "ok", "ok", "interrupted"]
    assert engine.done[-1].startswith("down")

    engine.on_load = lambda: None
    result, events = run(tmp_path, engine)
    assert result.path == unfinished
    assert [event.done for event in events if isinstance(event, Advance)] == list(range(3, 10))
    assert {record.status for record in records(result)} == {"ok"} and len(records(result)) == 10


@pytest.mark.parametrize("times", [1, 2])
def test_a_trial_whose_probe_was_late_is_repeated_once_last_in_its_block(
    times: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    late, ran, engine = times, list[str](), Engine()

    def execute(
        opened: BenchRun, procedure: Procedure[BenchRequest, BenchRun], result: ResultFolder
    ) -> Record:
        nonlocal late
        record = carry_out(opened, procedure, result)
        ran.append(f"{record.cell}.{record.block}")
        if ran[0] != ran[-1] or not late:
            return record
        late -= 1
        metrics = record.metrics.model_copy(update={"lateness_p99_ms": 31.0})
        update = {"status": "infra_error", "reason": "it was late", "metrics": metrics}
        result.save(record.model_copy(update=update), frozenset())
        return result.record(ran[-1])

    monkeypatch.setattr(module, "execute", execute)
    result, events = run(tmp_path, engine, selection=selection("restart"))
    assert ran[5] == ran[0] and len(ran) == 11 and ran.count(ran[0]) == 2, "five runs a block"
    statuses = {entry.run: entry.status for entry in result.manifest.runs}
    assert len(statuses) == len(result.manifest.runs) == 10
    assert statuses[ran[0]] == ("ok" if times == 1 else "infra_error")
    assert [event.done for event in events if isinstance(event, Advance)] == [
        0,
        0,
        1,
        2,
        3,
        4,
        *range(5, 10),
    ]
    repeated = [event for event in events if isinstance(event, Progress) and event.step == "repeat"]
    assert [event.text for event in repeated] == [
        f"{ran[0].rpartition('.')[0]}, last in its block: it was late"
    ]


def test_another_plan_another_host_or_new_begins_afresh(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    for changed in (
        {},
        {"host_class": "there"},
        {"selection": selection("restart")},
        {"blocks": 3},
        {"seed": 5},
    ):
        with pytest.raises(KeyboardInterrupt):
            run(tmp_path, Engine(on_load=interrupt), **changed)
    assert len(list(tmp_path.glob("2*"))) == 5
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, Engine(on_load=interrupt), afresh=True)
    assert len(list(tmp_path.glob("2*"))) == 6


def test_a_result_of_another_version_of_this_tool_is_passed_over(tmp_path: Path) -> None:
    foreign = tmp_path / "29990101T000000Z-matrix-small"
    foreign.mkdir()
    (foreign / "manifest.json").write_text('{"schema_version": 9}')
    result, _ = run(tmp_path, Engine(), blocks=1)
    assert result.path != foreign and result.manifest.ended_utc


def test_a_cell_that_cannot_run_is_skipped_with_the_reason(tmp_path: Path) -> None:
    skipped = {f"rewriter-on.threads-{threads}": "no image" for threads in (4, 8)}
    engine = Engine()
    result, _ = run(tmp_path, engine, skipped=skipped)
    assert len(records(result)) == 2 * 3 and "up m-variant2" not in engine.done
    assert result.manifest.matrix
    assert {
        cell.name: cell.skipped for cell in result.manifest.matrix.cells if cell.skipped
    } == skipped


def test_a_stack_that_does_not_come_up_is_no_result_and_the_rest_goes_on(tmp_path: Path) -> None:
    engine = Engine(broken={"m-variant2"})
    result, _ = run(tmp_path, engine)
    by_status = {(record.cell.split(".")[0], record.status) for record in records(result)}
    assert by_status == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "infra_error")}
    assert "is not ready" in next(
        r.reason or "" for r in records(result) if r.status == "infra_error"
    )
    assert engine.done.count("up m-variant2") == 3, "given up after the third time"


def test_a_gate_throws_its_first_block_away(tmp_path: Path) -> None:
    result, events = run(tmp_path, Engine(), gate=lambda _: 0)
    blocks = [record.block for record in records(result)]
    assert blocks == sorted(blocks) and blocks.count(0) == 5 and len(blocks) == 3 * 5
    part = result.manifest.matrix
    assert part and part.blocks == 2 and [check.block for check in part.host_checks] == [1, 2]
    assert {each.block for each in observations(records(result), lambda _: (), "slices")} == {1, 2}
    assert next(event for event in events if isinstance(event, Advance)).runs == 15


def test_a_gate_adds_blocks_on_the_same_stacks_in_the_order_that_more_blocks_would_have_had(
    tmp_path: Path,
) -> None:
    asked: list[int] = []

    def gate(found: ResultFolder) -> int:
        asked.append(len(records(found)))
        return 3 if len(asked) == 1 else 0

    engine = Engine()
    result, events = run(tmp_path / "two", engine, gate=gate, seed=7)
    assert asked == [3 * 5, 6 * 5], "block 0 and two blocks of five runs, then three more"
    assert len([each for each in engine.done if each.startswith("up")]) == 3, "one a stack"
    part = result.manifest.matrix
    assert part and part.blocks == 5 and result.manifest.ended_utc
    (more,) = [event for event in events if isinstance(event, MoreBlocks)]
    assert (more.so_far, more.more) == (2, 3) and more.seconds > 0
    at_once, _ = run(tmp_path / "five", Engine(), gate=lambda _: 0, blocks=5, seed=7)
    order = [(record.block, record.cell) for record in records(result)]
    assert order == [(record.block, record.cell) for record in records(at_once)]


def test_a_gate_that_the_environment_ends_is_asked_for_nothing_more(tmp_path: Path) -> None:
    run(tmp_path, Engine(broken={"m-variant2"}), gate=lambda _: pytest.fail("asked"))


def test_what_set_asked_for_and_a_server_does_not_have_fails_the_run(tmp_path: Path) -> None:
    data = selection().matrix.model_dump(exclude_unset=True)
    data["factors"]["rewriter"]["on"]["set"] = ["innodb_flush_log_at_trx_commit=2"]
    plan = select(Matrix.model_validate(data))
    result, _ = run(tmp_path, Engine(), selection=plan)
    failed = [record for record in records(result) if record.status == "failed"]
    assert {record.cell.split(".")[0] for record in failed} == {"rewriter-on"} and len(failed) == 4
    assert "innodb_flush_log_at_trx_commit is 1, not 2" in (failed[0].reason or "")


def test_what_it_took_is_noted_once_it_is_whole(tmp_path: Path) -> None:
    part = run(tmp_path, Engine())[0].manifest.matrix
    assert part and part.estimated_overhead_s and part.overhead_s is not None


@pytest.mark.parametrize("gate", [None, lambda _: 0], ids=["matrix", "gate"])
def test_nothing_is_noted_where_a_run_was_lost(tmp_path: Path, gate: Gate | None) -> None:
    part = run(tmp_path, Engine(broken={"m-variant2"}), gate=gate)[0].manifest.matrix
    assert part and part.overhead_s is None and part.estimated_overhead_s is None
