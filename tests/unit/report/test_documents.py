"""Every kind of document in a terminal, as Markdown, as a page and as JSON: no figure is lost on
the way to any.
"""

import json
import re
from collections.abc import Iterator
from html import unescape

import pytest

from sandbox.profile.images import Availability
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.record.manifest import RepeatsPart
from sandbox.report.bench import bench_document
from sandbox.report.charts.layout import RunData
from sandbox.report.document import Document, FactList, Medium, Notes, Said, Table, shown_in
from sandbox.report.matrix import matrix_document
from sandbox.report.matrix_notes import calibration_document
from sandbox.report.matrix_plan import matrix_plan_document
from sandbox.report.over_time import history_document
from sandbox.report.plan import plan_document
from sandbox.report.render import html, markdown, terminal
from sandbox.report.render import json as json_data
from sandbox.report.repeats import repeats_document
from sandbox.report.repro import repro_document, search_document
from sandbox.report.smoke import smoke_document
from sandbox.report.terms import terms_document
from sandbox.report.text import WIDTH
from sandbox.report.trial import trial_document
from sandbox.report.upgrade import upgrade_document
from unit.record.samples import sample_record
from unit.report.made_up import made_up, said_of
from unit.report.made_up_repros import repro_record
from unit.report.made_up_trials import SEEN_MS, repeated, trial_record, trial_side
from unit.report.made_up_trials import judged as judged_trials
from unit.report.made_up_trials import part as trial_part
from unit.report.made_up_trials import records as trial_records
from unit.report.made_up_upgrades import upgrade_run
from unit.report.test_comparison import a_side, compared_sides, history
from unit.report.test_matrix_plan import resolved_and_expected, selection
from unit.report.test_published import published_document
from unit.report.test_smoke import SAMPLES


def of_plan() -> Document:
    request = PlanRequest(
        "pxc3@8.4+replica1+proxysql", assignments=("sort_buffer_size=1M",), cpus="2", memory="2g"
    )
    return plan_document(make_plan(request, load_library(), Availability(registry=lambda: True)))


def of_repeats() -> Document:
    runs = [RunData(record) for record in repeated(7, lost_in=[7])]
    part = RepeatsPart(count=12, fresh=False, until="lost-member", end="came", reason="it came")
    return repeats_document(runs, part, command=["sandbox", "trial"])


def of_bench() -> Document:
    return bench_document(
        RunData(sample_record(), files={"record": "record.json"}), command=["sandbox", "bench"]
    )


def of_trial() -> Document:
    return trial_document(RunData(trial_record(lost=2)), command=["sandbox", "trial"], when="today")


def of_comparison() -> Document:
    return compared_sides(
        a_side(900, 1, name="old", tool_commit="aaa"), a_side(600, 11, name="new", tool_commit="b")
    )


def of_open_trials() -> Document:
    return compared_sides(
        trial_side("a", [2e3 + block for block in range(10)]), trial_side("b", [SEEN_MS] * 10)
    )


def of_history() -> Document:
    return history_document(history([1000] * 5 + [700] * 5))


def of_matrix() -> Document:
    part, judged, runs = made_up()
    return matrix_document(part, judged, runs, command=["sandbox", "matrix"], when="today")


def of_published() -> Document:
    return published_document()


def of_failover() -> Document:
    return said_of(trial_part(), judged_trials(), trial_records(), ["sandbox", "matrix"])


def of_smoke() -> Document:
    return smoke_document(SAMPLES["worse"])


def of_repro() -> Document:
    records = [
        repro_record("reproduced"),
        repro_record("fixed", version="8.4.11", expected="bug"),
        repro_record("neither", version="5.7.44", expected=None),
    ]
    return repro_document([RunData(record) for record in records], ["sandbox", "repro"], "today")


def of_bisection() -> Document:
    runs = [RunData(repro_record("fixed", version="8.4.10")), RunData(repro_record())]
    answer = "The bug is in 9.7.4, and not in 8.4.10."
    return search_document(runs, answer, ["release notes: https://example.org/news-9-7-4.html"])


