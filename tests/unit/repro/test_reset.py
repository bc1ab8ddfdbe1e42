"""What a stack that was used needs to be as new; for what a session waits."""

import pytest

from sandbox.repro.blockers import waited_for
from sandbox.repro.reset import changed_variables
from sandbox.stack.client_python import QueryResult


def test_only_variables_that_stay_by_themselves_are_compared() -> None:
    before = {"max_connections": "151", "gtid_executed": "a:1", "timestamp": "1", "sql_mode": ""}
    after = {"max_connections": "152", "gtid_executed": "a:2", "timestamp": "2", "sql_mode": ""}
    assert changed_variables(before, after) == {"max_connections": "151"}


def rows(*cells: str | int) -> QueryResult:
    return QueryResult(((tuple(cells),),), None, None) if cells else QueryResult((), None, None)


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        (
            [rows(7, "repro", "t", "PRIMARY", "X"), rows(), rows("updating")],
            "s2 (X of repro.t, PRIMARY)",
        ),
        (
            [rows(9, "`repro`.`t`", "", "PRIMARY", "X"), rows(), rows()],
            "connection 9 (X of repro.t, PRIMARY)",
        ),
        (
            [rows(), rows(7, "repro", "t", "EXCLUSIVE"), rows("x")],
            "s2 (metadata lock EXCLUSIVE of repro.t)",
        ),
        (
            [rows(), rows(), rows("Waiting for table metadata lock")],
            "Waiting for table metadata lock",
        ),
        ([rows(), rows(), rows()], None),
    ],
)
def test_the_first_answer_that_says_something_counts(
    answers: list[QueryResult], text: str | None
) -> None:
    assert waited_for(answers, {7: "s2"}) == text
