"""PURE: what is said about repros: a row for each version, what was seen, the steps."""

import sys
from collections.abc import Sequence
from dataclasses import replace

from sandbox.core.errors import counted
from sandbox.judge.repros import ReproChange, ReproRow, rows_of
from sandbox.record.record import Record
from sandbox.record.repro import ReproRecord, StepRecord
from sandbox.report.charts.layout import RunData
from sandbox.report.document import (
    Column,
    Document,
    Fact,
    FactList,
    Medium,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.result import (
    again_section,
    environment_rows,
    machine_section,
    node_rows,
)
from sandbox.report.text import UNKNOWN, make_command

_LOOKS = {"reproduced": "worse", "fixed": "better", "neither": "unclear", "unknown": "unclear"}
_RATE_NOTE = "The interval of the rate is exact (Clopper and Pearson), 95 %."


def repro_document(
    runs: Sequence[RunData], command: Sequence[str] = (), when: str = ""
) -> Document:
    """Repros in some versions. ``command``: as typed; ``when``: start and end, as text."""
    records = [run.record for run in runs]
    rows = rows_of(records)
    known = [record.repro for record in records if record.repro is not None]
    names = list(dict.fromkeys(row.repro for row in rows))
    first = known[0] if known else None
    alone = len(names) == 1 and first is not None
    title = first.title if alone and first else counted(len(names), "repro")
    sections = [Section(_parts(rows, several=len(names) > 1))]
    sections += [_steps_section(record, heading) for heading, record in _telling(records).items()]
    if records and records[-1].nodes:
        last = records[-1]
        machine = [row for row in environment_rows(records) if row[1] != UNKNOWN]
        sections.append(machine_section(machine, node_rows(last, last.stack)))
        if alone:
            sections.append(again_section("How to reproduce it", [make_command(command, {})]))
    return Document(
        Said(title),
        sections,
        Said(first.question if alone and first else "", Medium.EVERYWHERE),
        Said(_answer(rows) if alone else "", Medium.PAPER),
        about=[Said(when, Medium.PAGE, "faint")],
    )


def search_document(
    runs: Sequence[RunData],
    answer: str,
    notes: Sequence[str] = (),
    command: Sequence[str] = (),
    when: str = "",
) -> Document:
    """A search that has ended: over versions, settings, commits, or for what can be left out.
    ``notes``: what belongs to its answer.
    """
    whole = repro_document(runs, command, when)
    first, *others = whole.sections
    said = [Notes([Said(each) for each in notes])] if notes else []
    found = Section([Said(answer, Medium.TERMINAL), *said, *first.parts])
    return replace(whole, sections=[found, *others], answer=Said(answer, Medium.PAPER))


_CHANGE_LOOKS = {
    "came": "worse", "more often": "worse", "gone": "better", "less often": "better",
    "unclear": "unclear",
}  # fmt: skip


def compared_document(first: str, second: str, changes: Sequence[ReproChange]) -> Document:
    """Repros in two results, ``first`` the earlier one: what has become of each bug."""
    columns = [Column("repro"), Column("A"), Column("B"), Column("the bug")]
    rows = []
    for each in changes:
        cells: list[str | TableCell] = [each.cell]
        cells += [_short_cell(row) if row else "" for row in (each.before, each.after)]
        rows.append(Row.of([*cells, TableCell(each.word, look=_CHANGE_LOOKS.get(each.word, ""))]))
    sides = FactList([Fact("A", first), Fact("B", second)])
    note = "Rates between which Fisher's exact test sees no difference at 1 % count as one."
    section = Section([sides, Table(columns, rows), Notes([Said(note, look="faint")])])
    return Document(Said(f"{second} against {first}", Medium.PAPER), [section])


def _answer(rows: Sequence[ReproRow]) -> str:
    """``Reproduced in 10.5.23; fixed in 10.11.19 and 11.8.9.``"""
    said = []
    for verdict in ("reproduced", "fixed", "neither", "unknown"):
        found = [row.version or row.cell for row in rows if row.verdict == verdict]
        if found:
            said.append(f"{verdict} in {', '.join(dict.fromkeys(found))}")
    text = "; ".join(said)
    return f"{text[:1].upper()}{text[1:]}." if text else "Nothing was carried out."


def _parts(rows: Sequence[ReproRow], several: bool) -> list[Part]:
    """Of several repros a terminal has the overview, and what is not as expected."""
    note = Said(_RATE_NOTE, Medium.PAPER, "faint")
    if not several:
        return [_table(rows), note, _seen(rows)]
    whole: list[Part] = [_table(rows, Medium.PAPER), note, _seen(rows, Medium.PAPER)]
    return [_overview(rows), _surprises(rows), *whole]


def _overview(rows: Sequence[ReproRow]) -> Table:
    """A row a repro, a column a version: where the bug is."""
    versions = sorted({row.version or "not started" for row in rows}, key=_order)
    found = {(row.repro, row.version or "not started"): row for row in rows}
    made = []
    for name in dict.fromkeys(row.repro for row in rows):
        cells: list[str | TableCell] = [name]
        for version in versions:
            row = found.get((name, version))
            cells.append(_short_cell(row) if row else "")
        made.append(Row.of(cells))
    return Table([Column("repro"), *(Column(version) for version in versions)], made)


def _order(version: str) -> list[int]:
    """The numbers of a version; what is none comes last."""
    numbers = [int(part) for part in version.split(".") if part.isdecimal()]
    return numbers or [sys.maxsize]


def _short_cell(row: ReproRow) -> TableCell:
    rate = f" {row.count}/{row.judged}" if row.judged > 1 else ""
    wrong = " !" if row.is_as_expected is False else ""
    return TableCell(f"{row.verdict}{rate}{wrong}", look=_LOOKS[row.verdict])


def _surprises(rows: Sequence[ReproRow]) -> Notes:
    """What is not as its file says, or has no verdict."""
    odd = [
        row for row in rows if row.is_as_expected is False or row.verdict in ("neither", "unknown")
    ]
    items = [Said(f"{row.repro} in {row.version or row.profile}: {row.seen}") for row in odd]
    return Notes(items or [Said("Each is as its file says.")])


def _table(rows: Sequence[ReproRow], medium: Medium = Medium.EVERYWHERE) -> Table:
    several = len({row.repro for row in rows}) > 1
    label = "" if several else _label_of_tries(rows)
    columns = [Column("repro")] if several else []
    columns += [Column(label)] if label else []
    columns += [Column("profile"), Column("version"), Column("verdict")]
    # What the file expects of a version says nothing of what a search makes of it.
    columns += [] if label else [Column("expected")]
    columns += [Column("shown", number=True), Column("rate", number=True), Column("s", number=True)]
    made = []
    for row in rows:
        cells: list[str | TableCell] = [row.repro] if several else []
        cells += [_try_text(row, label)] if label else []
        cells += [row.profile, row.version or "not started", _verdict_cell(row)]
        cells += [] if label else [_expected(row)]
        cells += [f"{row.count} of {row.judged}", rate_text(row), _seconds_cell(row)]
        made.append(Row.of(cells))
    return Table(columns, made, medium=medium)


def _label_of_tries(rows: Sequence[ReproRow]) -> str:
    """What distinguishes rows of one version, in a word; empty where versions do."""
    if len({(row.profile, row.version) for row in rows}) == len(rows):
        return ""
    return "settings" if len({row.settings for row in rows}) == len(rows) else "try"


def _try_text(row: ReproRow, label: str) -> str:
    if label == "settings":
        return row.settings or "none"
    return row.cell.partition(".")[2]


def _verdict_cell(row: ReproRow) -> TableCell:
    return TableCell(row.verdict, look=_LOOKS[row.verdict])


def _expected(row: ReproRow) -> str:
    if row.expected is None:
        return "-"
    if row.is_as_expected:
        return "as expected"
    return f"expected: {'the bug' if row.expected == 'bug' else 'fixed'}"


def rate_text(row: ReproRow) -> str:
    """``16–100 %``, or nothing where no repeat was judged."""
    if row.interval is None:
        return ""
    return f"{100 * row.interval.low:.0f}–{100 * row.interval.high:.0f} %"


def _seconds_cell(row: ReproRow) -> TableCell:
    text = "" if row.seconds is None else f"{row.seconds:.2f}"
    return TableCell(text, row.seconds)


def _seen(rows: Sequence[ReproRow], medium: Medium = Medium.EVERYWHERE) -> Notes:
    label = _label_of_tries(rows)
    names = [_try_text(row, label) if label else row.version or row.cell for row in rows]
    items = [Said(f"{name}: {row.seen}") for name, row in zip(names, rows, strict=True)]
    return Notes(items, "Seen", medium)


def _telling(records: Sequence[Record]) -> dict[str, Record]:
    """Records whose steps are shown, by their headings: of each cell the first one with the verdict
    of its row; of the tries of a search the first with the bug, and the first without.
    """
    rows = rows_of(records)
    label = _label_of_tries(rows) if len({row.repro for row in rows}) == 1 else ""
    found: dict[str, Record] = {}
    for row in rows:
        record = next((each for each in records if _has_verdict(each, row)), None)
        if record is None or record.repro is None:
            continue
        heading = f"{row.repro} in {record.profile}: steps"
        if label:
            heading = f"{row.repro}, {row.verdict}: steps"
        found.setdefault(heading, record)
    return found


def _has_verdict(record: Record, row: ReproRow) -> bool:
    repro = record.repro
    return record.cell == row.cell and repro is not None and repro.verdict == row.verdict


def _steps_section(record: Record, heading: str) -> Section:
    repro = record.repro
    assert repro is not None  # noqa: S101  (chosen by its verdict)
    parts: list[Part] = [_steps_table(repro)]
    if repro.links:
        parts.append(FactList([Fact("report", link) for link in repro.links]))
    return Section(parts, heading, record.cell, heading, Medium.PAPER)


def _steps_table(repro: ReproRecord) -> Table:
    columns = [Column("step", number=True), Column("what"), Column("ms", number=True)]
    columns += [Column("took ms", number=True), Column("came")]
    rows = []
    for step in repro.steps:
        took = None if step.ended_ms is None else step.ended_ms - step.began_ms
        cells = [str(step.number), step.text, f"{step.began_ms:.0f}"]
        cells += ["not ended" if took is None else f"{took:.0f}", _came(step)]
        rows.append(Row.of(cells))
    for expectation in repro.expectations:
        met = {True: "yes", False: "no", None: "unknown"}[expectation.met]
        text = f"{expectation.side}: {expectation.text}"
        rows.append(Row.of(["", text, "", "", f"{met}: {expectation.seen}"]))
    return Table(columns, rows)


def _came(step: StepRecord) -> str:
    if step.problem:
        return step.problem
    if step.error is not None:
        return f"error {step.error_code}: {step.error}"
    if step.ended_ms is None:
        return f"waits for {step.waited_for}" if step.waited_for else "waits"
    if step.per_s is not None:
        return f"{step.per_s:,.1f} transactions/s"
    if step.rows:
        shown = step.rows[-1][:3]
        return "; ".join(", ".join("NULL" if c is None else c for c in row) for row in shown)
    if step.affected is not None and step.affected > 0:
        return f"ok, {step.affected} rows affected"
    return "ok"
