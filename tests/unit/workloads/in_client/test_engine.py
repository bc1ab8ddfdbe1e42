"""A load from start to end on a server that is none: every statement counted, every second told, errors end it."""

import json
import random
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pymysql
import pytest

from sandbox.workloads.in_client import connection_storm, ddl, ingest, main, statements
from sandbox.workloads.in_client.connection import read_target
from sandbox.workloads.in_client.engine import MOST_PROCESSES, processes_for, run_load
from sandbox.workloads.in_client.pace import Pace
from sandbox.workloads.in_client.scenario import ExpectedRollbackError, Job, Scenario
from unit.workloads.in_client.fake_server import TARGET, FakeServer, error

Lines = list[dict[str, Any]]


class OneRead(Scenario):
    """A read and a write that take a hundredth of a second; ``options`` say what goes wrong."""

    def __init__(self, job: Job) -> None:
        super().__init__(job)
        self._tries = 0

    def draw(self) -> tuple[str, Callable[[], None]]:
        number = self.random.randint(1, 9)
        return "pair", lambda: self._pair(number)

    def _pair(self, number: int) -> None:
        self._tries += 1
        time.sleep(0.01)
        self.connection.read(f"SELECT {number}")
        if self._tries % 4 == 0 and self.options.get("expected"):
            raise ExpectedRollbackError
        self.connection.write(f"UPDATE {number}")


def request(**changed: Any) -> dict[str, Any]:
    """A short load of two threads."""
    return {"threads": 2, "background": 0, "seconds": 1, "rate_per_s": None, "seed": 7, "options": {}, **changed}


def run(
    monkeypatch: pytest.MonkeyPatch, make: Any = OneRead, answer: Any = lambda _: [], **changed: Any
) -> tuple[int, Lines]:
    """Exit code and what was printed. The processes are real, the server is not."""
    monkeypatch.setattr(pymysql, "connect", FakeServer(answer).connect)
    lines: Lines = []
    code = run_load(request(**changed), TARGET, make, lines.append)
    return code, lines


def test_every_second_is_told_and_all_adds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = run(monkeypatch, seconds=2, threads=3)
    assert code == 0
    assert [line["second"] for line in lines[:-1]] == [1, 2] and all(line["threads"] == 3 for line in lines[:-1])
    summary = lines[-1]["summary"]
    done = sum(count for _, count in summary["kinds"]["pair"]["counts"])
    assert summary["reads"] == summary["writes"] == done > 0
    assert summary["connections"] == 3 and not summary["errors"] and not summary["conflicts"]
    assert sum(line["transactions"] for line in lines[:-1]) <= done
    assert 2.0 <= summary["seconds"] < 10
    assert all((line["p95_us"] or 10_000) >= 10_000 for line in lines[:-1])


def test_a_conflict_is_tried_again_and_no_error(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = random.Random(1)

    def answer(statement: str) -> list[Any]:
        if statement.startswith("UPDATE") and draws.random() < 0.3:
            raise error(draws.choice([1213, 1205, 1020, 3101]))
        return []

    code, lines = run(monkeypatch, answer=answer)
    summary = lines[-1]["summary"]
    assert code == 0 and not summary["errors"]
    assert set(summary["conflicts"]) <= {"1213", "1205", "1020", "3101"} and summary["conflicts"]
    assert summary["others"] == sum(summary["conflicts"].values()), "a ROLLBACK for each"


def test_a_rollback_that_the_workload_wants_is_a_conflict_of_its_own_name(monkeypatch: pytest.MonkeyPatch) -> None:
    _, lines = run(monkeypatch, options={"expected": True})
    summary = lines[-1]["summary"]
    assert set(summary["conflicts"]) == {"expected"}
    assert summary["reads"] == summary["writes"] + summary["conflicts"]["expected"]


def test_any_other_error_ends_the_whole_load_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(statement: str) -> list[Any]:
        raise error(1290, "the server is read only")

    began = time.monotonic()
    code, lines = run(monkeypatch, answer=answer, seconds=30)
    assert code == 1 and time.monotonic() - began < 20
    told = next(line for line in lines if "error" in line)
    assert told["error"] == "1290" and "read only" in told["message"]
    assert lines[-1]["summary"]["errors"]["1290"] >= 1


def test_what_cannot_connect_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: Any) -> None:
        raise error(1040, "Too many connections")

    monkeypatch.setattr(pymysql, "connect", refuse)
    lines: Lines = []
    assert run_load(request(seconds=30), TARGET, OneRead, lines.append) == 1
    assert lines[0]["error"] == "1040" and "during connecting" in lines[0]["message"]


