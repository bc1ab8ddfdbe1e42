"""The page of a matrix and of a bench: everything a reader asks for, nothing that could run or reach out."""

import re
from dataclasses import replace
from html import unescape

from sandbox.record.record import Metrics
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.matrix import bench_figures, matrix_figures
from sandbox.report.page import Page, bench_page, html, matrix_page
from unit.record.samples import sample_record
from unit.report.made_up import made_up

COMMAND = ["/x/sandbox", "matrix", "--matrix", "made-up"]


def of_matrix(**changed: object) -> Page:
    part, judged, runs = made_up()
    part = part.model_copy(update=changed)
    return matrix_page(part, judged, runs, matrix_figures(part, judged, runs), COMMAND, "today")


def of_bench(**changed: object) -> Page:
    run = RunData(
        sample_record(**changed),
        {"tps": [1.0, 2.0, 3.0], "qps": [20.0, 40.0, 60.0], "p95_ms": [5.0, 6.0, 5.0], "conflicts_per_s": [0, 0, 0]},
        {"mysql1": {"Com_select": [1.0, 2.0]}, "replica1": {"Com_select": [0.0, 0.0], "Threads_running": [1, None]}},
        {"record": "runs/bench.1/record.json", "log_mysql1": "runs/bench.1/logs/my sql#1.log"},
    )
    return bench_page(run, bench_figures(run), ["/x/sandbox", "bench", "--threads", "8"], "today")


def text(page: Page) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html(page)))


def test_the_page_runs_nothing_and_asks_for_nothing() -> None:
    for page in (of_matrix(), of_bench()):
        written = html(page)
        assert "<script" not in written and not re.search(r"""\bon\w+=["']""", written)
        outside = re.findall(r"""(?:src|href|url\()\s*=?\s*["']?(\w+:[^"')]*)""", written)
        assert set(outside) <= {"data:,"}, outside
        assert set(re.findall(r"http[^\"' <]*", written)) <= {"http://www.w3.org/2000/svg"}


def test_question_answer_and_verdicts_with_what_could_have_been_seen() -> None:
    page = of_matrix()
    assert page.answer.startswith("By tps: commits durable is worse at")
    (tps, p95) = page.tables
    assert tps.factors == ["commits", "threads", "workload"] and p95.metric == "latency p95"
    row = tps.rows[0]
    assert row["levels"] == ["durable", "1", "oltp_read_write"] and row["word"] == "worse"
    effect, interval, blocks, _, seen, word = row["figures"]
    assert effect.startswith("-3") and "…" in interval and blocks == "8" and seen.endswith("%") and word == "worse"
    assert re.fullmatch(r"1\d\d\.?\d? → 1\d\d\.?\d? 1/s", row["values"]), row["values"]
    assert tps.rows[-1]["levels"][0] == "canary"
    assert any(note.startswith("MDE: ") for note in page.notes)


def test_a_long_table_shows_what_differs_and_folds_the_rest() -> None:
    part, judged, runs = made_up()
    many = replace(judged, verdicts=[each for each in judged.verdicts for _ in range(9)])
    (tps, _) = matrix_page(part, many, runs, [], COMMAND, "").tables
    assert {row["word"] for row in tps.rows[:-1]} == {"worse"} and len(tps.folded) + len(tps.rows) - 1 == 90
    assert f"and {len(tps.folded)} comparisons that are neither" in text(matrix_page(part, many, runs, [], COMMAND, ""))


def test_everything_to_do_it_again() -> None:
    shown = text(of_matrix())
    assert "make matrix MATRIX=made-up SEED=4711" in shown and "seed 4711" in shown
    assert "sha256:" + "0" * 64 in shown and "2 x Test CPU" in shown and "Docker 27.0" in shown
    assert "commits durable against commits relaxed" in shown and "sync_binlog" in shown


def test_every_run_has_its_files_and_a_bad_one_its_reason() -> None:
    part, judged, runs = made_up()
    lost = runs[0].record.model_copy(update={"status": "infra_error", "reason": "mysql1 died <9>"})
    page = matrix_page(part, judged, [replace(runs[0], record=lost), *runs[1:]], [], COMMAND, "")
    assert len(page.runs) == 168 and len(re.findall(r'/logs/mysql1\.log">mysql1</a>', html(page))) == 168
    assert f'<a href="{page.runs[1].files["log_mysql1"]}">mysql1</a>' in html(page)
    assert "mysql1 died &lt;9&gt;" in html(page) and "not ok" in text(page)
    assert page.notes[-2].startswith("1 run infra_error (") and page.notes[-2].endswith("): mysql1 died <9>")


def test_what_a_result_says_cannot_become_markup() -> None:
    page = of_matrix(title="<img src=x onerror=alert(1)>", question="a & b")
    assert "<img" not in html(page) and "&lt;img" in html(page) and "a &amp; b" in html(page)


def test_a_bench_has_figures_and_no_verdict() -> None:
    page = of_bench()
    shown = text(page)
    assert page.answer == "1,234.5 transactions per second with 8 threads; 95 % of them within 10.27 ms."
    assert "What throughput does mysql@9.7+replica1 reach under oltp_read_write?" in shown
    assert "not replicates" in shown and "Verdicts" not in shown and "4711" in shown
    assert [panel.title for panel in page.figures[0].panels] == ["transactions", "statements", "latency p95"]
    assert page.figures[1].legend == ("mysql1", "replica1")
    assert "runs/bench.1/logs/my%20sql%231.log" in html(page), "a link is quoted"


def test_a_bench_that_failed_says_why_and_draws_what_there_is() -> None:
    page = of_bench(status="failed", reason="no such table", metrics=Metrics())
    assert page.answer == "failed: no such table." and "no such table" in text(page)


def test_a_result_without_series_has_no_charts_and_says_so() -> None:
    run = RunData(sample_record(), {}, {}, {})
    assert "No run recorded data to plot." in text(bench_page(run, bench_figures(run), ["sandbox", "bench"], ""))


def test_no_name_in_a_table_breaks_at_a_hyphen() -> None:
    part, judged, runs = made_up()
    named = part.model_copy(update={"factors": {**part.factors, "commits": ["relaxed", "not-so-durable"]}})
    cells = [
        cell.model_copy(update={"levels": {**cell.levels, "commits": "not-so-durable"}})
        if cell.levels["commits"] == "durable"
        else cell
        for cell in part.cells
    ]
    page = matrix_page(named.model_copy(update={"cells": cells}), judged, runs, [], COMMAND, "")
    (tables,) = re.findall(r"<main>.*</main>", html(page), re.DOTALL)
    shown = [cell for cell in re.findall(r"<td>(.*?)</td>", tables, re.DOTALL) if "-so-" in cell or "threads-" in cell]
    assert shown and not re.search(r"\w-\w", re.sub(r'<span class="name">[^<]*</span>', "", "".join(shown)))
