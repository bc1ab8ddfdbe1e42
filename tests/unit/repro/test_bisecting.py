"""The search over versions, on stacks that are made up: each version shows the bug at its rate."""

import random
from collections.abc import Mapping, Sequence
from typing import Any, cast

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.record.manifest import StartPart
from sandbox.record.record import Record
from sandbox.record.repro import ReproRecord
from sandbox.repro.bisecting import Bisected, Bisector
from sandbox.repro.runner import ReproCell, ReproRunner
from unit.record.samples import sample_record

VERSIONS = [f"10.11.{patch}" for patch in range(1, 17)]


class MadeUpCell:
    """The cell of a version."""

    def __init__(self, version: str) -> None:
        self.name = version


class MadeUpRunner:
    """Version → the rate at which it shows the bug; None: it cannot be judged."""

    def __init__(self, rates: Mapping[str, float | None]) -> None:
        self.rates = rates
        self.repeat = 1
        self.ends_when_shown = False
        self.made: dict[str, list[Record]] = {}
        self.draw = random.Random(5)
        self.starts: list[StartPart] = []
        self.repeat_s: float | None = None

    @property
    def done(self) -> int:
        return sum(len(records) for records in self.made.values())

    def is_open(self, cell: MadeUpCell) -> bool:
        return cell.name not in self.made

    def carry_out(self, cells: Sequence[MadeUpCell]) -> list[Record]:
        (cell,) = cells
        rate = self.rates[cell.name]
        for block in range(1, self.repeat + 1):
            verdict = "unknown" if rate is None else "fixed"
            if rate is not None and self.draw.random() < rate:
                verdict = "reproduced"
            self.made.setdefault(cell.name, []).append(recorded(cell.name, block, verdict))
            if self.ends_when_shown and verdict == "reproduced":
                break
        return self.made[cell.name]


def recorded(version: str, block: int, verdict: str) -> Record:
    given: Any = {"verdict": verdict, "seen": verdict, "version": version, "seconds": 0.1}
    repro = ReproRecord(
        name="made-up", title="T", question="Q?", sha256="0", steps=[], expectations=[], **given
    )
    record = sample_record(cell=version, block=block)
    return record.model_copy(update={"repro": repro})


def searched(
    rates: Mapping[str, float | None], first_repeats: int = 5
) -> tuple[Bisected, list[str], MadeUpRunner]:
    """The search from the first version to the last; what it says; what was carried out."""
    runner, said = MadeUpRunner(rates), list[str]()
    bisector = Bisector(
        cast("ReproRunner", runner),
        lambda version: cast("ReproCell", MadeUpCell(version)),
        said.append,
        first_repeats,
    )
    return bisector.run(VERSIONS), said, runner


def rates_from(first_bad: str, rate: float = 1.0) -> dict[str, float | None]:
    place = VERSIONS.index(first_bad)
    return {each: rate if VERSIONS.index(each) >= place else 0.0 for each in VERSIONS}


@pytest.mark.parametrize("first_bad", VERSIONS[1:])
def test_the_two_neighbours_are_found(first_bad: str) -> None:
    found, said, _ = searched(rates_from(first_bad))
    assert (found.search.bad, found.search.good) == (
        first_bad,
        VERSIONS[VERSIONS.index(first_bad) - 1],
    )
    assert said[0].startswith("14 versions between; at most 4 steps of ")


def test_what_is_said_is_the_time_that_is_left_and_the_answer() -> None:
    found, said, _ = searched(rates_from("10.11.9"))
    assert found.answer == "The bug is in 10.11.9, and not in 10.11.8."
    assert "; about " in said[1] and said[1].endswith(" s left")
    assert not said[-1].endswith(" left"), "the last one leaves nothing"


def test_a_race_is_tried_until_it_can_hardly_have_been_missed() -> None:
    found, _, runner = searched(rates_from("10.11.9", 0.5), first_repeats=20)
    assert found.search.bad == "10.11.9"
    assert found.repeats >= 10
    assert len(runner.made["10.11.8"]) == found.repeats, "a good one is tried to the end"
    assert len(runner.made["10.11.9"]) < found.repeats, "a bad one until it shows"


def test_one_that_nobody_can_judge_is_left_out() -> None:
    found, said, _ = searched({**rates_from("10.11.9"), "10.11.8": None})
    assert (found.search.good, found.search.bad) == ("10.11.7", "10.11.9")
    assert found.search.skipped == ["10.11.8"] and "10.11.8: left out: unknown" in said


def test_a_bad_version_that_does_not_show_the_bug_is_refused() -> None:
    with pytest.raises(SandboxError) as refused:
        searched(dict.fromkeys(VERSIONS, 0.0))
    assert refused.value.what == "BAD=10.11.16 does not show the bug"
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_good_version_that_shows_it_as_often_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"GOOD=10.11.1 shows the bug as often"):
        searched(dict.fromkeys(VERSIONS, 1.0))


def test_rates_that_differ_are_told_apart() -> None:
    rates = {each: 0.9 if number > 8 else 0.1 for number, each in enumerate(VERSIONS, 1)}
    found, _, _ = searched(rates, first_repeats=40)
    assert (found.search.good, found.search.bad) == ("10.11.8", "10.11.9")


def test_a_good_version_without_a_verdict_is_refused() -> None:
    with pytest.raises(SandboxError, match=r"GOOD=10.11.1 cannot be judged"):
        searched({**rates_from("10.11.9"), "10.11.1": None})
