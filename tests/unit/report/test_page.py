"""The page of a matrix and of a bench: everything a reader asks for, nothing that could run or
reach out.
"""

import re
from dataclasses import replace
from html import unescape

from sandbox.record.record import Metrics
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.matrix import bench_figures, matrix_figures
from sandbox.report.document import Document, Medium, charts_of, shown_in
from sandbox.report.matrix import matrix_document
from sandbox.report.render import html
from unit.record.samples import sample_record
from unit.report.made_up import made_up, notes_of, tables_of

COMMAND = ["/x/sandbox", "matrix", "--matrix", "made-up"]


def of_matrix(**changed: object) -> Document:
    part, judged, runs = made_up()
    part = part.model_copy(update=changed)
    return matrix_document(part, judged, runs, matrix_figures(part, judged, runs), COMMAND, "today")


def of_bench(**changed: object) -> Document:
    run = RunData(
        sample_record(**changed),
        {
            "tps": [1.0, 2.0, 3.0],
            "qps": [20.0, 40.0, 60.0],
            "p95_ms": [5.0, 6.0, 5.0],
            "conflicts_per_s": [0, 0, 0],
        },
        {
            "mysql1": {"Com_select": [1.0, 2.0]},
            "replica1": {"Com_select": [0.0, 0.0], "Threads_running": [1, None]},
        },
        {"record": "runs/bench.1/record.json", "log_mysql1": "runs/bench.1/logs/my sql#1.log"},
    )
    return bench_document(
        run, bench_figures(run), ["/x/sandbox", "bench", "--threads", "8"], "today"
    )


def text(document: Document) -> str:
    return unescape(re.sub(r"<[^>]+>", " ", html.page(document)))


def test_the_page_runs_nothing_and_asks_for_nothing() -> None:
    for document in (of_matrix(), of_bench()):
        markup = html.page(document)
        assert "<script" not in markup and not re.search(r"""\bon\w+=["']""", markup)
        outside = re.findall(r"""(?:src|href|url\()\s*=?\s*["']?(\w+:[^"')]*)""", markup)
        assert set(outside) <= {"data:,"}, outside
        assert set(re.findall(r"http[^\"' <]*", markup)) <= {"http://www.w3.org/2000/svg"}


def test_question_answer_and_verdicts_with_what_could_have_been_seen() -> None:
    page = shown_in(of_matrix(), Medium.PAGE)
    assert page.answer.text.startswith("By tps: commits durable is worse at")
    tps, p95 = (tables_of(page)[title] for title in ("throughput (tps)", "latency p95"))
    assert tps.headings[:3] == ["commits", "threads", "workload"] == p95.headings[:3]
    *levels, word, effect, interval, blocks, _, seen, values = tps.texts[0]
    assert (
        levels == ["durable", "1", "oltp_read_write"]
        and word == tps.rows[0].cells[3].look == "worse"
    )
    assert effect.startswith("-3") and "…" in interval and blocks == "8" and seen.endswith("%")
    assert re.fullmatch(r"1\d\d\.?\d? → 1\d\d\.?\d? 1/s", values), values
    assert tps.texts[-1][0] == tps.rows[-1].look == "canary"
    assert any(note.startswith("MDE: ") for note in notes_of(page))


def test_a_long_table_shows_what_differs_and_folds_the_rest() -> None:
    part, judged, runs = made_up()
    many = replace(judged, verdicts=[each for each in judged.verdicts for _ in range(9)])
    document = matrix_document(part, many, runs)
    tps = tables_of(document)["tps"]
    quiet = [row for row in tps.rows if row.quiet]
    assert len(tps.rows) == 91 and quiet and not tps.rows[-1].quiet, "the canary is always shown"
    assert {row.cells[4].look for row in tps.rows[:-1] if not row.quiet} == {"worse"}
    assert f"and {len(quiet)} comparisons that are neither" in text(document)


def test_everything_to_do_it_again() -> None:
    shown = text(of_matrix())
    assert "make matrix MATRIX=made-up SEED=4711" in shown and "seed 4711" in shown
    assert "sha256:" + "0" * 64 in shown and "2 x Test CPU" in shown and "Docker 27.0" in shown
    assert "commits durable against commits relaxed" in shown and "sync_binlog" in shown


def test_every_run_has_its_files_and_a_bad_one_its_reason() -> None:
    part, judged, runs = made_up()
    lost = runs[0].record.model_copy(update={"status": "infra_error", "reason": "mysql1 died <9>"})
    document = matrix_document(part, judged, [replace(runs[0], record=lost), *runs[1:]])
    page = html.page(document)
    assert len(runs) == 168 and len(re.findall(r'/logs/mysql1\.log">mysql1</a>', page)) == 168
    assert f'<a href="{runs[1].files["log_mysql1"]}">mysql1</a>' in page
    assert "mysql1 died &lt;9&gt;" in page and "not ok" in text(document)
    last = notes_of(document)[-1]
    assert last.startswith("1 run infra_error (") and last.endswith("): mysql1 died <9>")


def test_what_a_result_says_cannot_become_markup() -> None:
    page = of_matrix(title="<img src=x onerror=alert(1)>", question="a & b")
    written = html.page(page)
    assert "<img" not in written and "&lt;img" in written and "a &amp; b" in written


def test_a_bench_has_figures_and_no_verdict() -> None:
    page = of_bench()
    shown = text(page)
    assert (
        page.answer.text
        == "1,234.5 transactions per second with 8 threads; 95 % of them within 10.27 ms."
    )
    assert "What throughput does mysql@9.7+replica1 reach under oltp_read_write?" in shown
    assert "not replicates" in shown and "Verdicts" not in shown and "4711" in shown
    first, second, *_ = charts_of(page)
    assert [panel.title for panel in first.panels] == ["transactions", "statements", "latency p95"]
    assert second.legend == ("mysql1", "replica1")
    assert "runs/bench.1/logs/my%20sql%231.log" in html.page(page), "a link is quoted"


def test_a_bench_that_failed_says_why_and_draws_what_there_is() -> None:
    page = of_bench(status="failed", reason="no such table", metrics=Metrics())
    assert page.answer.text == "failed: no such table." and "no such table" in text(page)


def test_a_result_without_series_has_no_charts_and_says_so() -> None:
    run = RunData(sample_record(), {}, {}, {})
    assert "No run recorded data to plot." in text(
        bench_document(run, bench_figures(run), ["sandbox", "bench"])
    )


def test_no_name_in_a_table_breaks_at_a_hyphen() -> None:
    part, judged, runs = made_up()
    named = part.model_copy(
        update={"factors": {**part.factors, "commits": ["relaxed", "not-so-durable"]}}
    )
    cells = [
        (
            cell.model_copy(update={"levels": {**cell.levels, "commits": "not-so-durable"}})
            if cell.levels["commits"] == "durable"
            else cell
        )
        for cell in part.cells
    ]
    page = html.page(matrix_document(named.model_copy(update={"cells": cells}), judged, runs))
    (tables,) = re.findall(r"<main>.*</main>", page, re.DOTALL)
    shown = [
        cell
        for cell in re.findall(r"<td>(.*?)</td>", tables, re.DOTALL)
        if "-so-" in cell or "threads-" in cell
    ]
    assert shown and not re.search(
        r"\w-\w", re.sub(r'<span class="name">[^<]*</span>', "", "".join(shown))
    )
