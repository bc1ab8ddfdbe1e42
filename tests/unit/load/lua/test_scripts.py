"""What the Lua of ingest, ddl, connection-storm and of the user's statements sends."""

import re
import time
from typing import Any

import pytest

from sandbox.load.statements import Statements
from unit.load.lua.script import Load, Server, ServerError, State


def slow(statement: str) -> list[Any]:
    """A millisecond for a statement."""
    time.sleep(0.001)
    return []


def created(script: str, **options: Any) -> list[str]:
    """The statements of the command that makes the data."""
    server = Server()
    state = State(
        server, {"threads": 1, **{name: str(value) for name, value in options.items()}}, []
    )
    state.run(script)
    assert state.lua.eval("sysbench.cmdline.commands.create[1]()")
    return server.sent


def test_batches_have_their_rows_and_tables_their_indexes() -> None:
    options = {"tables": 2, "batch_rows": 3, "indexes": 2, "payload_bytes": 5}
    server = Server(slow)
    Load("ingest/load.lua", server, threads=3, **options).run()
    assert {text.split()[2] for text in server.sent} == {"ingest_1", "ingest_2"}
    row = r"\(\d+,\d{16},'tag-\d+',0\.\d{9},'[0-9a-z]{5}'\)"
    assert all(
        re.fullmatch(rf"INSERT INTO \S+ \([a-z_, ]+\) VALUES {row},{row},{row}", text)
        for text in server.sent
    )
    tables = created("ingest/load.lua", **options)
    assert [text.split()[2] for text in tables] == ["ingest_1", "ingest_2"] and tables[0].count(
        ", KEY "
    ) == 2


def test_the_table_of_the_accompanying_load_is_filled_to_the_last_row() -> None:
    sent = created("ddl/load.lua", load_rows=2500)
    filled = "".join(sent[1:])
    assert (
        len(sent) == 4
        and "(2500,2500," in filled
        and "(2501," not in filled
        and filled.count("(1,1,") == 1
    )


def test_a_command_that_fails_prints_the_error() -> None:
    def refuse(statement: str) -> list[Any]:
        raise ServerError(1050, "Table 'ddl_load' already exists")

    printed: list[str] = []
    state = State(Server(refuse), {"threads": 1, "load_rows": "3"}, printed)
    state.run("ddl/load.lua")
    assert not state.lua.eval("sysbench.cmdline.commands.create[1]()")
    assert "".join(printed) == '{"error":"1050","message":"Table \'ddl_load\' already exists"}\n'


def test_definitions_follow_one_another_and_leave_no_table() -> None:
    def answer(statement: str) -> list[Any]:
        time.sleep(0.02)
        return [["ddl_t0_7"]] if statement.startswith("SHOW") else []

    server = Server(answer)
    Load(
        "ddl/load.lua",
        server,
        threads=1,
        tables_per_thread=2,
        table_rows=1,
        alter="on",
        load_rows=1,
        seconds=1,
    ).run()
    first = [
        "SHOW TABLES LIKE",
        *(
            "DROP TABLE ddl_t0_7",
            "CREATE TABLE ddl_t0_0",
            "INSERT INTO ddl_t0_0",
            "CREATE TABLE ddl_t0_1",
        ),
        *(
            "INSERT INTO ddl_t0_1",
            "ALTER TABLE ddl_t0_0",
            "ALTER TABLE ddl_t0_0",
            "ALTER TABLE ddl_t0_1",
        ),
        *("ALTER TABLE ddl_t0_1", "DROP TABLE ddl_t0_0", "DROP TABLE ddl_t0_1"),
    ]
    assert [" ".join(text.split()[:3]) for text in server.sent[: len(first)]] == first
    assert server.sent[0] == r"SHOW TABLES LIKE 'ddl\_t0\_%'" and server.closed == 1
    there = [text.split()[2] for text in server.sent if text.startswith("CREATE")]
    dropped = [
        text.split()[2] for text in server.sent if text.startswith("DROP") and "_7" not in text
    ]
    assert sorted(there) == sorted(dropped)


def test_the_accompanying_load_reads_and_writes_by_turns() -> None:
    server = Server(slow)
    options: dict[str, Any] = {
        "tables_per_thread": 1,
        "table_rows": 0,
        "alter": "off",
        "load_rows": 5,
        "background_threads": 1,
    }
    summary = Load("ddl/load.lua", server, threads=1, **options).run()[-1]["summary"]
    assert summary["background"] == ["fill", "read", "write"]
    assert set(summary["kinds"]) == {
        "create",
        "drop",
        "read",
        "write",
    }
    assert summary["reads"] - summary["writes"] in (1, 2), (
        "each thread begins with a SHOW or a read"
    )
    assert all("WHERE id = " in text for text in server.sent if text.startswith("UPDATE"))


def test_a_storm_connects_and_disconnects_each_time() -> None:
    server = Server(slow)
    summary = Load("connection_storm/load.lua", server, query="SELECT 1").run()[-1]["summary"]
    done = sum(count for _, count in summary["kinds"]["connect"]["counts"])
    assert summary["reads"] == done == len(server.sent) > 0
    assert summary["connections"] == server.connected == server.closed == done + 2, (
        "and one of each thread before"
    )


@pytest.fixture
def own_units() -> str:
    """Statements as they are shipped."""
    text = (
        "-- weight 9\nSELECT ${random 1 5};\n"
        "-- name b\nBEGIN; INSERT INTO t VALUES ('${string 4}', 'é\"\\\\', ${thread}); COMMIT;"
    )
    return Statements(text=text).scripts()["statements/units.lua"]


def test_own_statements_are_drawn_by_weight_and_filled_in(
    own_units: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(State, "run", _with_units(State.run, own_units))
    server = Server(slow)
    summary = Load("statements/load.lua", server, threads=2).run()[-1]["summary"]
    reads = [text for text in server.sent if text.startswith("SELECT")]
    inserts = [text for text in server.sent if text.startswith("INSERT")]
    assert 0.8 <= len(reads) / (len(reads) + len(inserts)) <= 0.97
    assert {text.removeprefix("SELECT ") for text in reads} == set("12345")
    assert all(
        re.fullmatch(r"INSERT INTO t VALUES \('[a-z0-9]{4}', 'é\"\\\\', [12]\)", text)
        for text in inserts
    )
    assert len(inserts) == server.sent.count("BEGIN") == server.sent.count("COMMIT")
    assert (summary["reads"], summary["writes"], summary["others"]) == (
        len(reads),
        len(inserts),
        2 * len(inserts),
    )
    assert set(summary["kinds"]) == {"1_select", "b"}


def _with_units(run: Any, units: str) -> Any:
    """A state finds the module that is made from the user's file."""

    def wrapped(state: State, script: str) -> Any:
        state.lua.execute(
            "local text = ...; package.preload['statements.units'] = assert(loadstring(text))",
            units,
        )
        return run(state, script)

    return wrapped
