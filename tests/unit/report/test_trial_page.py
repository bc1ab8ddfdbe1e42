"""The pages of a failover matrix and of one trial, as the command writes them, checked as structure
and as text.
"""

import re
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from sandbox.cli.common import reports
from sandbox.record.record import Metrics, Record
from sandbox.record.store import ResultFolder
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.trial import trial_figures
from sandbox.report.document import Medium, shown_in
from sandbox.report.matrix import matrix_document
from sandbox.report.render import html, markdown, terminal
from sandbox.report.trial import single_trial_answer, trial_document
from sandbox.report.trial_matrix import trial_tables
from unit.report.made_up import said_of, tables_of, write_report
from unit.report.made_up_trials import (
    COMMAND,
    SEEN_MS,
    cell_name,
    judged,
    part,
    records,
    runs,
    trial_record,
    with_percentile,
    write_result,
)

VOID = {"meta", "link", "br", "img", "hr", "input"}
SHOWN = {
    "RTO": "2,500 ms (± 10)",
    "RTO, new connections": "2,540 ms (± 50)",
    "new writer seen": "2,000 ms (± 110)",
    "first outage": "2,490 ms",
    "brownout after it": "3,000 ms",
    "redundancy restored": "25,001 ms",
    "largest lag": "340 ms (± 200)",
    "ledger": (
        "1,000 acknowledged, 20 failed, 30 unknown: 2 lost, 0 phantom, 0 duplicate, 5 recovered"
    ),
    "stale reads": "writer 0 of 900; reader 12 of 800, the oldest by 1,340 ms, 2 by more than 1 s",
    "errors during": "writes 2013: 200, 1047: 50; reads 2013: 125",
    "fail": "lost: 2 of 1,000",
    "writers seen": "galera1 (-9.0 s), none (+0.1 s), galera2 (+2.0 s)",
}
"""Row of a trial that lost two writes → its text."""
SINGLE = ["/x/sandbox", "trial", "--fault", "server-crash"]


