"""PURE: then and now: what was published about a matrix, next to what was found here."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from sandbox.core.errors import counted
from sandbox.judge.compare import Judged
from sandbox.judge.verdict import StatementFinding, StatementOutcome
from sandbox.record.manifest import MatrixPart, SourcePart, StatementPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Record
from sandbox.report.document import Column, Notes, Part, Row, Table, TableCell
from sandbox.report.text import figure, levels_text, shown, tables_text, varied

TITLE = "Then and now"
_NOTE = (
    "Ratios, orders and shapes are compared, never absolute figures. A statement agrees or"
    " disagrees where the whole interval does."
)
_LOOKS = {"agree": "better", "disagree": "worse", "inconclusive": "too-noisy"}
"""StatementOutcome → how the word of a verdict looks."""


def published_sentence(judged: Judged) -> str:
    """How many of the published statements agree; empty where nothing was published."""
    found = [each.agreement for each in judged.published]
    if not found:
        return ""
    agree = found.count("agree")
    disagree = found.count("disagree")
    unclear = found.count("inconclusive")
    parts = [
        f"{agree} {'agrees' if agree == 1 else 'agree'} here",
        f"{disagree} {'disagrees' if disagree == 1 else 'disagree'}",
        f"{unclear} {'is' if unclear == 1 else 'are'} inconclusive",
    ]
    return f"Of {counted(len(found), 'published statement')} {', '.join(parts)}."


def published_parts(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> Iterator[Part]:
    """The table of all statements, and notes on sources, on what differs here, and on what is
    inconclusive; nothing where nothing was published.
    """
    if not judged.published:
        return
    columns = [
        Column("cells"),
        Column("here", number=True),
        Column("95 % interval", number=True),
        Column("n", number=True),
        Column("outcome", kept=True, look="word"),
    ]
    rows = [row for outcome in judged.published for row in _rows(part, outcome)]
    yield Table(columns, rows, TITLE, _NOTE)
    yield Notes.of([*_source_notes(part, records), *_unclear_notes(part, judged)])


def published_data(judged: Judged) -> list[dict[str, Any]]:
    """The same as JSON data. ``value``, ``low`` and ``high``: of a pair as in the verdicts, of a
    knee its level.
    """
    return [
        {
            "says": each.statement.says,
            "source": each.statement.source,
            "metric": each.statement.metric,
            "then": _then(each.statement),
            "agreement": each.agreement,
            "findings": [_finding_data(each.statement, found) for found in each.findings],
        }
        for each in judged.published
    ]


def _finding_data(statement: StatementPart, found: StatementFinding) -> dict[str, Any]:
    data = asdict(found)
    if statement.knee_at is None:
        metric = METRICS[statement.metric]
        for name in ("value", "low", "high"):
            if data[name] is not None:
                data[name] = metric.shown(data[name])
    return data


def _rows(part: MatrixPart, outcome: StatementOutcome) -> Iterator[Row]:
    """A row for each pair or curve; what was said stands above the first one."""
    statement = outcome.statement
    source = f" ({statement.source})" if statement.source else ""
    mark = f"{statement.says}: {statement.metric} {_then(statement)}{source}"
    for found in outcome.findings:
        here, interval = _here(statement, found)
        yield Row.of(
            [
                _cells(part, statement, found),
                TableCell(here, found.value),
                interval,
                str(found.blocks),
                TableCell(found.agreement, look=_LOOKS[found.agreement]),
            ],
            mark,
        )
        mark = ""


def _cells(part: MatrixPart, statement: StatementPart, found: StatementFinding) -> str:
    """``rewriter on against off, threads 64``; of a curve, its other levels."""
    levels = {cell.name: cell.levels for cell in part.cells}
    first = levels[found.cells[0]]
    if statement.curves:
        others = [factor for factor in varied(part) if factor != statement.over]
        return levels_text(first, others) or f"all {statement.over}"
    other = levels[found.cells[1]]
    differ = [factor for factor in first if first[factor] != other[factor]]
    alike = [factor for factor in varied(part) if factor not in differ]
    pairs = [f"{factor} {first[factor]} against {other[factor]}" for factor in differ]
    return ", ".join(filter(None, (*pairs, levels_text(first, alike))))


def _then(statement: StatementPart) -> str:
    if statement.ratio is not None:
        return f"{' to '.join(map(figure, statement.ratio))} times"
    if statement.order is not None:
        return statement.order
    if statement.knee_at is not None:
        return f"knee at {statement.over} {statement.knee_at:g}"
    return f"flat over {statement.over}"


def _here(statement: StatementPart, found: StatementFinding) -> tuple[str, str]:
    """The figure and its interval as shown; empty where there is none."""

    def text(value: float) -> str:
        if statement.knee_at is not None:
            return f"{value:g}"
        metric = METRICS[statement.metric]
        if metric.scale == "ratio":
            return f"{figure(1 + metric.shown(value), digits=3)} times"
        return shown(metric, value)

    if found.value is None:
        return "", ""
    if found.low is None:
        return text(found.value), ""
    high = "open" if found.high is None else text(found.high)
    low = text(found.low).removesuffix(" times")
    return text(found.value), f"{low} … {high.removesuffix(' times')}"


def _source_notes(part: MatrixPart, records: Sequence[Record]) -> Iterator[str]:
    """Who measured it and on what; then the same of these runs, since that is what differs."""
    for name, source in part.sources.items():
        yield f"{name}: {_source_text(source)}"
    yield f"here: {'; '.join(filter(None, _conditions_here(part, records)))}"


def _source_text(source: SourcePart) -> str:
    title = f'"{source.title}"' if source.title else ""
    head = ", ".join(filter(None, (source.authors, str(source.year), title)))
    facts = (source.versions, source.hardware, source.scale, source.link)
    return "; ".join(filter(None, (head, *facts)))


def _conditions_here(part: MatrixPart, records: Sequence[Record]) -> Iterator[str]:
    """Servers, host and scale."""
    versions: Mapping[str, None] = dict.fromkeys(
        node.server_version for record in records for node in record.nodes if node.server_version
    )
    yield ", ".join(sorted(versions))
    yield part.host_class
    tables = dict.fromkeys(tables_text(record.workload) for record in records)
    yield ", ".join(filter(None, tables))
    yield f"{part.seconds} s a run"


def _unclear_notes(part: MatrixPart, judged: Judged) -> Iterator[str]:
    """Why it is inconclusive, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for outcome in judged.published:
        for found in outcome.findings:
            if found.why:
                cells = _cells(part, outcome.statement, found)
                reasons.setdefault(found.why, []).append(cells)
    for why, places in reasons.items():
        yield f"inconclusive: {'; '.join(dict.fromkeys(places))}: {why}"
