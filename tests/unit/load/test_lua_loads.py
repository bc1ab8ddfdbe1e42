"""The workloads with a script of their own: what they ship, run and remember, and TPC-C's verdicts
on its data.
"""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.load.common.registry import workload_kind
from sandbox.load.common.sysbench_load import LuaLoad
from sandbox.load.common.workload import Progress, WorkloadError, refuse_unused
from sandbox.load.connection_storm import ConnectionStorm
from sandbox.load.ddl import Ddl
from sandbox.load.ingest import Ingest
from sandbox.load.statements import Statements, kind_of
from sandbox.load.sysbench import Sysbench
from sandbox.load.tpcc import CONDITIONS, Tpcc
from unit.fake_stack import PASSWORD, FakeStack
from unit.load.histograms import printed
from unit.load.test_sysbench import PARAMETERS, session_of

LOADS = [Tpcc(), Ingest(), Ddl(), ConnectionStorm(), Statements(text="SELECT 1;")]


def load_lines() -> list[str]:
    """What a load of one second prints."""
    counts = {"connections": 0, "reads": 1, "writes": 0, "others": 0}
    second = {
        "second": 1,
        "threads": 4,
        "transactions": 1,
        "p95_us": 1500,
        "conflicts": {},
        "errors": 0,
        **counts,
    }
    kinds = {"connect": printed(1500)}
    summary = {
        "seconds": 1.0,
        "conflicts": {},
        "errors": {},
        "background": [],
        "kinds": kinds,
        **counts,
    }
    return [json.dumps(second), json.dumps({"summary": summary})]


def options_of(stack: FakeStack) -> dict[str, str]:
    """The options of the last command in the client node."""
    pairs = (
        word.removeprefix("--").partition("=")
        for word in stack.streamed[-1]
        if word.startswith("--")
    )
    return {name: value for name, _, value in pairs}


@pytest.mark.parametrize("load", LOADS, ids=lambda load: type(load).__name__)
def test_a_load_runs_in_the_client_node_and_its_command_holds_no_password(
    load: LuaLoad, tmp_path: Path
) -> None:
    stack = FakeStack(load_lines=load_lines())
    events: list[Any] = []
    session = session_of(stack, events)
    load.prepare(session, tmp_path / "prepare.log")
    outcome = load.load(session, "measure", tmp_path / "load.log")
    assert outcome.failure is None and outcome.metrics.tps == 1.0
    assert (
        outcome.command[2:4] == ("sysbench", "--config-file=/sandbox/sysbench.cnf")
        and outcome.command[-1] == "run"
    )
    asked = options_of(stack)
    assert (asked["threads"], asked["time"], asked["seed"], asked["mysql-host"]) == (
        "4",
        "3",
        "7",
        "mysql1",
    ) or (isinstance(load, Ddl) and asked["threads"] == "5" and asked["background-threads"] == "1")
    assert PASSWORD not in json.dumps(stack.streamed)
    assert set(load.scripts()) <= set(stack.shipped)
    assert (tmp_path / "load.log").read_text().splitlines() == load_lines()
    assert [event.second for event in events if not isinstance(event, Progress)] == [1]


def test_the_warm_up_draws_other_rows(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=load_lines())
    ConnectionStorm().load(session_of(stack), "warm-up", tmp_path / "load.log")
    assert (options_of(stack)["seed"], options_of(stack)["time"]) == ("8", "1")


def test_its_own_scripts_and_the_engine_are_shipped() -> None:
    assert set(Tpcc().scripts()) == {
        *("engine.lua", "mysql.lua"),
        *(f"tpcc/{name}.lua" for name in ("load", "data", "random", "schema")),
    }
    assert '"SELECT 1"' in Statements(text="SELECT 1;").scripts()["statements/units.lua"]


def test_a_rate_and_booleans_reach_the_script(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=load_lines())
    session = session_of(stack)
    paced = replace(session, parameters=session.parameters.model_copy(update={"rate_per_s": 50}))
    Ddl(alter=False).load(paced, "measure", tmp_path / "load.log")
    assert (options_of(stack)["pace-per-s"], options_of(stack)["alter"]) == ("50", "off")


