"""Then and now: what was published next to what was found, in every rendering and as data."""

import json
from typing import Any

from sandbox.judge.compare import Judged, judge_result
from sandbox.judge.published import outcomes_of
from sandbox.record.manifest import MatrixPart, SourcePart, StatementPart
from sandbox.report.document import Document
from sandbox.report.matrix import matrix_document
from sandbox.report.verdicts import verdict_data
from unit.judge.test_compare import result
from unit.report.made_up import notes_of, tables_of
from unit.report.test_verdicts import part

SOURCE = SourcePart(
    authors="Some Body",
    year=2016,
    title="It costs half",
    link="https://example.org/half",
    versions="MySQL 5.7.12",
    hardware="56 processors",
)


def said(says: str, **more: Any) -> StatementPart:
    """A statement of the source."""
    return StatementPart(says=says, metric="tps", source="somebody-2016", **more)


STATEMENTS = [
    said("With it, half as fast", pairs=[("on", "off")], ratio=(0.4, 0.8)),
    said("It costs nothing", pairs=[("on", "off")], order="alike"),
    said("A knee", curves=[["off", "on"]], over="threads", knee_at=100),
]


def published_part() -> MatrixPart:
    """A matrix with three statements."""
    cells = [
        each.model_copy(update={"levels": {**each.levels, "threads": "1"}}) for each in part().cells
    ]
    return part(cells=cells, sources={"somebody-2016": SOURCE}, published=STATEMENTS)


def published_judged(of: MatrixPart) -> Judged:
    """Runs in which one cell does 0.7 times what the other does, and none has a block of all."""
    runs = result({"off": 1, "on": 0.7, "canary": 1})
    judged = judge_result(runs, [("on", "off")], ("canary", "off"), ["tps"], {})
    found = outcomes_of(of, runs, {})
    without = outcomes_of(of, [each for each in runs if each.cell != "on"], {})
    return Judged(
        judged.verdicts,
        judged.canary,
        judged.noise,
        judged.unfit,
        published=[*found[:2], *without[2:]],
    )


def published_document() -> Document:
    """What is said about it."""
    of = published_part()
    return matrix_document(of, published_judged(of), [], command=["sandbox", "matrix"])


def test_a_row_for_each_pair_with_what_was_said_above_it() -> None:
    table = tables_of(published_document())["Then and now"]
    assert [row.mark for row in table.rows] == [
        "With it, half as fast: tps 0.4 to 0.8 times (somebody-2016)",
        "It costs nothing: tps alike (somebody-2016)",
        "A knee: tps knee at threads 100 (somebody-2016)",
    ]
    first, second, third = table.texts
    assert first[:2] == ["rewriter on against off", "0.709 times"] and first[-1] == "agree"
    assert second[-1] == "disagree"
    assert third == ["rewriter off", "", "", "0", "inconclusive"]


def test_what_differs_from_then_is_said() -> None:
    notes = notes_of(published_document())
    assert (
        'somebody-2016: Some Body, 2016, "It costs half"; MySQL 5.7.12; 56 processors;'
        " https://example.org/half"
    ) in notes
    assert "here: here; 5 s a run" in notes


def test_as_data() -> None:
    of = published_part()
    data = json.loads(json.dumps(verdict_data(of, published_judged(of))))["published"]
    assert [each["agreement"] for each in data] == ["agree", "disagree", "inconclusive"]
    (finding,) = data[0]["findings"]
    assert finding["low"] < finding["value"] < finding["high"] < 0, "shares of the baseline"


def test_nothing_is_said_where_nothing_was_published() -> None:
    of = part()
    document = matrix_document(of, published_judged(of), [])
    assert "Then and now" not in tables_of(document)
