"""query, compare, history and export as a user types them, over results of a temporary folder."""

import csv
import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import pytest

from perf.query import make_result
from sandbox.cli.commands import list as list_command
from sandbox.cli.common import lists
from sandbox.cli.common.exports import export
from sandbox.cli.common.over_time import compare, gate_code, history
from sandbox.cli.common.queries import needed_parts, query
from sandbox.cli.common.results import find_result
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.compare import Verdict
from sandbox.record.store import ResultFolder
from sandbox.record.tables import VIEWS
from unit.record.made_results import around, matrix_part, save
from unit.report.test_exports import parse_benchmark_format

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def a_result(results: Path, on: float = 900, days: int = 0) -> ResultFolder:
    figures = {
        "off": around(1000, 1 + days),
        "on": around(on, 2 + days),
        "canary": around(1000, 3 + days),
    }
    return save(results, figures, matrix_part(), days)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with one result, indexed once, for what only reads."""
    folder = tmp_path_factory.mktemp("results")
    a_result(folder)
    return folder


# query


def test_a_query_prints_a_table_json_or_csv(tmp_path: Path, capsys: Printed) -> None:
    a_result(tmp_path)
    sql = "select cell, count(*) as n from runs group by cell order by cell"
    assert query(sql, results=tmp_path) == 0
    assert capsys.readouterr().out == "cell    n\ncanary  8\noff     8\non      8\n"
    query(sql, as_json=True, results=tmp_path)
    assert json.loads(capsys.readouterr().out)[1] == {"cell": "off", "n": 8}
    query(sql, as_csv=True, results=tmp_path)
    assert capsys.readouterr().out.splitlines() == ["cell,n", "canary,8", "off,8", "on,8"]


@pytest.mark.parametrize(
    "sql",
    [
        "describe runs",
        "show tables",
        "with a as (from runs) select count(*) from a",
        "pivot runs on status using count(*) group by cell",
        "summarize results",
    ],
)
def test_whatever_reads_is_answered(results: Path, capsys: Printed, sql: str) -> None:
    assert query(sql, results=results) == 0
    assert all(len(line) <= 100 for line in capsys.readouterr().out.splitlines())


@pytest.mark.parametrize(
    ("sql", "what", "known"),
    [
        ("delete from records_loaded", "a query cannot run DELETE", "queries are read-only"),
        ("create table t as from runs", "a query cannot run CREATE", "select"),
        ("copy runs to 'x.csv'", "a query cannot run COPY", "select"),
        ("explain analyze copy runs to 'x.csv'", "a query cannot run EXPLAIN", "select"),
        ("select 1; drop view runs", "expected one statement, got 2", "single statement"),
        ("-- nothing", "expected one statement, got 0", "single statement"),
        ("create table t as pivot runs on status using count(*)", "", ""),
        ("copy (pivot runs on status using count(*)) to 'x.csv'", "a query reads only results", ""),
        ("select * from 'other.csv'", "a query reads only results", "FORMAT=parquet"),
        ("select avg(tsp) from runs", "there is no column 'tsp'", "did you mean 'tps'?"),
        (
            "select r.latency_p95 from runs r",
            "there is no column 'latency_p95'",
            "did you mean 'latency_p95_ms'?",
        ),
        ("select titel from results", "there is no column 'titel'", "did you mean 'title'?"),
        ("select * from run", "there is no view 'run'", "did you mean 'runs'?"),
        ("selec 1", 'syntax error at or near "selec"', "LINE 1"),
        ("select nothing_like_it(1)", "nothing_like_it", ""),
    ],
)
def test_what_cannot_be_answered_is_three_lines(
    results: Path, sql: str, what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        query(sql, results=results)
    lines = refused.value.lines()
    assert what in lines[0] and known in lines[1] and lines[2].startswith("try: make query"), lines
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert not list(results.rglob("x.csv"))


def test_times_are_utc_with_and_without_a_zone(results: Path, capsys: Printed) -> None:
    sql = (
        "select min(started_utc) as first, min(started_utc)::timestamptz as same, max(started_utc)"
        " < now() as past"
    )
    query(f"{sql} from runs", as_json=True, results=results)
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {
        "first": "2025-01-31T12:00:01Z",
        "same": "2025-01-31T12:00:01+00:00",
        "past": True,
    }


def test_a_broken_record_is_a_word_on_standard_error(tmp_path: Path, capsys: Printed) -> None:
    result = a_result(tmp_path)
    for block in range(1, 6):
        (result.path / "runs" / f"on.{block}" / "record.json").write_text("{")
    assert query("select count(*) as n from runs", results=tmp_path) == 0
    printed = capsys.readouterr()
    assert printed.out.split() == ["n", "19"]
    warnings = printed.err.splitlines()
    assert len(warnings) == 4 and warnings[0].startswith(
        f"skipped  {result.path.name}/runs/on.1/record.json: "
    )
    assert warnings[3] == "skipped  and 2 more"


def test_an_answer_has_one_form(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="JSON=1 and CSV=1 exclude each other"):
        query("select 1", as_json=True, as_csv=True, results=tmp_path)


def test_a_long_answer_is_cut_for_people_only(tmp_path: Path, capsys: Printed) -> None:
    query("from range(1500)", results=tmp_path)
    printed = capsys.readouterr()
    assert len(printed.out.splitlines()) == 1001 and "CSV=1" in printed.err
    query("from range(1500)", as_csv=True, results=tmp_path)
    assert len(capsys.readouterr().out.splitlines()) == 1501


def test_without_a_statement_the_views_are_listed(tmp_path: Path, capsys: Printed) -> None:
    assert query(None, results=tmp_path) == 0
    assert all(
        f"\n{name} " in capsys_out for capsys_out in [capsys.readouterr().out] for name in VIEWS
    )


def test_what_is_large_is_loaded_only_for_who_names_it() -> None:
    assert needed_parts("select tps from runs") == set()
    assert needed_parts("SELECT * FROM Variables") == {"servers"}
    assert needed_parts("from seconds join status_delta using (result)") == {"seconds", "servers"}


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from sandbox.cli.common.queries import query\n"
        "sys.exit(query('from range(300000)', as_csv=True, results=Path(sys.argv[1])))"
    )
    scripts = str(Path(__file__).parents[3] / "scripts")
    command = [sys.executable, "-c", script, str(tmp_path)]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env={"PYTHONPATH": scripts}
    ) as process:
        assert process.stdout and process.stdout.readline() == b"range\n"
        process.stdout.close()
        assert process.stderr and process.stderr.read() == b""
    assert process.returncode == 0


# compare


def test_compare_says_worse_and_gates_only_when_asked(tmp_path: Path, capsys: Printed) -> None:
    first, second = a_result(tmp_path), a_result(tmp_path, 600, 10)
    second.finish(second.manifest.started_utc)
    assert compare(first.path.name, "latest", results=tmp_path) == 0
    text = capsys.readouterr().out
    assert (
        "Unpaired: " in text
        and "worse" in text
        and all(len(line) <= 100 for line in text.splitlines())
    )
    assert compare(first.path.name, "latest", gate=True, results=tmp_path) == 1
    capsys.readouterr()
    assert (
        compare(first.path.name, str(second.path), as_json=True, gate=True, results=tmp_path) == 1
    )
    data = json.loads(capsys.readouterr().out)
    assert data["b"]["result"] == second.path.name and {
        each["verdict"] for each in data["verdicts"]
    } == {
        "worse",
        "no difference",
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["better", "no difference"], ExitCode.OK),
        (["worse", "too noisy"], ExitCode.FAILED),
        (["no difference", "too noisy"], ExitCode.UNKNOWN),
        (["unfit"], ExitCode.UNKNOWN),
        ([], ExitCode.UNKNOWN),
    ],
)
def test_a_gate_is_never_green_for_what_was_not_judged(
    words: Sequence[str], code: ExitCode
) -> None:
    class Told(Verdict):
        @property
        def word(self) -> str:
            return str(self.metric)

    assert gate_code([Told("on", "on", word, None, 0) for word in words]) is code


def test_compare_refuses_what_has_nothing_in_common(tmp_path: Path) -> None:
    first = a_result(tmp_path)
    other = save(tmp_path, {"x": [1.0]}, matrix_part(cells=[], comparisons=[]), 1)
    bench = save(tmp_path, {"bench": [1.0]}, None, 2)
    for second, what in ((other, "no cell with the same levels"), (bench, "a bench and a matrix")):
        with pytest.raises(SandboxError, match=what):
            compare(first.path.name, second.path.name, results=tmp_path)
    with pytest.raises(SandboxError, match="A and B are the same result"):
        compare(first.path.name, first.path.name, results=tmp_path)
    with pytest.raises(SandboxError, match="compare needs B="):
        compare("latest", None, results=tmp_path)


def test_a_result_is_found_by_name_part_link_and_path(tmp_path: Path) -> None:
    first, second = a_result(tmp_path), a_result(tmp_path, days=1)
    second.finish(second.manifest.started_utc)
    for given in (second.path.name, "20250201", None, "latest", str(second.path)):
        assert find_result(given, tmp_path, "compare").path == second.path
    with pytest.raises(SandboxError, match="matches 2 results"):
        find_result("matrix-quick", tmp_path, "compare")
    with pytest.raises(SandboxError) as refused:
        find_result(first.path.name.replace("quick", "quikc"), tmp_path, "compare")
    assert refused.value.known == f"did you mean '{first.path.name}'?"
    with pytest.raises(SandboxError, match="there is no result 'x'"):
        find_result("x", tmp_path / "none", "compare")


def test_the_latest_is_the_newest_until_one_has_ended(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="no results yet") as none:
        find_result(None, tmp_path, "report")
    assert int(none.value.exit_code) == 2 and none.value.lines()[2] == "try: make bench"
    first, second = (save(tmp_path, {"bench": [1.0]}, None, day) for day in (1, 2))
    (tmp_path / "latest").unlink(missing_ok=True)
    assert find_result(None, tmp_path, "report").path == second.path, "none has ended: the newest"
    first.finish(first.manifest.started_utc)
    for named in (None, "latest", first.path.name, str(first.path)):
        assert find_result(named, tmp_path, "report").path == first.path
    with pytest.raises(SandboxError, match="there is no result '2025-mysql'") as unknown:
        find_result("2025-mysql", tmp_path, "report")
    assert first.path.name in unknown.value.lines()[1]


# list


def test_a_result_whose_manifest_cannot_be_read_is_listed_as_such(
    tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lists, "RESULTS", tmp_path)
    good, broken = (save(tmp_path, {"bench": [1.0]}, None, day) for day in (1, 2))
    (broken.path / "manifest.json").write_text("{")
    list_command.command("results")
    _, *lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == [good.path.name, "bench", "1"]
    assert lines[1].split() == [broken.path.name, "unreadable"]
    list_command.command("results", json=True)
    assert json.loads(capsys.readouterr().out)["results"][1]["kind"] == "unreadable"


# history


def test_history_is_of_the_newest_result_unless_asked(tmp_path: Path, capsys: Printed) -> None:
    for day in range(7):
        a_result(tmp_path, 900 if day < 4 else 600, day)
    save(tmp_path, {"bench": [1.0]}, None, 9)
    history(results=tmp_path)
    assert capsys.readouterr().out.startswith("bench of mysql@9.7: oltp_read_write")
    history(matrix="quick", metric="tps", only="rewriter=on", results=tmp_path)
    text = capsys.readouterr().out
    assert (
        text.startswith("matrix quick: ")
        and "worse from here on" in text
        and "rewriter off" not in text
    )
    assert all(len(line) <= 100 for line in text.splitlines())
    history(workload="oltp_read_write", as_json=True, results=tmp_path)
    assert len(json.loads(capsys.readouterr().out)["series"][0]["points"]) == 1


@pytest.mark.parametrize(
    ("options", "what", "known"),
    [
        ({"matrix": "quikc"}, "no result of the matrix 'quikc'", "did you mean 'quick'?"),
        ({"metric": "tsp"}, "no metric 'tsp'", "did you mean 'tps'?"),
        ({"only": "rewriters=on"}, "no factor 'rewriters'", "did you mean 'rewriter'?"),
        ({"only": "rewriter=onn"}, "has no level 'onn'", "did you mean 'on'?"),
        ({"only": "'"}, "ONLY=' cannot be read", "quotation"),
        ({"workload": "tpcc"}, "no such result", "no result"),
    ],
)
def test_history_refuses_in_three_lines(
    tmp_path: Path, options: dict[str, Any], what: str, known: str
) -> None:
    a_result(tmp_path)
    with pytest.raises(SandboxError) as refused:
        history(**options, results=tmp_path)
    assert what in refused.value.what and known in refused.value.known, refused.value.lines()


def test_history_goes_round_what_is_broken(tmp_path: Path, capsys: Printed) -> None:
    first, second = a_result(tmp_path), a_result(tmp_path, days=1)
    (first.path / "manifest.json").write_text("{")
    (second.path / "runs" / "on.1" / "record.json").write_text("{")
    assert history(results=tmp_path) == 0
    shown = capsys.readouterr().err
    assert f"skipped  {first.path.name}/manifest.json" in shown and "runs/on.1/record.json" in shown


# export


def test_csv_is_read_by_python_and_by_duckdbs_sniffer(tmp_path: Path, capsys: Printed) -> None:
    result = a_result(tmp_path)
    out = tmp_path / "out.csv"
    assert export("csv", result.path.name, out=str(out), results=tmp_path) == 0
    assert capsys.readouterr().err == f"export  written to {out}\n"
    rows = list(csv.DictReader(io.StringIO(out.read_text())))
    assert (
        len(rows) == 24
        and {row["status"] for row in rows} == {"ok"}
        and rows[0]["rate_per_s"] == ""
    )
    with duckdb.connect() as connection:
        sql = (
            "SELECT count(*), avg(tps), min(started_utc), any_value(levels) FROM read_csv($1) WHERE"
            " cell = 'on'"
        )
        count, tps, started, levels = connection.execute(sql, [str(out)]).fetchone() or ()
        kinds = {
            row[0]: row[1]
            for row in connection.execute("DESCRIBE FROM read_csv($1)", [str(out)]).fetchall()
        }
    assert (
        count == 8
        and tps == pytest.approx(900, rel=0.02)
        and started.year == 2025
        and json.loads(levels)
    )
    assert (
        kinds["tps"] == "DOUBLE"
        and kinds["threads"] == "BIGINT"
        and kinds["started_utc"].startswith("TIMESTAMP")
    )


def test_parquet_is_read_with_its_types(tmp_path: Path) -> None:
    a_result(tmp_path)
    save(tmp_path, {"bench": [1.0]}, None, 1)
    out = tmp_path / "out.parquet"
    assert export("parquet", "all", out=str(out), results=tmp_path) == 0
    with duckdb.connect() as connection:
        found = connection.execute(
            "SELECT count(*), count(levels) FROM read_parquet($1)", [str(out)]
        ).fetchone()
        kinds = {
            row[0]: row[1]
            for row in connection.execute("DESCRIBE FROM read_parquet($1)", [str(out)]).fetchall()
        }
    assert found == (25, 16)
    assert (kinds["tps"], kinds["levels"], kinds["started_utc"]) == (
        "DOUBLE",
        "MAP(VARCHAR, VARCHAR)",
        "TIMESTAMP",
    )
    assert out.read_bytes()[:4] == out.read_bytes()[-4:] == b"PAR1"


def test_benchstat_gets_one_result_or_all(tmp_path: Path, capsys: Printed) -> None:
    a_result(tmp_path).finish(a_result(tmp_path, days=1).manifest.started_utc)
    export("benchstat", results=tmp_path)
    assert len(parse_benchmark_format(capsys.readouterr().out).results) == 16
    export("benchstat", "all", results=tmp_path)
    assert len(parse_benchmark_format(capsys.readouterr().out).results) == 32


def test_github_action_benchmark_says_which_tool_it_is_for(tmp_path: Path, capsys: Printed) -> None:
    result = a_result(tmp_path)
    export("github-action-benchmark", result.path.name, results=tmp_path)
    printed = capsys.readouterr()
    assert [each["unit"] for each in json.loads(printed.out)] == ["1/s", "1/s"]
    assert "customBiggerIsBetter" in printed.err and "METRIC=latency_p95_ms" in printed.err
    export(
        "github-action-benchmark",
        result.path.name,
        "latency_p99_ms,latency_p95_ms",
        results=tmp_path,
    )
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == 4 and "customSmallerIsBetter" in printed.err


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"format_": None}, "export needs FORMAT="),
        ({"format_": "parket"}, "no format 'parket'"),
        ({"format_": "parquet"}, "parquet needs OUT="),
        (
            {"format_": "parquet", "out": "/nowhere/x.parquet"},
            "OUT=/nowhere/x.parquet cannot be written",
        ),
        ({"format_": "csv", "out": "/nowhere/x.csv"}, "OUT=/nowhere/x.csv cannot be written"),
        ({"format_": "csv", "metric": "tps"}, "METRIC is not valid for this format"),
        ({"format_": "github-action-benchmark", "result": "all"}, "takes one result"),
        (
            {"format_": "github-action-benchmark", "metric": "tps,errors"},
            "not all of tps, errors are better",
        ),
        ({"format_": "github-action-benchmark", "metric": "tsp"}, "no metric 'tsp'"),
    ],
)
def test_export_refuses_in_three_lines(tmp_path: Path, options: dict[str, Any], what: str) -> None:
    result = a_result(tmp_path)
    result.finish(result.manifest.started_utc)
    with pytest.raises(SandboxError) as refused:
        export(**options, results=tmp_path)
    assert what in refused.value.what and refused.value.exit_code == ExitCode.BAD_INPUT
    assert ".tmp" not in " ".join(refused.value.lines())


def test_a_result_without_a_good_run_is_not_exported_empty(tmp_path: Path) -> None:
    result = save(tmp_path, {"bench": [1.0]}, None, status="failed")
    for name in ("benchstat", "github-action-benchmark"):
        with pytest.raises(SandboxError, match="no run was ok"):
            export(name, result.path.name, results=tmp_path)


# perf


def test_perf_measures_records_of_the_real_kind_and_size(tmp_path: Path) -> None:
    result = make_result(tmp_path, 3, 2)
    first, second = result.records()
    assert first.metrics.tps != second.metrics.tps and len(first.to_json()) > 30_000
    assert query("select 1 from runs where tps > 0 having count(*) = 2", results=tmp_path) == 0