@pytest.mark.parametrize(
    ("lines", "code", "message"),
    [
        ([json.dumps({"error": "1290", "message": "read only"})], 1, "error 1290: read only"),
        (["Initializing", "FATAL: no such module"], 1, "exit code 1: FATAL: no such module"),
        ([], 124, "was terminated"),
        ([], 0, "no summary"),
    ],
)
def test_a_load_that_broke_off_is_a_failure(
    tmp_path: Path, lines: list[str], code: int, message: str
) -> None:
    stack = FakeStack(load_lines=lines, load_code=code)
    outcome = ConnectionStorm().load(session_of(stack), "measure", tmp_path / "load.log")
    assert message in str(outcome.failure) and outcome.metrics.tps is None


def test_tpcc_makes_its_data_once_and_finds_it_again(tmp_path: Path) -> None:
    stack = FakeStack(answers={"SELECT SUM(d_next_o_id": [[30_000, 10]]})
    first = Tpcc().prepare(session_of(stack), tmp_path / "a.log")
    second = Tpcc().prepare(session_of(stack), tmp_path / "a.log")
    assert first and second and (first.reused, second.reused) == (False, True)
    assert (
        first.tables == 9 and first.rows_per_table is None and "1 warehouses" in str(first.details)
    )
    other = Tpcc(warehouses=2).prepare(session_of(stack), tmp_path / "a.log")
    assert other and not other.reused


@pytest.mark.parametrize(("orders", "reused"), [(36_000, True), (36_010, False)])
def test_tpcc_data_that_has_grown_too_much_is_made_anew(
    tmp_path: Path, orders: int, reused: bool
) -> None:
    stack = FakeStack(answers={"SELECT SUM(d_next_o_id": [[30_000, 10]]})
    events: list[Any] = []
    Tpcc().prepare(session_of(stack), tmp_path / "a.log")
    stack.answers["SELECT SUM(d_next_o_id"] = [[orders, 10]]
    found = Tpcc().prepare(session_of(stack, events), tmp_path / "a.log")
    assert found and found.reused == reused
    assert any("has grown by 20%" in event.text for event in events) != reused


def test_other_data_stands_beside_and_is_not_dropped(tmp_path: Path) -> None:
    tables = ["sbtest1", "tpcc_item", "ddl_load", "sandbox_prepared"]
    stack = FakeStack(
        tables=tables, marks={"sbtest": ["oltp", 1, 10, ""], "tpcc_": ["tpcc", 9, None, "old"]}
    )
    Tpcc().prepare(session_of(stack), tmp_path / "a.log")
    assert [text for _, text in stack.asked if text.startswith("DROP")] == [
        "DROP TABLE `tpcc_item`"
    ]
    assert stack.marks["sbtest"] == ["oltp", 1, 10, ""] and stack.marks["tpcc_"][3] != "old"


def test_consistency_is_four_verdicts() -> None:
    stack = FakeStack()
    assert {
        check.name: check.verdict for check in Tpcc().check(session_of(stack))
    } == dict.fromkeys(CONDITIONS, "pass")
    stack.answers = {"SELECT no_w_id": [[1, 4], [2, 9]]}
    stack.fail_sql = {"SELECT w_id": (2013, "lost connection")}
    checks = {check.name: check for check in Tpcc().check(session_of(stack))}
    assert (
        checks["tpcc_consistency_3"].verdict == "fail"
        and "2 violations" in checks["tpcc_consistency_3"].detail
    )
    assert checks["tpcc_consistency_1"].verdict == "unknown"
    assert checks["tpcc_consistency_4"].verdict == "pass"


def test_the_rows_that_a_preparation_makes_are_known_before() -> None:
    whole = Tpcc(warehouses=2).data_needed(PARAMETERS)
    assert whole and whole.rows == 100_000 + 2 * (100_000 + 390_000) and whole.prefix == "tpcc_"
    other = Tpcc(warehouses=3).data_needed(PARAMETERS)
    assert other and other.key != whole.key
    assert ConnectionStorm().data_needed(PARAMETERS) is None
    beside = Ddl(load_rows=5).data_needed(PARAMETERS)
    assert beside and beside.rows == 5
    assert Statements(text="SELECT 1;").data_needed(PARAMETERS) is None
    oltp = Statements(text="SELECT 1;", data="oltp").data_needed(PARAMETERS)
    assert (
        oltp
        and oltp.rows == 2 * 1000
        and oltp == Sysbench(script="oltp_read_only").data_needed(PARAMETERS)
    )


