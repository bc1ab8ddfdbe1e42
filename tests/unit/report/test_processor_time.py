"""Processor time per transaction: its table in every view, first where the matrix is about it."""

from typing import Any

from sandbox.report.processor_time import TITLE, processor_data, processor_header, processor_rows
from sandbox.report.summary import summary
from sandbox.report.verdict_table import verdict_lines
from sandbox.results.record import Record
from unit.report.test_verdict_table import judged, part
from unit.results.samples import METRICS, sample_record


def runs(cell: str, **figures: float | None) -> list[Record]:
    """Eight blocks of a cell."""
    metrics = METRICS.model_copy(update={"proxy_cpu_ms_per_tx": None, **figures})
    return [sample_record(cell=cell, block=block, metrics=metrics) for block in range(1, 9)]


def records() -> list[Record]:
    """A cell without proxy, one with."""
    return [*runs("off"), *runs("on", server_cpu_ms_per_tx=1.75, proxy_cpu_ms_per_tx=0.31)]


def test_each_kind_of_node_has_its_figure_and_what_is_not_there_none() -> None:
    assert processor_header(part()) == ["rewriter", "server", "proxy", "client"]
    assert processor_rows(part(), records()) == [["off", "1.512", "", "0.4321"], ["on", "1.75", "0.31", "0.4321"]]
    assert processor_data(part(), records())["off"]["proxy_cpu_ms_per_tx"] is None


def test_a_warm_up_block_and_a_failed_run_do_not_count() -> None:
    bad = runs("on", server_cpu_ms_per_tx=99.0)
    spoilt = [bad[0].model_copy(update={"block": 0}), bad[1].model_copy(update={"status": "failed"})]
    assert processor_rows(part(), [*records(), *spoilt]) == processor_rows(part(), records())


def test_without_figures_there_is_no_table() -> None:
    nothing: dict[str, Any] = dict.fromkeys(("server_cpu_ms_per_tx", "client_cpu_ms_per_tx"))
    assert TITLE not in "\n".join(verdict_lines(part(), judged(0.7), runs("off", **nothing)))


def test_it_stands_first_where_the_matrix_is_about_it() -> None:
    about = part(metrics=["server_cpu_ms_per_tx", "tps", "latency_p95_ms"])
    for metrics, first in ((about, True), (part(), False)):
        for text in ("\n".join(verdict_lines(metrics, judged(0.7), records())),
                     summary(metrics, judged(0.7), records(), ["sandbox", "matrix"])):  # fmt: skip
            assert (text.index(TITLE) < text.index("latency_p95_ms")) is first
