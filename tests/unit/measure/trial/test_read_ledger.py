"""The ledger of a server as it is read in the client node: every row, as ranges by the node that
took it.
"""

import io
import json
import re
import sys
import time
from collections.abc import Sequence
from typing import Any

import pymysql
import pytest

from sandbox.measure.trial.in_client import read_ledger
from sandbox.measure.trial.ledger import rows_of

Row = tuple[int, str, int]
"""(id, node, op_id)"""


class Table:
    """A server with a ledger, and the connection and the cursor to it. ``cut``:
    group_concat_max_len has no effect.
    """

    def __init__(self, rows: Sequence[Row], gtid: str = "", cut: int = 10**6) -> None:
        self.rows, self.gtid, self.cut = rows, gtid, cut
        self.statements: list[str] = []
        self._answer: Sequence[Any] = ()

    def __enter__(self) -> "Table":
        return self

    def __exit__(self, *_: object) -> None: ...

    def cursor(self) -> "Table":
        return self

    def execute(self, statement: str, values: tuple[int] | None = None) -> int:
        self.statements.append(statement)
        self._answer = self._part(statement, values[0]) if values else ((self.gtid,),)
        return len(self._answer)

    def fetchall(self) -> Sequence[Any]:
        return self._answer

    def _part(self, statement: str, after: int) -> Sequence[Any]:
        limit = int(re.findall(r"LIMIT (\d+)", statement)[0])
        groups: dict[str, list[Row]] = {}
        for row in [row for row in self.rows if row[0] > after][:limit]:
            groups.setdefault(row[1], []).append(row)
        return [
            (
                node,
                len(rows),
                max(id_ for id_, _, _ in rows),
                ",".join(str(op) for _, _, op in rows)[: self.cut],
            )
            for node, rows in groups.items()
        ]


def request(family: str = "mysql") -> dict[str, Any]:
    place = {"host": "172.18.0.2", "port": 3306, "schema": "sbtest", "user_file": "/none"}
    return {**place, "table": "ledger", "family": family, "timeout_s": 10}


def asked(monkeypatch: pytest.MonkeyPatch, table: Table, family: str = "mysql") -> dict[str, Any]:
    monkeypatch.setattr(pymysql, "connect", lambda **given: table)
    return read_ledger.answer(request(family))


@pytest.mark.parametrize(
    ("numbers", "found"),
    [([], []), ([7], ["7-7"]), ([3, 1, 2, 7, 9, 8], ["1-3", "7-9"]), ([5, 5, 6, 6], ["5-6"])],
)
def test_numbers_become_ranges(numbers: list[int], found: list[str]) -> None:
    assert read_ledger.ranges(numbers) == found


def test_every_row_is_there_by_the_node_that_took_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [
        (1, "galera1", 1),
        (4, "galera1", 2),
        (7, "galera2", 4),
        (10, "galera1", 3),
        (13, "galera2", 2),
    ]
    answer = asked(monkeypatch, Table(rows, "a:1-5,\nb:1"))
    assert answer == {
        "hosts": {"galera1": ["1-3"], "galera2": ["2-2", "4-4"]},
        "more_than_once": {"2": 2},
        "gtid": "a:1-5,b:1",
        "rows": 5,
        "error": None,
    }
    assert rows_of(answer).count == 5


def test_an_empty_table_has_no_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    table = Table([])
    answer = asked(monkeypatch, table, "mariadb")
    assert answer == {"hosts": {}, "more_than_once": {}, "gtid": "", "rows": 0, "error": None}
    assert "gtid_binlog_pos" in table.statements[-1]


def test_a_hundred_thousand_rows_come_in_parts_and_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = [(3 * op, f"galera{1 + op // 60_000}", op) for op in range(1, 100_001) if op % 1000]
    few_s = min(timed(monkeypatch, Table(rows[:10_000]))[1] for _ in range(3))
    table = Table(rows)
    answer, many_s = timed(monkeypatch, table)
    assert many_s < 30 * few_s, f"ten times the rows took {many_s / few_s:.0f} times as long"
    assert answer["rows"] == 99_900 and len(answer["hosts"]["galera1"]) == 60
    assert answer["hosts"]["galera2"][-1] == "99001-99999"
    assert sum("GROUP_CONCAT" in statement for statement in table.statements) == 6, (
        "a part for each 20,000, and the end"
    )


def test_a_list_that_was_cut_off_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    answer = asked(monkeypatch, Table([(op, "a", op) for op in range(1, 100)], cut=50))
    assert answer["rows"] is None and "op ids of 99" in answer["error"]


def test_a_server_that_cannot_be_read_is_an_answer(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    def refuse(**given: Any) -> None:
        raise pymysql.err.OperationalError(2003, "Can't connect")

    monkeypatch.setattr(pymysql, "connect", refuse)
    monkeypatch.setattr(
        sys, "stdin", io.StringIO(json.dumps(request()) + "\n" + json.dumps(request()) + "\n")
    )
    read_ledger.main()
    lines = capsys.readouterr().out.split("\n")[:-1]
    assert len(lines) == 2 and lines[0] == lines[1] and lines[0][0] == "\x1e"
    error = 'OperationalError(2003, "Can\'t connect")'
    assert json.loads(lines[0][1:]) == {
        "hosts": {},
        "more_than_once": {},
        "gtid": None,
        "rows": None,
        "error": error,
    }


def timed(monkeypatch: pytest.MonkeyPatch, table: Table) -> tuple[Any, float]:
    """The answer, and the processor time that it took, in s, the table's own work included."""
    began = time.process_time()
    answer = asked(monkeypatch, table)
    return answer, time.process_time() - began
