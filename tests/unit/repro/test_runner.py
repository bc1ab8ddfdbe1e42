"""Repeats on stacks that are made up: in which order, what is left of a kill, what is resumed."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.judge.repros import ReproRow, rows_of
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.repro.bisecting import Bisected, Bisector
from unit.repro.made_up_runs import KilledError, MadeUpRunner, cell_of, die, made_up

SHOWS = {"10.5": lambda _: "reproduced", "10.11": lambda _: "fixed", "11.8": lambda _: "reproduced"}


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def carried_out(runner: MadeUpRunner) -> list[Record]:
    with runner:
        return runner.carry_out([cell_of(version) for version in SHOWS])


def killed(runner: MadeUpRunner) -> None:
    """Carries out until it is killed."""
    runner.__enter__()
    with pytest.raises(KilledError):
        runner.carry_out([cell_of(version) for version in SHOWS])
    die(runner)


def only_result(results: Path) -> ResultFolder:
    """The result below a folder, of which there is one."""
    (manifest,) = results.glob("2*/manifest.json")
    return ResultFolder(manifest.parent)


def verdicts(rows: Sequence[ReproRow]) -> list[tuple[str, str, int, int]]:
    return [(row.cell, row.verdict, row.count, row.judged) for row in rows]


def test_each_version_has_its_stack_and_the_next_one_starts_meanwhile(tmp_path: Path) -> None:
    runner = made_up(tmp_path, comes=SHOWS, repeat=2)
    records = carried_out(runner)
    assert [f"{each.cell}.{each.block}" for each in records] == runner.made
    assert runner.own_stacks.started == ["10.5", "10.11", "11.8"]
    assert runner.own_stacks.begun == ["10.11", "11.8"]
    manifest = only_result(tmp_path).manifest
    assert manifest.ended_utc is not None and runner.own_stacks.closed
    assert manifest.repro is not None
    assert [start.cell for start in manifest.repro.starts] == [
        "made-up.10-5", "made-up.10-11", "made-up.11-8",
    ]  # fmt: skip
    assert manifest.repro.repeat_s is not None


def test_cells_of_one_plan_share_a_stack(tmp_path: Path) -> None:
    runner = made_up(tmp_path, comes=SHOWS)
    with runner:
        cells = [cell_of("10.5", plan="a"), cell_of("10.11", plan="b"), cell_of("11.8", plan="a")]
        records = runner.carry_out(cells)
    assert runner.own_stacks.started == ["a", "b"]
    assert [each.cell for each in records] == [cell.name for cell in cells], "in the order asked"


def test_a_version_whose_stack_does_not_start_has_a_record_that_says_why(tmp_path: Path) -> None:
    runner = made_up(tmp_path, comes=SHOWS, repeat=3)
    runner.own_stacks.broken = {"10.11"}
    records = carried_out(runner)
    (lost,) = [each for each in records if each.cell == "made-up.10-11"]
    assert lost.status == "infra_error" and lost.reason == "10.11 does not start: it is broken"


@pytest.mark.parametrize("moment", range(9))
def test_a_run_that_was_killed_goes_on_where_it_stopped(tmp_path: Path, moment: int) -> None:
    whole = made_up(tmp_path / "whole", comes=SHOWS, repeat=3)
    expected = verdicts(rows_of(carried_out(whole)))
    first = made_up(tmp_path / "results", comes=SHOWS, repeat=3, killed_at=moment)
    killed(first)
    again = made_up(tmp_path / "results", comes=SHOWS, repeat=3)
    records = carried_out(again)
    assert verdicts(rows_of(records)) == expected
    assert first.made + again.made == whole.made, "no repeat is made twice, and none is missing"
    result = only_result(tmp_path / "results")
    assert result.manifest.ended_utc is not None
    assert verdicts(rows_of(result.records())) == expected


def test_a_version_that_was_over_needs_no_stack(tmp_path: Path) -> None:
    killed(made_up(tmp_path, comes=SHOWS, repeat=3, killed_at=7))
    again = made_up(tmp_path, comes=SHOWS, repeat=3)
    carried_out(again)
    assert again.own_stacks.started == ["11.8"]


def test_one_that_was_interrupted_goes_on_too(tmp_path: Path) -> None:
    first = made_up(tmp_path, comes=SHOWS, repeat=3, interrupted_at=4)
    with pytest.raises(KeyboardInterrupt):
        carried_out(first)
    assert only_result(tmp_path).manifest.ended_utc is None
    again = made_up(tmp_path, comes=SHOWS, repeat=3)
    carried_out(again)
    assert again.made[0] == first.made[-1], "the repeat that was cut short is made again"
    assert len(only_result(tmp_path).manifest.runs) == 9


def test_what_has_ended_is_not_resumed_nor_what_is_asked_for_anew(tmp_path: Path) -> None:
    carried_out(made_up(tmp_path, comes=SHOWS))
    killed(made_up(tmp_path, comes=SHOWS, killed_at=1))
    afresh = made_up(tmp_path, comes=SHOWS, afresh=True)
    carried_out(afresh)
    assert len(afresh.made) == 3
    assert len(list(tmp_path.glob("2*/manifest.json"))) == 3
    again = made_up(tmp_path, comes=SHOWS)
    carried_out(again)
    assert len(again.made) == 3, "the newest one has ended: NEW=1 has replaced the killed one"


def test_another_question_is_another_result(tmp_path: Path) -> None:
    killed(made_up(tmp_path, comes=SHOWS, key="a", killed_at=1))
    other = made_up(tmp_path, comes=SHOWS, key="b")
    carried_out(other)
    assert len(other.made) == 3


def test_a_result_at_which_a_command_is_at_work_is_left_alone(tmp_path: Path) -> None:
    busy = made_up(tmp_path, comes=SHOWS)
    busy.__enter__()
    other = made_up(tmp_path, comes=SHOWS)
    carried_out(other)
    assert other.result.path != busy.result.path
    die(busy)


@pytest.mark.parametrize(
    ("error", "is_over"),
    [
        (SandboxError("BAD does not show it", "fixed", "try: …"), True),
        (MachineError("no engine", "it does not answer", "try: …"), False),
        (SandboxError("interrupted", "…", "try: …", ExitCode.INTERRUPTED), False),
    ],
)
def test_only_what_nothing_more_would_come_of_is_over(
    tmp_path: Path, error: SandboxError, is_over: bool
) -> None:
    with pytest.raises(SandboxError), made_up(tmp_path):
        raise error
    assert (only_result(tmp_path).manifest.ended_utc is not None) is is_over


VERSIONS = [f"10.11.{patch}" for patch in range(1, 17)]


def race(version: str) -> Callable[[int], str]:
    """A bug of 10.11.9 and later that shows in every other repeat, from the second on."""
    is_bad = VERSIONS.index(version) >= 8
    return lambda block: "reproduced" if is_bad and block % 2 == 0 else "fixed"


RACES = {version: race(version) for version in VERSIONS}


def searched(runner: MadeUpRunner) -> Bisected:
    return Bisector(runner, cell_of, lambda _: None, 10).run(VERSIONS)


@pytest.mark.parametrize("moment", [0, 3, 10, 15, 20, 25, 40])
def test_a_bisection_that_was_killed_ends_as_it_would_have(tmp_path: Path, moment: int) -> None:
    whole = made_up(tmp_path / "whole", comes=RACES)
    with whole:
        expected = searched(whole)
    first = made_up(tmp_path / "results", comes=RACES, killed_at=moment)
    first.__enter__()
    with pytest.raises(KilledError):
        searched(first)
    die(first)
    again = made_up(tmp_path / "results", comes=RACES)
    with again:
        found = searched(again)
    assert (found.answer, found.repeats) == (expected.answer, expected.repeats)
    assert verdicts([each.row for each in found.tried]) == verdicts(
        [each.row for each in expected.tried]
    )
    assert first.made + again.made == whole.made


def test_repeats_that_end_at_the_same_step_are_enough(tmp_path: Path) -> None:
    ends = {"10.5": lambda _: "unknown"}
    runner = made_up(tmp_path, comes=ends, repeat=6, enough=2)
    with runner:
        records = runner.carry_out([cell_of("10.5")])
        assert len(records) == 2 and not runner.is_open(cell_of("10.5"))
    every = made_up(tmp_path, comes=ends, repeat=6)
    with every:
        assert len(every.carry_out([cell_of("10.5")])) == 6
