"""The sysbench workload: what it runs, what it makes of the output, and how it remembers its
data.
"""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.load.common.prepared import ROWS_SEED
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import Event, Parameters, Second, Session, WorkloadError
from sandbox.load.sysbench import WRAPPER, Sysbench, script_of, wrapper
from sandbox.measure.bench import BenchRequest
from sandbox.stack.protocol import EntryPoint, ExecResult
from unit.fake_stack import PASSWORD, FakeStack, captured, server

MARKED: dict[str, list[Any]] = {"sbtest": ["oltp", 4, 1000, ""]}
PARAMETERS = Parameters(threads=4, seconds=3, warmup_s=1, tables=2, rows_per_table=1000)


def session_of(stack: FakeStack, events: list[Any] | None = None, **changed: Any) -> Session:
    """A session on the fake's writer."""
    shown: list[Any] = [] if events is None else events
    servers = [node for node in stack.members if node.is_server]
    given: dict[str, Any] = {"entry": stack.entry, "parameters": PARAMETERS, **changed}
    writer = EntryPoint("mysql1", "mysql1", 3306, 1, "writer")
    return Session(
        stack, "client1", writer=writer, servers=servers, seed=7, on_event=shown.append, **given
    )


def load_argv(stack: FakeStack) -> list[str]:
    """The sysbench command of the last load, out of its supervisor."""
    return stack.streamed[-1][stack.streamed[-1].index("sysbench") :]


def test_figures_come_from_the_summary(tmp_path: Path) -> None:
    events: list[Any] = []
    outcome = Sysbench(script="oltp_write_only").load(
        session_of(FakeStack(), events), "measure", tmp_path / "load.log"
    )
    metrics = outcome.metrics
    assert outcome.failure is None
    assert (metrics.transactions, metrics.queries, metrics.conflicts, metrics.errors) == (
        1162,
        7040,
        31,
        0,
    )
    assert metrics.tps == round(1162 / 4.3354, 2) and metrics.qps == round(7040 / 4.3354, 2)
    assert metrics.latency_p95_ms == 92.424 and metrics.latency_max_ms == 332.01
    assert metrics.points_1s == 4 and metrics.tps_sd_1s == 105.94
    assert [event.second for event in events if isinstance(event, Second)] == [1, 2, 3, 4]
    assert (tmp_path / "load.log").read_text().splitlines() == captured("conflicts-mysql-9.7")


def test_the_command_can_be_typed_by_hand_and_holds_no_password(tmp_path: Path) -> None:
    stack = FakeStack()
    Sysbench(script="oltp_read_write").load(session_of(stack), "measure", tmp_path / "load.log")
    argv = load_argv(stack)
    assert argv[:3] == ["sysbench", "--config-file=/sandbox/sysbench.cnf", "oltp_read_write"]
    assert {
        "--mysql-host=mysql1",
        "--threads=4",
        "--time=3",
        "--rand-seed=7",
        "--rand-type=uniform",
    } <= set(argv)
    assert argv[-1] == "run"
    assert PASSWORD not in " ".join(stack.streamed[-1])


def test_keys_by_zipfs_law_are_drawn_by_a_script_of_ours(tmp_path: Path) -> None:
    stack = FakeStack()
    session = session_of(
        stack, parameters=PARAMETERS.model_copy(update={"distribution": "zipfian"})
    )
    Sysbench(script="oltp_read_write").load(session, "measure", tmp_path / "load.log")
    argv = load_argv(stack)
    assert argv[2].endswith(f"/{WRAPPER}") and "--rand-type=uniform" in argv
    assert wrapper("oltp_read_write", ["-- drawn\n"], [])[WRAPPER].endswith(
        '\nrequire("oltp_read_write")\n'
    )
    assert wrapper("/tmp/x/mine.lua", ["-- drawn\n"], [])[WRAPPER].endswith(
        '\ndofile("/tmp/x/mine.lua")\n'
    )
    assert not wrapper("oltp_read_write", [], [])


def members_of(stack: FakeStack) -> EntryPoint:
    """The entry point of three members at once."""
    return replace(stack.entry, via="members", others=("mysql2", "mysql3"))


def test_connections_are_spread_over_the_members_but_the_data_is_made_at_the_writer(
    tmp_path: Path,
) -> None:
    stack = FakeStack()
    session, workload = (
        session_of(stack, entry=members_of(stack)),
        Sysbench(script="oltp_write_only"),
    )
    workload.prepare(session, tmp_path / "a.log")
    assert "--mysql-host=mysql1" in load_argv(stack)
    workload.load(session, "measure", tmp_path / "a.log")
    assert "--mysql-host=mysql1,mysql2,mysql3" in load_argv(stack)
    shipped = stack.shipped[WRAPPER]
    assert (
        "conflicts of code" in shipped
        and "wait_until_back" in shipped
        and load_argv(stack)[2].endswith(WRAPPER)
    )
    assert "is not one of the members" not in shipped, "no tables of its own for each"