def of_upgrade() -> Document:
    return upgrade_document(RunData(upgrade_run()), ["sandbox", "upgrade-check"], "today")


def of_matrix_plan() -> Document:
    return matrix_plan_document(*resolved_and_expected(selection("threads=1,16")))


def of_calibration() -> Document:
    return calibration_document("2 cores, oltp, 5 s", 24, {"tps": 0.04, "latency_p95_ms": 0.06})


def of_terms() -> Document:
    return terms_document(load_library())


KINDS = {
    "plan of a matrix": of_matrix_plan,
    "calibration": of_calibration,
    "terms": of_terms,
    "matrix": of_matrix,
    "matrix of trials": of_failover,
    "then and now": of_published,
    "smoke": of_smoke,
    "plan": of_plan,
    "bench": of_bench,
    "trial": of_trial,
    "repeated trials": of_repeats,
    "comparison": of_comparison,
    "comparison of trials": of_open_trials,
    "history": of_history,
    "repro": of_repro,
    "bisection": of_bisection,
    "upgrade": of_upgrade,
}
ASKED = {
    "repeated trials": [
        "lost-member came in trial 7: a rate of 0.361 … 45.9 %",
        "1 of 7",
        "14.3 %",
        "2,300",
        "2,000 … 2,600",
        "galera2 is evicted: Inconsistent by consensus",
    ],
    "repro": [
        "An ALTER waits",
        "Does it wait?",
        "9.7.4",
        "expected: the bug",
        "1 of 1",
        "3–100 %",
        "0.52",
        "5.7.44: step 3 (s1: select v from t): error 1064",
    ],
    "bisection": [
        "The bug is in 9.7.4, and not in 8.4.10.",
        "release notes: https://example.org/news-9-7-4.html",
    ],
    "upgrade": [
        "2 differences matter from mariadb@10.11 to mariadb@11.8: error 1020 (1), other rows (1).",
        "rows before",
        "where street = 'Hauptstrasse'",
        "transactions",
        "old_thing is gone, and named by the log; instead: new_thing",
        "the replica has applied everything, 0.25 s after the end of the load",
        "120, of 31 kinds",
    ],
    "plan of a matrix": ["[off], on", "variant2", "40 runs of 2 + 10 s", "left out: threads 64"],
    "calibration": ["0.040", "24 pairs", "6.6%"],
    "terms": ["pxc3@8.4+proxysql+threadpool", "adjustable-clock", "also percona"],
    "matrix": [
        "commits durable is worse at",
        "adj. p",
        "not calibrated",
        "smallest difference that counts",
    ],
    "then and now": [
        "Of 3 published statements 1 agrees here, 1 disagrees, 1 is inconclusive.",
        "With it, half as fast: tps 0.4 to 0.8 times (somebody-2016)",
        "rewriter on against off",
        "0.709 times",
        "somebody-2016: Some Body, 2016",
        "MySQL 5.7.12",
        "inconclusive: rewriter off: no block has every level",
    ],
    "matrix of trials": [
        "4,100 … open",
        "≥ 60,000",
        "worse (8 + 2 open)",
        "0.024",
        "120 of 8,000",
        "3 acknowledged",
    ],
    "smoke": [
        "1.497 ms",
        "2.728 ms",
        "+82.3%",
        "+81.5% … +83.1%",
        "994.8 1/s",
        "4.8%",
        "informational",
        "72477573",
    ],
    "plan": [
        "8.4.10-10.1",
        "CPUS 2, MEMORY 2g",
        "MiB in 6 containers",
        "sort_buffer_size=1M",
        "rw:6033",
    ],
    "bench": [
        "1,234.5",
        "p95 10.27",
        "158 (1213: 150, other: 8)",
        "740,990 statements",
        "server 1.512",
    ],
    "comparison": [
        "902.6",
        "598.2",
        "-34.0%",
        "-34.6% … -33.2%",
        "8+8",
        "worse",
        "(sees 1.5%)",
        "aaa → b",
    ],
    "comparison of trials": ["at least +57,996 ms", "+57,993 ms … open", "worse (0+10 open)"],
    "history": [
        "999.5",
        "991.5 … 1007",
        "worse from here on: -30.2% (p < 0.001)",
        "699.7",
        "2025-02-05 12:00",
    ],
    "trial": ["2,500 ms (± 10)", "1,000 acknowledged", "2 lost"],
}
"""What a reader of each kind looks for, whatever it is read in."""


