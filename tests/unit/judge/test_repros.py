"""What repeats of a repro say together, and the exit code of all versions."""

import pytest

from sandbox.core.errors import ExitCode
from sandbox.judge.repros import exit_code, row_of, rows_of
from sandbox.record.repro import ReproVerdict, Side
from unit.record.samples import sample_record
from unit.report.made_up_repros import repro_record


@pytest.mark.parametrize(
    ("verdicts", "verdict", "count", "judged"),
    [
        (["reproduced"], "reproduced", 1, 1),
        (["fixed", "fixed", "reproduced"], "reproduced", 1, 3),
        (["fixed", "fixed"], "fixed", 0, 2),
        (["fixed", "neither"], "neither", 0, 1),
        (["reproduced", "neither"], "reproduced", 1, 1),
        (["unknown"], "unknown", 0, 0),
    ],
)
def test_one_repeat_that_shows_the_bug_is_enough(
    verdicts: list[ReproVerdict], verdict: ReproVerdict, count: int, judged: int
) -> None:
    records = [repro_record(each, block=number) for number, each in enumerate(verdicts, 1)]
    row = row_of("x", records)
    assert (row.verdict, row.count, row.judged) == (verdict, count, judged)


def test_the_interval_of_a_rate_is_that_of_clopper_and_pearson() -> None:
    """Of 2 in 10: 0.0252 to 0.5561, as in Agresti, "Categorical Data Analysis"."""
    records = [
        repro_record("reproduced" if number <= 2 else "fixed", block=number)
        for number in range(1, 11)
    ]
    interval = row_of("x", records).interval
    assert interval is not None
    assert (round(interval.low, 4), round(interval.high, 4)) == (0.0252, 0.5561)


def test_a_stack_that_did_not_start_is_unknown_with_its_reason() -> None:
    record = sample_record(cell="a.9", status="infra_error", reason="mysql1 did not get ready")
    row = row_of("a.9", [record])
    assert (row.verdict, row.seen, row.version) == ("unknown", "mysql1 did not get ready", None)


def test_a_version_is_shown_without_what_a_distribution_adds() -> None:
    version = "10.5.23-MariaDB-0+deb11u1-log (Debian 11)"
    assert row_of("x", [repro_record(version=version)]).version == "10.5.23"


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([("reproduced", "bug"), ("fixed", "fixed")], ExitCode.OK),
        ([("fixed", "bug")], ExitCode.FAILED),
        ([("reproduced", "fixed")], ExitCode.FAILED),
        ([("reproduced", None)], ExitCode.OK),
        ([("fixed", None)], ExitCode.FAILED),
        ([("neither", "bug"), ("fixed", "bug")], ExitCode.UNKNOWN),
        ([("unknown", None)], ExitCode.UNKNOWN),
        ([], ExitCode.UNKNOWN),
    ],
)
def test_the_exit_code_says_whether_it_is_as_expected(
    found: list[tuple[ReproVerdict, Side | None]], code: ExitCode
) -> None:
    records = [
        repro_record(verdict, version=f"{number}.0", expected=expected)
        for number, (verdict, expected) in enumerate(found, 1)
    ]
    assert exit_code(rows_of(records)) is code