def test_each_member_can_have_tables_of_its_own(tmp_path: Path) -> None:
    stack = FakeStack()
    workload = Sysbench(script="oltp_write_only").with_options({"tables_per_member": "on"})
    assert workload.needs_members and workload.options() == {
        "script": "oltp_write_only", "tables": "oltp", "data": "kept", "tables_per_member": True,
    }  # fmt: skip
    session = session_of(
        stack, entry=members_of(stack), parameters=PARAMETERS.model_copy(update={"tables": 3})
    )
    workload.prepare(session, tmp_path / "a.log")
    workload.load(session, "measure", tmp_path / "a.log")
    assert load_argv(stack)[2].endswith(f"/{WRAPPER}")
    before, _, after = stack.shipped[WRAPPER].partition('require("oltp_write_only")\n')
    assert before == "local sysbench_run = thread_run\n" and "is not one of the members" in after
    with pytest.raises(SandboxError, match="TABLES=2 is too few for 3 members"):
        workload.prepare(session_of(stack, entry=members_of(stack)), tmp_path / "a.log")


def test_tables_per_member_need_tables_and_members() -> None:
    with pytest.raises(SandboxError, match="tables_per_member=on is not valid"):
        Sysbench(script="bulk_insert", tables="bulk_insert").with_options(
            {"tables_per_member": "on"}
        )
    workload = NamedWorkload("mine", "", Sysbench(script="oltp_insert", tables_per_member=True))
    with pytest.raises(SandboxError, match="tables_per_member needs VIA=members"):
        BenchRequest(workload, PARAMETERS, "writer")
    assert BenchRequest(workload, PARAMETERS, "members").via == "members"


def test_the_warm_up_draws_other_rows(tmp_path: Path) -> None:
    stack = FakeStack()
    Sysbench(script="oltp_read_write").load(session_of(stack), "warm-up", tmp_path / "load.log")
    assert {"--rand-seed=8", "--time=1"} <= set(load_argv(stack))


def test_the_entry_point_decides_about_prepared_statements(tmp_path: Path) -> None:
    stack = FakeStack()
    Sysbench(script="oltp_read_write").load(session_of(stack), "measure", tmp_path / "a.log")
    assert "--db-ps-mode=disable" not in load_argv(stack)
    proxied = session_of(stack, entry=replace(stack.entry, multiplexes=True))
    Sysbench(script="oltp_read_write").load(proxied, "measure", tmp_path / "b.log")
    assert "--db-ps-mode=disable" in load_argv(stack)


def test_prepared_statements_can_be_off_without_a_proxy_too(tmp_path: Path) -> None:
    stack = FakeStack()
    plain = Sysbench(script="oltp_read_write")
    workload = plain.with_options({"db_ps_mode": "disable"})
    workload.load(session_of(stack), "measure", tmp_path / "a.log")
    assert (
        "--db-ps-mode=disable" in load_argv(stack) and workload.options()["db_ps_mode"] == "disable"
    )
    assert not {"db_ps_mode", "thread_init_timeout_s"} & set(plain.options())
    with pytest.raises(SandboxError, match="db_ps_mode=never"):
        plain.with_options({"db_ps_mode": "never"})


@pytest.mark.parametrize(
    ("help_text", "supported"),
    [("  --thread-init-timeout=N  wait time", True), ("--threads=N", False)],
)
def test_a_limit_for_connecting_is_given_to_a_sysbench_that_knows_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, help_text: str, supported: bool
) -> None:
    stack = FakeStack()
    events: list[Event] = []
    monkeypatch.setattr(stack, "run", lambda *_, **__: ExecResult(0, help_text, ""))
    workload = Sysbench(script="oltp_read_write").with_options({"thread_init_timeout_s": 120})
    workload.load(session_of(stack, events), "measure", tmp_path / "a.log")
    assert ("--thread-init-timeout=120" in load_argv(stack)) is supported
    assert (
        any("gives its threads 30 s" in getattr(event, "text", "") for event in events)
        is not supported
    )


def test_a_rate_is_asked_for_only_when_given(tmp_path: Path) -> None:
    stack = FakeStack()
    rated = session_of(stack, parameters=PARAMETERS.model_copy(update={"rate_per_s": 50}))
    Sysbench(script="oltp_read_write").load(rated, "measure", tmp_path / "a.log")
    assert "--rate=50" in load_argv(stack)


def test_a_certification_conflict_of_a_group_is_a_conflict(tmp_path: Path) -> None:
    stack = FakeStack(members=[server("gr1", topology="gr")])
    Sysbench(script="oltp_read_write").load(session_of(stack), "measure", tmp_path / "a.log")
    assert "--mysql-ignore-errors=1213,1020,1205,3101,1180" in load_argv(stack)


