"""What a query sees is what lies in results/ now, and a broken file breaks nothing."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sandbox.record.index import INDEX, open_index, open_one
from sandbox.record.tables import VIEWS, Part
from unit.record.made_results import around, matrix_part, records, save
from unit.report.made_up_trials import SEEN_MS, write_result

FIGURES = {"off": around(1000, 1), "on": around(900, 2), "canary": around(1000, 3)}


def ask(results: Path, sql: str, *parts: Part) -> list[tuple[Any, ...]]:
    """What a fresh command would be answered."""
    with open_index(results, parts).connection as connection:
        return connection.execute(sql).fetchall()


def test_every_view_answers_without_a_single_result(tmp_path: Path) -> None:
    defined = ask(tmp_path / "results", "SELECT view_name FROM duckdb_views() WHERE NOT internal")
    assert {name for (name,) in defined} == {*VIEWS}
    for view in VIEWS:
        assert ask(tmp_path / "results", f"SELECT * FROM {view}", "servers", "seconds") == []


def test_a_run_is_one_row_with_its_figures_server_and_levels(tmp_path: Path) -> None:
    result = save(tmp_path, FIGURES, matrix_part())
    columns = (
        "result, matrix, cell, block, status, tps, server_version, levels, threads, cpu_model,"
        " started_utc"
    )
    rows = ask(tmp_path, f"SELECT {columns} FROM runs ORDER BY cell, block")
    assert len(rows) == 24
    name, matrix, cell, block, status, tps, version, levels, threads, cpu, started = rows[8]
    assert (name, matrix, cell, block, status) == (result.path.name, "quick", "off", 1, "ok")
    assert (tps, version, levels) == (FIGURES["off"][0], "9.7.4-2 (Debian)", {"rewriter": "off"})
    assert (threads, cpu, started.isoformat()) == (8, "Test CPU", "2025-01-31T12:00:01")


def test_what_was_still_open_is_named_beside_its_figures(tmp_path: Path) -> None:
    write_result(tmp_path / "results")
    rows = ask(tmp_path / "results", "SELECT rto_ms, censored FROM runs WHERE rto_ms IS NOT NULL")
    still_open = [rto for rto, censored in rows if "rto_ms" in censored]
    assert still_open == [SEEN_MS] * len(still_open) and 0 < len(still_open) < len(rows)


def test_a_block_that_was_thrown_away_is_no_run(tmp_path: Path) -> None:
    result = save(tmp_path, FIGURES, matrix_part())
    path = result.path / "runs" / "off.1" / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "block": 0}))
    assert ask(tmp_path, "SELECT count(*), min(block) FROM runs WHERE cell = 'off'") == [(7, 2)]


def test_missing_is_null_and_never_zero(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1.0]}, metrics={"tps": None})
    assert ask(tmp_path, "SELECT tps, errors, matrix, levels FROM runs") == [
        (None, None, None, None)
    ]


def test_the_other_views_have_what_records_have(tmp_path: Path) -> None:
    save(tmp_path, FIGURES, matrix_part(), tool_commit="abc")
    assert ask(tmp_path, "SELECT kind, matrix, runs, ok, tool_commit FROM results") == [
        ("matrix", "quick", 24, 24, "abc")
    ]
    assert ask(tmp_path, "SELECT cell, levels FROM cells") == [
        ("off", {"rewriter": "off"}),
        ("on", {"rewriter": "on"}),
    ]
    assert ask(tmp_path, "SELECT count(*), min(role) FROM nodes WHERE name = 'mysql1'") == [
        (24, "writer")
    ]
    assert ask(tmp_path, "SELECT DISTINCT name FROM checks WHERE verdict = 'pass'") == [
        ("load_reached_server",)
    ]


def test_variables_counters_and_seconds_are_loaded_when_they_are_asked_for(tmp_path: Path) -> None:
    result = save(tmp_path, {"bench": [1.0]}, files={"series": "seconds.csv"})
    lines = "phase,second,threads,tps\nwarm-up,1,8,90.5\nmeasure,1,8,\n"
    (result.path / "runs" / "bench.1" / "seconds.csv").write_text(lines)
    assert ask(tmp_path, "SELECT count(*) FROM variables") == [(0,)], "not asked for yet"
    assert ask(tmp_path, "SELECT node, variable, value FROM variables", "servers") == [
        ("mysql1", "sync_binlog", "1")
    ]
    assert ask(tmp_path, "SELECT counter, value FROM status_delta", "servers") == [
        ("Com_select", 500.0)
    ]
    shown = ask(tmp_path, "SELECT cell, phase, second, tps, qps FROM seconds", "seconds")
    assert shown == [("bench", "warm-up", 1, 90.5, None), ("bench", "measure", 1, None, None)]


def test_no_answer_is_ever_stale(tmp_path: Path) -> None:
    count = "SELECT count(*), sum(tps) FROM runs"
    first = save(tmp_path, {"bench": [1.0, 2.0]})
    assert ask(tmp_path, count) == [(2, 3.0)]
    save(tmp_path, {"bench": [10.0]}, days=1)
    assert ask(tmp_path, count) == [(3, 13.0)], "a new result"
    path = first.path / "runs" / "bench.1" / "record.json"
    before = path.stat()
    changed = path.with_suffix(".new")
    changed.write_text(path.read_text().replace('"tps": 1.0', '"tps": 5.0'))
    os.utime(changed, ns=(before.st_atime_ns, before.st_mtime_ns))
    changed.replace(path)
    assert path.stat().st_size == before.st_size and path.stat().st_mtime_ns == before.st_mtime_ns
    assert ask(tmp_path, count) == [(3, 17.0)], "a record written again, of the same size and time"
    path.unlink()
    assert ask(tmp_path, count) == [(2, 12.0)], "a record that went"
    first.path.rename(tmp_path / "20250101T000000Z-renamed")
    assert ask(tmp_path, "SELECT count(*) FROM runs WHERE result = '20250101T000000Z-renamed'") == [
        (1,)
    ]


def test_a_second_query_reads_no_record_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, {"bench": [1.0, 2.0]})
    ask(tmp_path, "SELECT 1")
    save(tmp_path, {"bench": [3.0]}, days=1)
    read: list[str] = []
    original = Path.read_text

    def counted(path: Path, *given: Any, **named: Any) -> str:
        read.append(path.name)
        return original(path, *given, **named)

    monkeypatch.setattr(Path, "read_text", counted)
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(3,)]
    assert sorted(read) == ["manifest.json", "record.json"], "those of the new result"
    read.clear()
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(3,)]
    assert not read


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "JSON"),
        ("[]", "object"),
        ('{"schema_version": 2}', "schema_version"),
        ("\udcff", "UnicodeDecodeError"),
    ],
)
def test_a_broken_record_is_skipped_and_reported_every_time(
    tmp_path: Path, text: str, reason: str
) -> None:
    result = save(tmp_path, {"bench": [1.0, 2.0]})
    (result.path / "runs" / "bench.1" / "record.json").write_bytes(
        text.encode(errors="surrogateescape")
    )
    for _ in range(2):
        index = open_index(tmp_path)
        with index.connection as connection:
            assert connection.execute("SELECT tps FROM runs").fetchall() == [(2.0,)]
        ((path, shown),) = index.broken.items()
        assert path == f"{result.path.name}/runs/bench.1/record.json" and reason in shown
    (result.path / "runs" / "bench.1" / "record.json").write_text(
        records({"bench": [7.0]})[0].to_json()
    )
    assert ask(tmp_path, "SELECT sum(tps) FROM runs") == [(9.0,)], "mended"


def test_a_broken_manifest_leaves_the_runs(tmp_path: Path) -> None:
    result = save(tmp_path, {"bench": [1.0]})
    (result.path / "manifest.json").write_text('{"schema')
    index = open_index(tmp_path)
    with index.connection as connection:
        assert connection.execute("SELECT result, matrix FROM runs").fetchall() == [
            (result.path.name, None)
        ]
    assert list(index.broken) == [f"{result.path.name}/manifest.json"]


def test_the_link_latest_and_what_is_no_result_count_for_nothing(tmp_path: Path) -> None:
    result = save(tmp_path, {"bench": [1.0]})
    (tmp_path / "latest").symlink_to(result.path.name)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes.txt").write_text("x")
    (result.path / "runs" / "half").mkdir()
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(1,)]


@pytest.mark.parametrize("content", [b"", b"no database at all", b"\0" * 5000])
def test_an_index_that_cannot_be_read_is_made_anew(tmp_path: Path, content: bytes) -> None:
    save(tmp_path, {"bench": [1.0]})
    (tmp_path / INDEX).write_bytes(content)
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(1,)]
    with duckdb.connect(str(tmp_path / INDEX), read_only=True) as connection:
        assert connection.execute("SELECT count(*) FROM records_loaded").fetchone() == (1,)


def test_an_index_of_another_version_is_made_anew(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1.0]})
    ask(tmp_path, "SELECT 1")
    with duckdb.connect(str(tmp_path / INDEX)) as connection:
        connection.execute("UPDATE about SET version = 'older'")
        connection.execute("DELETE FROM records_loaded")
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(1,)]


def test_where_no_index_can_be_written_all_is_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(tmp_path, {"bench": [1.0]})
    original = duckdb.connect

    def refuse(database: str = ":memory:", **named: Any) -> duckdb.DuckDBPyConnection:
        if database != ":memory:":
            raise duckdb.IOException("Cannot open file: Permission denied")
        return original(database, **named)

    monkeypatch.setattr(duckdb, "connect", refuse)
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(1,)]
    assert not (tmp_path / INDEX).exists()


def test_copies_of_killed_commands_are_removed_and_those_of_others_are_not(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1.0]})
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    left, alive = (tmp_path / f"{INDEX}.{process}.tmp" for process in (ended.pid, os.getppid()))
    left.touch()
    alive.touch()
    ask(tmp_path, "SELECT 1")
    assert alive.exists() and not left.exists()
    assert sorted(path.name for path in tmp_path.glob(".*")) == sorted([INDEX, alive.name])


def test_who_reads_is_not_disturbed_by_who_brings_it_up_to_date(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1.0]})
    script = (
        "import sys; from pathlib import Path; from sandbox.record.index import open_index\n"
        "connection = open_index(Path(sys.argv[1])).connection\n"
        "print('open', flush=True); sys.stdin.readline()\n"
        "print(connection.execute('SELECT count(*) FROM runs').fetchone()[0])"
    )
    scripts = str(Path(__file__).parents[3] / "scripts")
    reader = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": scripts},
    )  # fmt: skip
    assert reader.stdout and reader.stdout.readline() == "open\n"
    save(tmp_path, {"bench": [2.0]}, days=1)
    assert ask(tmp_path, "SELECT count(*) FROM runs") == [(2,)]
    assert reader.communicate("\n", timeout=60)[0] == "1\n", "as it was when it began"


def test_a_statement_of_a_user_changes_nothing_and_reaches_no_file(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1.0]})
    index = open_index(tmp_path)
    index.confine()
    (tmp_path / "x.csv").write_text("a\n1\n")
    with index.connection as connection:
        for sql in (
            "DELETE FROM records_loaded",
            "CREATE TABLE t (a INT)",
            f"COPY runs TO '{tmp_path}/out.csv'",
            f"SELECT * FROM '{tmp_path}/x.csv'",
            f"ATTACH '{tmp_path}/new.db'",
            "SET enable_external_access = true",
        ):
            with pytest.raises(duckdb.Error):
                connection.execute(sql)
    assert sorted(path.name for path in tmp_path.glob("*.*")) == sorted([INDEX, "x.csv"])


def test_one_result_alone_is_read_wherever_it_lies_and_leaves_nothing(tmp_path: Path) -> None:
    result = save(tmp_path, {"bench": [1.0, 2.0]})
    save(tmp_path, {"bench": [3.0]}, days=1)
    index = open_one(result.path)
    with index.connection as connection:
        assert connection.execute("SELECT count(*), any_value(result) FROM runs").fetchone() == (
            2,
            result.path.name,
        )
        index.write_parquet("SELECT * FROM runs", tmp_path / "it's.parquet")
        found = connection.execute(
            "SELECT count(*) FROM read_parquet($1)", [str(tmp_path / "it's.parquet")]
        ).fetchone()
    assert found == (2,)
    assert not list(tmp_path.glob(".*"))


def test_many_new_files_are_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    save(tmp_path, {"bench": around(1, 1, 12)})
    monkeypatch.setattr("sandbox.record.index._WORTH_A_WORD", 10)
    monkeypatch.setattr("sandbox.record.index._AT_ONCE", 5)
    shown: list[str] = []
    with open_index(tmp_path, (), shown.append).connection as connection:
        assert connection.execute("SELECT count(*) FROM runs").fetchone() == (12,)
    assert shown == ["reading 12 new or changed records"]


def test_a_record_of_every_field_survives_the_way_through_the_index(tmp_path: Path) -> None:
    save(tmp_path, {"bench": [1234.5]})
    with open_index(tmp_path).connection as connection:
        (text,) = connection.execute(
            "SELECT to_json(content)::VARCHAR FROM records_loaded"
        ).fetchone() or ("",)
    kept, made = json.loads(text), json.loads(records({"bench": [1234.5]})[0].to_json())
    for name in ("nodes", "metrics", "checks", "files", "command", "seed", "status"):
        assert kept[name] == made[name], name
