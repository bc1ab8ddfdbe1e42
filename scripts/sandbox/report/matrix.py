"""PURE: what is said about a judged matrix: verdicts, trials, notes, configuration, every run."""

from collections.abc import Iterator, Mapping, Sequence

from sandbox.judge.compare import Judged, Verdict
from sandbox.judge.variants import VariantDifference
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.record.record import Record
from sandbox.report.answer import expected_tables
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import (
    Column,
    Document,
    Medium,
    Notes,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.matrix_notes import (
    again,
    asked_first,
    how,
    lost_runs,
    matrix_notes,
    middles,
    processor_table,
)
from sandbox.report.published import published_parts
from sandbox.report.result import (
    VariantDiff,
    again_section,
    charts_section,
    config_diffs,
    environment_rows,
    host_check_row,
    machine_section,
    runs_section,
    stack_rows,
    unset_lines,
)
from sandbox.report.text import figure, levels_text, varied
from sandbox.report.trial_cells import CANARY, cells_of, median_text
from sandbox.report.trial_matrix import answer_of, trial_tables
from sandbox.report.verdicts import (
    LOG_RANK,
    MDE_TEXT,
    any_open,
    figures,
    margin_text,
    wide_figures,
    with_levels,
)

_QUIET = ("no difference", "too noisy", "unfit")
_MANY_VARIABLES = 12
"""More of them, which nobody set, are folded."""
_TOO_MANY_FOR_PAPER = 200


def matrix_document(
    part: MatrixPart,
    judged: Judged,
    runs: Sequence[RunData],
    charts: Sequence[Figure] = (),
    command: Sequence[str] = (),
    when: str = "",
) -> Document:
    """A judged matrix. ``command``: as typed; ``when``: start and end, as text."""
    records = [run.record for run in runs]
    facts = [*environment_rows(records), *host_check_row(part.host_checks)]
    parts = list(_figures(part, judged, records))
    unset = [Notes.of(unset_lines(part, records))]
    sections = [
        Section(parts, "Verdicts", "verdicts", "figures", headed=Medium.PAGE),
        Section(unset, "Differing values that nobody set", medium=Medium.MARKDOWN),
        charts_section(charts),
        _configuration(config_diffs(part, records)),
        machine_section(facts, stack_rows(part, records)),
        _again(part, records, command),
        runs_section(runs),
    ]
    return Document(
        Said(part.title, Medium.PAPER),
        sections,
        Said(part.question),
        Said(answer_of(part, judged, records)),
        about=[Said(when, Medium.PAGE, "faint")],
    )


def _figures(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> Iterator[Part]:
    """Trials, the verdicts by metric, processor time, and notes on all of them."""
    times = list(_processor_time(part, records))
    yield Said(
        f"Each cell against {levels_text(part.baseline)}, all other levels equal.", Medium.TERMINAL
    )
    if asked_first(part):
        yield from times
    yield from expected_tables(part, records)
    yield from published_parts(part, judged, records)
    yield from trial_tables(part, records)
    for metric in part.metrics:
        yield _verdicts(part, judged, records, metric)
    if not asked_first(part):
        yield from times
    yield _notes(part, judged, records)


def _processor_time(part: MatrixPart, records: Sequence[Record]) -> Iterator[Table]:
    found = processor_table(part, records)
    if found:
        header, *rows = found
        title = "Processor time per transaction, ms"
        note = "Pseudo-median over blocks (Hodges-Lehmann); empty where there is no such node."
        yield Table.of(header, rows, title, note, numbers=len(PROCESSOR_TIME))


def _notes(part: MatrixPart, judged: Judged, records: Sequence[Record]) -> Notes:
    seen = any("no difference" in verdict.word for verdict in judged.verdicts)
    sees = MDE_TEXT.replace("MDE", "sees") if seen else ""
    others = [*matrix_notes(part, judged, records), *lost_runs(part, records)]
    return Notes([Said(MDE_TEXT, Medium.PAPER), Said(sees, Medium.TERMINAL), *map(Said, others)])


def _again(part: MatrixPart, records: Sequence[Record], command: Sequence[str]) -> Section:
    heading = "How this was measured, and how to reproduce it"
    said = [Said(how(part, records)), Said(part.note, look="faint")]
    return again_section(heading, [again(part, command)], said)


def _verdicts(part: MatrixPart, judged: Judged, records: Sequence[Record], metric: str) -> Table:
    """One metric. A terminal says the smallest detectable effect with the verdict, for want of
    room.
    """
    log_rank = any_open(judged)
    known = _middles(part, records, metric)
    compared, canary = with_levels(part, judged, metric)
    names = {cell.name: levels_text(cell.levels) for cell in part.cells}
    rows = [_row(names[each.cell], levels, each, known, log_rank) for levels, each in compared]
    rows += [_row(CANARY, levels, each, known, log_rank) for levels, each in canary]
    return Table(
        list(_columns(varied(part), log_rank)),
        rows,
        metric,
        margin_text(metric, judged),
        quiet_rows="and {} comparisons that are neither better nor worse",
        spoken=METRICS[metric].title,
    )


def _columns(factors: Sequence[str], log_rank: bool) -> Iterator[Column]:
    """Those of `_row`. Each medium has the cell or its levels, and the verdict first or last."""
    yield Column("cell", medium=Medium.MARKDOWN)
    for factor in factors:
        yield Column(factor, medium=Medium.TERMINAL | Medium.PAGE)
    yield Column("verdict", medium=Medium.PAGE, look="word")
    for heading in ("effect", "95 % interval", "n", "adj. p"):
        yield Column(heading, number=True)
    yield Column("MDE", number=True, medium=Medium.PAPER)
    if log_rank:
        yield Column(LOG_RANK, number=True)
    yield Column("verdict", medium=Medium.TERMINAL, kept=True)
    yield Column("verdict", medium=Medium.MARKDOWN)
    yield Column("baseline → this", number=True, medium=Medium.PAGE)


def _row(
    name: str, levels: Sequence[str], verdict: Verdict, known: Mapping[str, str], log_rank: bool
) -> Row:
    effect, *others, word = wide_figures(verdict, log_rank)
    *_, narrow_word = figures(verdict)
    judgement = verdict.judgement
    size = judgement.effect.metric.shown(judgement.effect.estimate) if judgement else None
    medians = " → ".join(known.get(cell, "?") for cell in (verdict.baseline, verdict.cell))
    verdict_cell = TableCell(word, look=verdict.word.replace(" ", "-"))
    both = f"{medians} {METRICS[verdict.metric].unit}"
    shown: list[str | TableCell] = [
        verdict_cell,
        TableCell(effect, size),
        *others,
        narrow_word,
        word,
        both,
    ]
    texts = [name, *levels, *shown]
    if name == CANARY:
        return Row.of(texts, look=CANARY)
    return Row.of(texts, quiet=verdict.word in _QUIET)


def _middles(part: MatrixPart, records: Sequence[Record], metric: str) -> Mapping[str, str]:
    """By cell; the median where trials may be open, of which a pseudo-median means nothing."""
    known = {cell: figure(middle) for cell, middle in middles(records, metric).items()}
    if METRICS[metric].may_be_open:
        for cell in cells_of(part, records):
            if text := median_text(cell.lengths(metric)):
                known[cell.name] = text
    return known


def _configuration(diffs: Sequence[VariantDiff]) -> Section:
    """In what the servers of the variants differ, and whether anybody asked for it."""
    caption = (
        "Effective variables, read from the running servers. Values that identify a node "
        "(names, addresses, paths, positions) are not compared."
    )
    parts: list[Part] = [Said(caption, look="faint")]
    for diff in diffs:
        parts += _differences(diff)
    name = "configuration"
    return Section(parts if diffs else [], "Configuration differences", name, name, Medium.PAGE)


def _differences(diff: VariantDiff) -> Iterator[Part]:
    pair = f"{diff.variant} against {diff.baseline}"
    kinds = {
        "set to the same value, yet different": (diff.wrong, False),
        "requested": (diff.asked, False),
        "values that nobody set": (diff.free, len(diff.free) > _MANY_VARIABLES),
        "variables that only one of the two has": (
            diff.only_one,
            len(diff.only_one) > _MANY_VARIABLES,
        ),
    }
    found = {kind: each for kind, each in kinds.items() if each[0]}
    if not found:
        yield Said(f"{pair}: no variable differs.")
    for kind, (variables, folded) in found.items():
        number = f": {len(variables)}" if folded else ""
        columns = [
            Column("variable", look="key"),
            Column(diff.baseline, look="value"),
            Column(diff.variant, look="value"),
            Column("servers"),
        ]
        yield Table(
            columns,
            [Row.of(_difference(each)) for each in variables],
            f"{pair}: {kind}{number}",
            folded=True if folded else None,
            look="paper" if len(variables) < _TOO_MANY_FOR_PAPER else "",
        )


def _difference(found: VariantDifference) -> list[str]:
    values = [
        "none" if value is None else value or "''" for value in (found.baseline, found.variant)
    ]
    return [found.variable, *values, found.server]
