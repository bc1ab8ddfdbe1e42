"""The report beside a pack: what bug trackers ask for, with and without a record."""

from collections.abc import Mapping

from sandbox.judge.repros import row_of
from sandbox.record.record import Record
from sandbox.report.bug_report import BugReport, CarriedOut, bug_report
from unit.report.made_up_repros import repro_record

LOG = """\
2001-01-01T00:00:00Z [Warning] No existing UUID has been found
2099-01-01T00:00:00Z [Note] ready for connections
2099-01-01T00:00:00Z [ERROR] InnoDB: Assertion failure
mysqld got signal 11 ;
/usr/sbin/mysqld(my_print_stacktrace+0x41)
"""


def report_of(came: CarriedOut | None = None) -> str:
    """The text of a made-up report."""
    return bug_report(
        BugReport(
            title="An ALTER waits",
            question="Does it wait?",
            links=["https://example.org/1"],
            compose_file="compose.yaml",
            images={"mysql1": "mysql:9.7.4"},
            data="create table t (a int)",
            steps=["s1 @mysql1: begin", "s2: alter table t"],
            bug=["alter: blocked True"],
            fixed=["alter: no error"],
            variables={"mysql1": {"server_id": "1", "skip_name_resolve": None}},
            command="make repro REPRO=metadata-lock VERSIONS=9.7",
            came=came,
        )
    )


def carried_out(
    *records: Record, logs: Mapping[str, str] | None = None, is_of_file: bool = True
) -> CarriedOut:
    """What came of the repeats of one version."""
    row = row_of(records[0].cell, records)
    return CarriedOut(row, records[0], "results/1/runs/a.1", is_of_file, logs or {})


def test_one_that_was_not_carried_out_names_the_command_that_does() -> None:
    text = report_of()
    assert text.startswith("# An ALTER waits\n\nDoes it wait?\n\n- https://example.org/1\n\n## ")
    assert "| mysql1 | mysql:9.7.4 |" in text
    assert "docker compose -f compose.yaml up --exit-code-from repro" in text
    assert "1. `s1 @mysql1: begin`\n2. `s2: alter table t`" in text
    assert "| skip_name_resolve | ON |" in text
    assert "not carried out here yet; `make repro REPRO=metadata-lock VERSIONS=9.7` does" in text
    assert "## How often" not in text and "\n\n\n" not in text


def test_one_that_was_has_what_came_and_how_often() -> None:
    records = [repro_record(block=block) for block in (1, 2, 3)] + [repro_record("fixed", block=4)]
    text = report_of(carried_out(*records))
    assert "Reproduced in 9.7.4-2 (Debian): alter waited for s1" in text
    assert "| 2 | s2: alter table t | 4 | - | waits for s1 (metadata lock" in text
    assert "| 3 | s1: select v from t | 504 | 14 | 1, NULL |" in text
    assert "- `alter: blocked True`: yes (alter waited for s1)" in text
    assert "3 of 4 repeats showed it (95 % interval of the rate: 19 to 99 %)." in text
    assert "Record: results/1/runs/a.1" in text
    assert "The file has changed" not in text


def test_values_are_those_that_the_server_reported() -> None:
    record = repro_record().model_copy(update={"variables": {"mysql1": {"server_id": "7"}}})
    assert "| server_id | 7 |" in report_of(carried_out(record))


def test_a_record_of_other_steps_says_so() -> None:
    text = report_of(carried_out(repro_record(), is_of_file=False))
    assert "The file has changed since then" in text


def test_logs_and_the_stack_trace_of_a_crash() -> None:
    text = report_of(carried_out(repro_record(), logs={"mysql1": LOG}))
    error = "2099-01-01T00:00:00Z [ERROR] InnoDB: Assertion failure"
    assert f"## Log of mysql1\n\n```\n{error}\n```" in text  # not what its start left
    trace = "mysqld got signal 11 ;\n/usr/sbin/mysqld(my_print_stacktrace+0x41)"
    assert f"## Stack trace of mysql1\n\n```\n{trace}\n```" in text
