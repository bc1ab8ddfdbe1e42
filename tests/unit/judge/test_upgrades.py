"""The answer of an upgrade check, and its exit code."""

from typing import Any

import pytest

from sandbox.core.errors import ExitCode
from sandbox.judge.upgrades import answer_of, deciding, exit_code_of
from sandbox.record.upgrade import Unjudged
from unit.report.made_up_upgrades import finding, probed, upgrade

NO_TABLE = Unjudged(
    why="Table 'a' doesn't exist", query="select 1 from a", count=3, needs_data=True
)


@pytest.mark.parametrize(
    ("changed", "code", "answer"),
    [
        (
            {"findings": [finding("plan", matters=False)]},
            ExitCode.OK,
            "No difference that matters from mariadb@10.11 to mariadb@11.8, in 31 distinct queries"
            " of 120 statements.",
        ),
        (
            {"findings": [finding("rows"), finding("refused"), finding("rows")]},
            ExitCode.FAILED,
            "3 differences matter from mariadb@10.11 to mariadb@11.8: statement refused (1), other"
            " rows (2).",
        ),
        (
            {"findings": [finding("conflict")], "unjudged": [NO_TABLE], "dump": None},
            ExitCode.FAILED,
            "1 difference matters from mariadb@10.11 to mariadb@11.8: error 1020 (1); not judged: 1"
            " distinct query needs tables that are not there (give DUMP=).",
        ),
        (
            {"findings": [], "unjudged": [NO_TABLE, NO_TABLE], "troubles": ["pt-upgrade ended"]},
            ExitCode.UNKNOWN,
            "Nobody can say whether anything differs from mariadb@10.11 to mariadb@11.8: pt-upgrade"
            " ended, 2 distinct queries need tables that are not there.",
        ),
        (
            {"findings": [], "transactions": [probed(fails=None)]},
            ExitCode.UNKNOWN,
            "Nobody can say whether anything differs from mariadb@10.11 to mariadb@11.8: 1"
            " transaction could not be tried with a second session.",
        ),
    ],
)
def test_the_answer_and_the_exit_code(changed: Any, code: ExitCode, answer: str) -> None:
    found = upgrade(**changed)
    assert exit_code_of(found) is code
    assert answer_of(found) == answer


def test_without_a_judgement_nobody_can_say() -> None:
    assert exit_code_of(None) is ExitCode.UNKNOWN


def test_the_gravest_come_first() -> None:
    found = upgrade(findings=[finding("plan"), finding("refused"), finding("rows", matters=False)])
    assert [each.kind for each in deciding(found)] == ["refused", "plan"]