def test_a_defect_of_a_scenario_is_an_error_and_no_silence(monkeypatch: pytest.MonkeyPatch) -> None:
    def answer(statement: str) -> list[Any]:
        raise ZeroDivisionError("a defect")

    code, lines = run(monkeypatch, answer=answer)
    assert code == 1 and "ZeroDivisionError: a defect" in next(x["message"] for x in lines if "error" in x)


class Dying(OneRead):
    """Its process is gone in the middle of it."""

    def _pair(self, number: int) -> None:
        import os

        os._exit(9)


def test_a_process_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = run(monkeypatch, Dying)
    assert code == 1 and lines[0] == {"error": "unknown", "message": "a load process died"}


def test_a_rate_is_kept_and_waiting_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    _, lines = run(monkeypatch, rate_per_s=60, seconds=1)
    done = sum(count for _, count in lines[-1]["summary"]["kinds"]["pair"]["counts"])
    assert 1 <= done <= 100
    _, overloaded = run(monkeypatch, rate_per_s=2000, seconds=1)
    assert overloaded[-1]["summary"]["kinds"]["pair"]["max_us"] > 300_000, "arrivals queue behind one another"


def test_arrivals_have_the_rate_and_no_rhythm() -> None:
    pace = Pace(100.0, 0.0, "seed")
    due = [pace.next_due(0.0) for _ in range(2000)]
    assert due[-1] == pytest.approx(20.0, rel=0.1)
    gaps = [after - before for before, after in pairwise(due)]
    assert min(gaps) < 0.001 and max(gaps) > 0.04
    assert Pace(None, 0.0, "seed").next_due(5.0) == 5.0


def test_processes_are_few_threads_wide_and_bounded() -> None:
    assert [processes_for(threads, 2) for threads in (1, 4, 8, 1024)] == [1, 4, 8, 8]
    assert processes_for(1024, 128) == MOST_PROCESSES


def test_a_storm_connects_and_hangs_up_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    code, lines = run(monkeypatch, connection_storm.make, options={"query": "SELECT 1"})
    summary = lines[-1]["summary"]
    done = sum(count for _, count in summary["kinds"]["connect"]["counts"])
    assert code == 0 and summary["reads"] == done
    assert summary["connections"] == done + 2, "and one to begin with for each thread"


def test_definitions_leave_no_table_and_the_load_beside_is_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    options = {"tables_per_thread": 3, "table_rows": 2, "alter": True, "load_threads": 1, "load_rows": 50}

    def answer(statement: str) -> list[Any]:
        time.sleep(0.001)
        return []

    _, lines = run(monkeypatch, ddl.make, answer, options=options, background=1, threads=1)
    summary = lines[-1]["summary"]
    assert summary["background"] == ["fill", "read", "write"]
    counts = {kind: sum(count for _, count in told["counts"]) for kind, told in summary["kinds"].items()}
    assert counts["alter"] == pytest.approx(2 * counts["create"], abs=6)
    counted = counts["create"] + counts["alter"] + counts["drop"]
    assert sum(line["transactions"] for line in lines[:-1]) <= counted


def walk(make: Any, options: dict[str, Any], server: FakeServer, steps: int, number: int = 0) -> list[str]:
    """The statements of one thread's first transactions, and of its end."""
    scenario: Scenario = make(Job(TARGET, number, 1, 7, options))
    scenario.open()
    for _ in range(steps):
        scenario.draw()[1]()
    scenario.close()
    return server.sent


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> FakeServer:
    """Answers nothing to everything."""
    made = FakeServer()
    monkeypatch.setattr(pymysql, "connect", made.connect)
    return made