@pytest.fixture(autouse=True)
def _own_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Nesting(HTMLParser):
    """Raises where an element is closed that was not the last one opened."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.ids += [value for name, value in attrs if name == "id" and value]

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, tag


def checked(page: str) -> str:
    """The text of a page whose elements nest; it runs nothing and reaches nothing."""
    nesting = Nesting()
    nesting.feed(page)
    assert nesting.open == [] and len(nesting.ids) == len(set(nesting.ids))
    assert "<script" not in page and set(re.findall(r"http[^\"' <]*", page)) <= {
        "http://www.w3.org/2000/svg"
    }
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", page)).split())


def matrix(found: list[Record] | None = None) -> str:
    known = records() if found is None else found
    figures = trial_figures(part(), runs(known), {})
    return html.page(matrix_document(part(), judged(known), runs(known), figures, COMMAND, "today"))


def test_a_failover_matrix_shows_every_number_of_its_tables() -> None:
    text = checked(matrix())
    for table in trial_tables(part(), records()):
        assert table.title in text and table.note in text
        for row in table.texts:
            assert " ".join(" ".join(row).split()) in text, row


def test_the_answer_stands_on_top() -> None:
    text = checked(matrix())
    assert text.index("Writes were back first at topology galera") < text.index(
        "Outage of writes, ms"
    )
    assert "3 acknowledged writes were lost, in 1 of 90 trials" in text


def test_a_verdict_has_the_log_rank_p_and_medians_in_place_of_pseudo_medians() -> None:
    found = matrix_document(part(), judged(), runs(), [], COMMAND, "today")
    tables = tables_of(shown_in(found, Medium.PAGE))
    headings = [
        "verdict",
        "effect",
        "95 % interval",
        "n",
        "adj. p",
        "MDE",
        "log-rank p",
        "baseline → this",
    ]
    rto, errors = tables["RTO"], tables["write errors"]
    assert rto.headings == ["topology", "proxy", "fault", *headings]
    row = next(
        each
        for each in rto.rows
        if [cell.text for cell in each.cells[:3]] == ["gr", "haproxy", "host-loss"]
    )
    assert row.cells[-1].text == "10,950 → ≥ 60,000 ms" and row.cells[3].look == "worse"
    assert (row.cells[3].text, row.cells[-2].text) == ("worse (8 + 2 open)", "0.024")
    text = next(each for each in errors.texts if each[:3] == ["galera", "haproxy", "server-crash"])
    assert text[-1] == "1,065 → 360 1/run" and "the log-rank test decides" in checked(
        html.page(found)
    )


def test_an_open_percentile_is_at_least_in_the_verdicts_too() -> None:
    cell, base = (cell_name("gr", proxy, "host-loss") for proxy in ("haproxy", "direct"))
    found = [with_percentile(name, block, ms, ms > 2_000)
             for name, ms in ((base, 10.0), (cell, 2_006.0)) for block in range(1, 11)]  # fmt: skip
    plan = part(metrics=["latency_p95_ms"])
    rows = tables_of(said_of(plan, judged(found, plan), found))["latency_p95_ms"].texts
    assert next(each[-1] for each in rows if "not run" not in each) == "10 → ≥ 2,006 ms"


def test_without_open_trials_there_is_no_column_for_the_test() -> None:
    closed = [each for each in records() if each.metrics.rto_ms != SEEN_MS]
    assert "log-rank p" not in matrix(closed) and "by the log-rank test" in matrix(closed), (
        "how it would have been"
    )


def test_charts_of_a_row_of_their_own_span_the_page() -> None:
    page = matrix()
    assert '<div class="broad" style="max-width:' in page and ".panels > div.broad" in page
    assert 'id="heat-map"' in page and 'id="trials-rto_ms"' in page


def test_every_trial_is_listed_with_its_rto_and_its_losses() -> None:
    page = matrix()
    assert (
        '<th class="number">RTO ms</th><th class="number">lost</th>' in page
        and ">tps</th>" not in page
    )
    name = cell_name("galera", "haproxy", "host-loss")
    rto = next(each.metrics.rto_ms for each in records() if (each.cell, each.block) == (name, 4))
    assert (
        f'<td class="number">4</td><td class="ok">ok</td><td class="number">{rto:,.0f}</td><td'
        ' class="number">3</td>' in page
    )


def test_the_command_draws_the_median_trials_of_the_worst_cells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = write_result(tmp_path)
    page = write_report(result)[0].read_text()
    text = checked(page)
    assert "median trials of the cells that were out longest, in time" in text
    assert len(re.findall(r"topology-\w+\.proxy-\w+\.fault-[\w-]+\.\d+: RTO", text)) == 8
    assert f"{cell_name('gr', 'haproxy', 'host-loss')}.5: RTO at least 60,000 ms" in text
    assert (result.path / "summary.md").read_text().startswith("# Failover, made up\n")
    assert capsys.readouterr().err == ""


def test_a_log_that_is_gone_or_broken_is_noted_and_the_rest_is_drawn(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = write_result(tmp_path)
    gone, broken = (
        result.path / "runs" / f"{cell_name('gr', proxy, 'host-loss')}.{block}" / "probe.log"
        for proxy, block in (("haproxy", 5), ("direct", median_block("direct")))
    )
    gone.unlink()
    broken.write_text("no header\n")
    text = checked(write_report(result)[0].read_text())
    assert len(re.findall(r"fault-[\w-]+\.\d+: RTO", text)) == 6
    notes = capsys.readouterr().err.splitlines()
    assert (
        len(notes) == 2
        and all("not drawn in time" in note for note in notes)
        and "header" in notes[1]
    )


def median_block(proxy: str) -> int:
    """Of the trials at topology gr and host-loss."""
    own = [each for each in records() if each.cell == cell_name("gr", proxy, "host-loss")]
    return sorted(own, key=lambda each: each.metrics.rto_ms or 0)[4].block


def test_a_fault_is_no_unsteadiness(tmp_path: Path) -> None:
    """A load that stops for the outage would be a step in every run; a trial is not judged by
    it.
    """
    result = write_result(tmp_path)
    series = "phase,second,tps\n" + "".join(
        f"measure,{s},{0.0 if 20 < s < 30 else 100.0}\n" for s in range(1, 61)
    )
    for record in result.records():
        changed = record.model_copy(update={"files": {**record.files, "series": "seconds.csv"}})
        (result.run_path(record) / "seconds.csv").write_text(series)
        (result.run_path(record) / "record.json").write_text(changed.to_json())
    found = reports.read_runs(result)
    plan = result.manifest.matrix
    assert plan and found[0].seconds["tps"] and not reports.judge(result, plan, found).unsteady


def single(tmp_path: Path, record: Record) -> ResultFolder:
    return write_result(tmp_path, [record])


def test_one_trial_has_a_page_of_its_own(tmp_path: Path) -> None:
    page, summary = (
        path.read_text() for path in write_report(single(tmp_path, trial_record(lost=2)))
    )
    text = checked(page)
    assert "server-crash of writer on galera3+haproxy through writer" in text
    assert (
        "Writes were back after 2,500 ms (± 10). 2 of 1,000 acknowledged writes were lost." in text
    )
    assert "How long are writes out on galera3+haproxy, and is anything acknowledged lost?" in text
    assert (
        "the trial in time" in text and "trial.1: RTO 2,500 ms" in text and "Verdicts" not in text
    )
    for name, value in SHOWN.items():
        assert f"{name} {value}" in text, name
        assert f"| {name} | {value} |" in summary, name
    assert "make trial FAULT=server-crash SEED=4711" in text and "One trial has no interval" in text


def test_no_lag_is_drawn_where_none_was_measured(tmp_path: Path) -> None:
    record = trial_record()
    assert record.trial and record.trial.figures
    figures = record.trial.figures.model_copy(update={"lag": {}})
    undated = record.model_copy(
        update={"trial": record.trial.model_copy(update={"figures": figures})}
    )
    for each, nodes in ((record, {"galera1", "galera2"}), (undated, set[str]())):
        (series,) = reports.trial_series(single(tmp_path / str(len(nodes)), each), [each]).values()
        assert series.lag_ms.keys() == nodes and series.acked


def test_a_trial_that_was_still_out_says_so_everywhere() -> None:
    record = trial_record(rto_ms=SEEN_MS, still_out=True)
    assert single_trial_answer(record).startswith(
        "Writes were not back within 60,000 ms. None of 1,000 "
    )
    assert "at least 60,000 ms (still open at the end)" in terminal.text(
        trial_document(RunData(record))
    )
    assert re.search(
        r"redundancy restored +at least 60,000 ms", terminal.text(trial_document(RunData(record)))
    )


def test_a_trial_without_an_outage_or_without_a_ledger() -> None:
    assert single_trial_answer(trial_record(rto_ms=0.0)).startswith(
        "Writes had no outage above 50 ms. "
    )
    assert single_trial_answer(trial_record(lost=None)).endswith(
        "Whether acknowledged writes were lost is unknown."
    )
    nothing = trial_record(metrics=Metrics())
    assert single_trial_answer(nothing).startswith("Whether writes were out is unknown.")


def test_a_trial_that_failed_says_why() -> None:
    record = trial_record(status="infra_error", reason="the host is too busy")
    assert single_trial_answer(record) == "infra_error: the host is too busy."
    assert "infra_error: the host is too busy." in checked(
        html.page(trial_document(runs([record])[0], [], SINGLE))
    )


def test_the_summary_of_a_trial_is_markdown() -> None:
    text = markdown.text(trial_document(RunData(trial_record()), command=SINGLE))
    assert text.startswith("# server-crash of writer on galera3+haproxy through writer\n")
    assert (
        "```sh\nmake up NAME=default PROFILE=galera3+haproxy\nmake trial FAULT=server-crash"
        " SEED=4711\n```" in text
    )