@pytest.mark.parametrize(
    ("lines", "code", "failure", "by_code"),
    [
        ("killed-server", 1, "2013", {"2013": 4}),
        ("read-only", 1, "1290", {"1290": 2}),
        ("refused", 1, "1045", {"1045": 2}),
    ],
)
def test_a_load_that_broke_off_is_a_failure_without_figures(
    tmp_path: Path, lines: str, code: int, failure: str, by_code: dict[str, int]
) -> None:
    stack = FakeStack(load_lines=captured(lines), load_code=code)
    outcome = Sysbench(script="oltp_read_write").load(
        session_of(stack), "measure", tmp_path / "a.log"
    )
    assert failure in str(outcome.failure)
    assert outcome.metrics.errors_by_code == by_code
    assert outcome.metrics.tps is None and outcome.metrics.latency_p95_ms is None


def test_a_load_that_had_to_be_ended_is_a_failure(tmp_path: Path) -> None:
    stack = FakeStack(load_lines=captured("rate")[:14], load_code=124)
    outcome = Sysbench(script="oltp_read_write").load(
        session_of(stack), "measure", tmp_path / "a.log"
    )
    assert "was terminated" in str(outcome.failure)


def test_data_is_prepared_once_and_found_again(tmp_path: Path) -> None:
    stack = FakeStack()
    workload = Sysbench(script="oltp_read_write")
    first = workload.prepare(session_of(stack), tmp_path / "a.log")
    second = workload.prepare(session_of(stack), tmp_path / "a.log")
    assert first and second and (first.reused, second.reused) == (False, True)
    assert [argv[-1] for argv in stack.streamed] == ["prepare"]
    assert stack.marks == {"sbtest": ["oltp", 2, 1000, ""]}


def test_other_parameters_drop_what_is_there(tmp_path: Path) -> None:
    stack = FakeStack(
        marks={"sbtest": ["oltp", 4, 1000, ""]},
        tables=["sbtest1", "sbtest4", "other", "sandbox_prepared"],
    )
    Sysbench(script="oltp_read_write").prepare(session_of(stack), tmp_path / "a.log")
    dropped = [text for _, text in stack.asked if text.startswith("DROP")]
    assert dropped == ["DROP TABLE `sbtest1`", "DROP TABLE `sbtest4`"]


@pytest.mark.parametrize(
    "workload",
    [Sysbench(script="oltp_read_write"), script_of("mine.lua", "function prepare() end")],
)
def test_rows_are_the_same_whenever_they_are_made(tmp_path: Path, workload: Sysbench) -> None:
    stack = FakeStack()
    workload.prepare(replace(session_of(stack), seed=99), tmp_path / "a.log")
    assert stack.streamed[-1][-1] == "prepare"
    assert [word for word in stack.streamed[-1] if word.startswith("--rand-seed")] == [
        f"--rand-seed={ROWS_SEED}"
    ]


def test_an_interrupted_preparation_is_not_taken_for_prepared(tmp_path: Path) -> None:
    stack = FakeStack(
        marks={"sbtest": ["oltp", 4, 1000, ""]},
        prepare_lines=["FATAL: error 2003: Can't connect"],
        prepare_code=1,
    )
    with pytest.raises(WorkloadError, match="2003"):
        Sysbench(script="oltp_read_write").prepare(session_of(stack), tmp_path / "a.log")
    assert not stack.marks


@pytest.mark.parametrize("code", [1146, 1049])
def test_no_mark_table_means_no_data(tmp_path: Path, code: int) -> None:
    stack = FakeStack(fail_sql={"SELECT family": (code, "no such thing")})
    found = Sysbench(script="oltp_read_write").prepare(session_of(stack), tmp_path / "a.log")
    assert found and not found.reused


def test_a_writer_that_fails_is_not_taken_for_one_without_data(tmp_path: Path) -> None:
    stack = FakeStack(fail_sql={"SELECT family": (2013, "lost connection")})
    with pytest.raises(WorkloadError, match="lost connection"):
        Sysbench(script="oltp_read_write").prepare(session_of(stack), tmp_path / "a.log")


def test_data_that_a_run_consumes_is_made_anew_each_time(tmp_path: Path) -> None:
    stack = FakeStack()
    workload = Sysbench(script="oltp_delete", data="consumed")
    for _ in range(2):
        found = workload.prepare(session_of(stack), tmp_path / "a.log")
        assert found and not found.reused
    assert not stack.marks


def test_bulk_insert_makes_one_table_for_each_thread(tmp_path: Path) -> None:
    stack = FakeStack()
    found = Sysbench(script="bulk_insert", tables="bulk_insert", data="consumed").prepare(
        session_of(stack), tmp_path / "a.log"
    )
    assert found and (found.tables, found.rows_per_table) == (4, 0)
    assert "--threads=4" in load_argv(stack)


def test_tables_of_somebody_else_are_not_touched(tmp_path: Path) -> None:
    external = server("mysql1", "external", has_container=False)
    stack = FakeStack(members=[external], tables=["customers"])
    with pytest.raises(SandboxError, match="did not create"):
        Sysbench(script="oltp_read_write").prepare(session_of(stack), tmp_path / "a.log")
    assert not [text for _, text in stack.asked if text.startswith(("DROP", "CREATE", "DELETE"))]
    assert not stack.streamed