def test_ingest_begins_each_phase_with_empty_tables(tmp_path: Path) -> None:
    stack = FakeStack()
    for _ in range(2):
        found = Ingest().prepare(session_of(stack), tmp_path / "a.log")
        assert found and not found.reused and (found.tables, found.rows_per_table) == (2, 0)
    assert Ingest().consumes_data and not stack.marks
    asked = options_of(stack)
    assert [asked[name] for name in ("batch-rows", "indexes", "payload-bytes", "tables")] == [
        "100",
        "3",
        "100",
        "2",
    ]


def test_definitions_have_accompanying_threads(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=load_lines())
    Ddl(load_threads=3).load(session_of(stack), "measure", tmp_path / "a.log")
    assert (options_of(stack)["threads"], options_of(stack)["background-threads"]) == ("7", "3")


@pytest.mark.parametrize(
    ("statement", "kind"),
    [
        *(
            ("SELECT 1", "read"),
            ("(select 1) union (select 2)", "read"),
            ("WITH a AS (SELECT 1) SELECT 1", "read"),
        ),
        *(
            ("update t set a=1", "write"),
            ("REPLACE INTO t VALUES (1)", "write"),
            ("CALL p()", "write"),
        ),
        *(("BEGIN", "other"), ("SET @a = 1", "other"), ("CREATE TABLE t (a INT)", "other")),
    ],
)
def test_a_statement_is_counted_by_its_first_word(statement: str, kind: str) -> None:
    assert kind_of([statement]) == kind


def test_own_statements_may_work_on_the_tables_of_sysbench(tmp_path: Path) -> None:
    stack = FakeStack()
    assert Statements(text="SELECT 1;").prepare(session_of(stack), tmp_path / "a.log") is None
    found = Statements(text="SELECT 1;", data="oltp").prepare(session_of(stack), tmp_path / "a.log")
    assert found and (found.tables, found.rows_per_table) == (2, 1000) and "sbtest" in stack.marks
    assert '{{"read", "SELECT 1"}}' in stack.shipped["statements/units.lua"]


def test_a_preparation_that_fails_says_why(tmp_path: Path) -> None:
    stack = FakeStack(
        prepare_lines=[json.dumps({"error": "1114", "message": "The table is full"})],
        prepare_code=1,
    )
    with pytest.raises(WorkloadError, match="1114: The table is full"):
        Tpcc().prepare(session_of(stack), tmp_path / "a.log")
    assert not stack.marks


def test_options_are_typed_and_shown_in_the_record() -> None:
    changed = Tpcc().with_options({"warehouses": "3", "items": 500})
    assert changed.options() == {
        "warehouses": 3,
        "customers": 3000,
        "items": 500,
        "growth_percent": 20,
    }
    assert Ddl().with_options({"alter": "off"}).options()["alter"] is False
    assert "text" not in Statements(text="SELECT 1;").options()


@pytest.mark.parametrize(
    ("load", "given", "message"),
    [
        (Tpcc(), {"warehouse": 1}, "did you mean 'warehouses'?"),
        (Tpcc(), {"warehouses": "none"}, "a whole number is expected"),
        (Tpcc(), {"warehouses": 0}, "at least 1 is expected"),
        (Statements(text="SELECT 1;"), {"text": "DROP"}, "known: data"),
        (workload_kind("noop")(), {"x": 1}, "it has no options"),
    ],
)
def test_an_option_that_cannot_be_is_refused(
    load: Any, given: dict[str, Any], message: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        load.with_options(given)
    assert (
        message in refused.value.known
        and len(refused.value.lines()) == 3
        and refused.value.exit_code == 2
    )


@pytest.mark.parametrize("parameter", ["tables", "rows_per_table", "distribution"])
def test_a_parameter_that_would_not_be_used_is_refused(parameter: str) -> None:
    with pytest.raises(
        SandboxError, match=r"the workload tpcc does not support (TABLES|ROWS|DIST)"
    ) as refused:
        refuse_unused(Tpcc(), ["threads", "rate_per_s", parameter], "tpcc")
    assert "warehouses" in refused.value.known
    refuse_unused(Tpcc(), ["threads", "seconds", "rate_per_s"], "tpcc")