def test_definitions_follow_one_another(server: FakeServer) -> None:
    options = {"tables_per_thread": 2, "table_rows": 1, "alter": True, "load_rows": 1}
    server.answer = lambda statement: [("ddl_t0_7",)] if statement.startswith("SHOW") else []
    sent = walk(ddl.make, options, server, 9)
    assert [" ".join(text.split()[:3]) for text in sent[1:]] == [
        "DROP TABLE ddl_t0_7",
        *("CREATE TABLE ddl_t0_0", "INSERT INTO ddl_t0_0", "CREATE TABLE ddl_t0_1", "INSERT INTO ddl_t0_1"),
        *("ALTER TABLE ddl_t0_0",) * 2,
        *("ALTER TABLE ddl_t0_1",) * 2,
        *("DROP TABLE ddl_t0_0", "DROP TABLE ddl_t0_1"),
    ]
    assert server.closed == 1


def test_batches_have_their_rows_and_tables_their_indexes(server: FakeServer) -> None:
    options = {"tables": 2, "batch_rows": 3, "indexes": 2, "payload_bytes": 5}
    sent = walk(ingest.make, options, server, 1, number=3)
    assert sent[0].startswith("INSERT INTO ingest_2 (") and sent[0].count("(") == 1 + 3 and sent[0].count("'tag-") == 3
    ingest.prepare(TARGET, options, lambda _: None)
    assert [text.split()[2] for text in server.sent[1:]] == ["ingest_1", "ingest_2"]
    assert server.sent[1].count(", KEY ") == 2


def test_the_table_of_the_load_beside_is_filled_to_the_last_row(server: FakeServer) -> None:
    ddl.prepare(TARGET, {"load_rows": 2500}, lambda _: None)
    filled = "".join(server.sent[1:])
    assert len(server.sent) == 4 and "(2500,2500," in filled and "(2501," not in filled and filled.count("(1,1,") == 1


def test_own_statements_are_drawn_by_weight_and_filled_in(server: FakeServer, tmp_path: Path) -> None:
    units = [
        {"name": "a", "weight": 9, "statements": [["SELECT ", ["random", 1, 5]]]},
        {
            "name": "b",
            "weight": 1,
            "statements": [["BEGIN"], ["INSERT '", ["string", 4], "', ", ["thread"]], ["COMMIT"]],
        },
    ]
    path = tmp_path / "statements.json"
    path.write_text(json.dumps(units))
    sent = walk(statements.make, {"file": str(path)}, server, 1000, number=2)
    reads = [text for text in sent if text.startswith("SELECT")]
    assert 860 <= len(reads) <= 940 and {text.removeprefix("SELECT ") for text in reads} == set("12345")
    inserts = [text for text in sent if text.startswith("INSERT")]
    assert len(inserts) == sent.count("BEGIN") == sent.count("COMMIT") == 1000 - len(reads)
    assert all(len(text) == len("INSERT 'abcd', 3") and text.endswith("', 3") for text in inserts)


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        *(("SELECT 1", "read"), ("(select 1) union (select 2)", "read"), ("WITH a AS (SELECT 1) SELECT 1", "read")),
        *(("update t set a=1", "write"), ("REPLACE INTO t VALUES (1)", "write"), ("CALL p()", "write")),
        *(("BEGIN", "other"), ("SET @a = 1", "other"), ("CREATE TABLE t (a INT)", "other")),
    ],
)
def test_the_first_word_says_what_a_statement_is(statement: str, kind: str) -> None:
    assert statements.kind_of(statement) == kind


def test_the_password_comes_from_the_file(tmp_path: Path) -> None:
    file = tmp_path / "app.cnf"
    file.write_text("[client]\nuser = sbtest\npassword = p#ss w0rd\nloose_ssl_verify_server_cert = 0\n")
    asked = {"host": "h", "port": 1, "user": "sbtest", "schema": "sbtest", "credentials": str(file)}
    assert read_target(asked).password == "p#ss w0rd"


def test_the_program_prepares_and_tells_what_failed(
    server: FakeServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "app.cnf"
    file.write_text(f"[client]\npassword = {TARGET.password}\n")
    target = {"host": "mysql1", "port": 3306, "user": "sbtest", "schema": "sbtest", "credentials": str(file)}
    asked = {"scenario": "ddl", **target, "options": {"load_rows": 3}}
    assert main.main(["prepare", json.dumps(asked)]) == 0
    assert json.loads(capsys.readouterr().out) == {"progress": "created ddl_load with 3 rows"}

    def answer(statement: str) -> list[Any]:
        raise error(1050, "Table 'ddl_load' already exists")

    server.answer = answer
    assert main.main(["prepare", json.dumps(asked)]) == 1
    assert json.loads(capsys.readouterr().out)["error"] == "1050"