def texts(document: Document) -> Iterator[str]:
    """Everything that a document shows, word for word."""
    for said in (
        document.title,
        document.status,
        document.question,
        document.answer,
        *document.about,
    ):
        yield said.text
    for section in document.sections:
        for part in section.parts:
            match part:
                case Said():
                    yield part.text
                case Table():
                    yield from (part.title, part.note, *(row.mark for row in part.rows))
                    yield from (
                        cell.text for row in part.rows for cell in row.cells if not cell.links
                    )
                case FactList():
                    yield from (
                        text
                        for fact in part.rows
                        if not fact.links
                        for text in (fact.name, fact.text)
                    )
                case Notes():
                    yield from (part.title, *(each.text for each in part.items))


def plain(text: str) -> str:
    """The words of a text, without what any language puts between them."""
    return " ".join(text.replace("\\|", "|").split())


def of_page(document: Document) -> str:
    return unescape(
        re.sub(r"<[^>]+>", lambda tag: "" if "span" in tag[0] else " ", html.page(document))
    )


RENDERED = {
    Medium.TERMINAL: terminal.text,
    Medium.MARKDOWN: markdown.text,
    Medium.PAGE: of_page,
}


@pytest.mark.parametrize("medium", RENDERED, ids=lambda medium: medium.name)
@pytest.mark.parametrize("kind", KINDS)
def test_everything_that_is_said_is_shown(kind: str, medium: Medium) -> None:
    document = KINDS[kind]()
    shown = plain(RENDERED[medium](document))
    missing = [text for text in texts(shown_in(document, medium)) if plain(text) not in shown]
    assert not missing, missing[:5]
    assert all(figure in shown for figure in ASKED[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_the_data_has_everything(kind: str) -> None:
    document = KINDS[kind]()
    written = json.dumps(json_data.data(document), ensure_ascii=False)
    missing = [
        text
        for text in texts(document)
        if json.dumps(text, ensure_ascii=False)[1:-1] not in written
    ]
    assert not missing, missing[:5]


def values(data: object) -> Iterator[float]:
    """Every number behind a text, wherever it is."""
    if isinstance(data, dict):
        if isinstance(number := data.get("value"), int | float):
            yield number
        data = list(data.values())
    if isinstance(data, list):
        for each in data:
            yield from values(each)


@pytest.mark.parametrize(
    ("kind", "number"),
    [
        ("plan", 8412),
        ("bench", 1234.5),
        ("trial", 2500.0),
        ("comparison", 902.6),
        ("history", 699.7),
        ("smoke", 994.8),
    ],
)
def test_the_data_has_the_numbers_behind_the_texts(kind: str, number: float) -> None:
    found = list(values(json_data.data(KINDS[kind]())))
    assert any(round(each, 1) == number for each in found), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_terminal_shows_no_line_wider_than_the_limit(kind: str) -> None:
    lines = terminal.lines(KINDS[kind]())
    assert max(map(len, lines)) <= WIDTH and lines[-1] and "" not in (lines[0], lines[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_colour_changes_no_text(kind: str) -> None:
    document = KINDS[kind]()
    coloured = "\n".join(terminal.lines(document, colour=True))
    parts = [
        part for section in shown_in(document, Medium.TERMINAL).sections for part in section.parts
    ]
    assert ("\x1b[1m" in coloured) == any(isinstance(part, FactList) for part in parts)
    assert re.sub(r"\x1b\[\d+m", "", coloured).split("\n") == terminal.lines(document)
