"""PURE: sections that all results have: charts, the machine, how to reproduce, every run."""

from collections.abc import Iterator, Mapping, Sequence

from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import (
    Chart,
    Column,
    Fact,
    FactList,
    Lines,
    Medium,
    Part,
    Row,
    Said,
    Section,
    Table,
    TableCell,
)
from sandbox.report.text import figure
from sandbox.report.trial_cells import of_trials, rto_text

MOST_OPEN_RUNS = 40
"""A longer list of runs is folded."""
_FILES = [
    Fact("full plan and list of runs", "", links={"manifest.json": "manifest.json"}),
    Fact("summary for a pull request", "", links={"summary.md": "summary.md"}),
]


def charts_section(figures: Sequence[Figure]) -> Section:
    """Every figure of a result."""
    parts: list[Part] = [Chart(each) for each in figures]
    nothing = Said("No run recorded data to plot.")
    return Section(parts or [nothing], "Charts", "charts", "charts", Medium.PAGE)


def machine_section(
    facts: Sequence[tuple[str, str]], stacks: Sequence[Mapping[str, str]]
) -> Section:
    """The machine and its load; images, versions and limits of the nodes."""
    headings = {
        "variant": "stack",
        "nodes": "nodes",
        "image": "image",
        "version": "version",
        "given": "options",
        "digest": "digest or image ID",
    }
    columns = [
        Column(heading, look="value" if name == "digest" else "")
        for name, heading in headings.items()
    ]
    rows = [Row.of(row[name] for name in headings) for row in stacks]
    parts: list[Part] = [FactList([Fact(*each) for each in facts])]
    if rows:
        parts.append(Table(columns, rows))
    return Section(parts, "Machine and servers", "machine", "machine", Medium.PAGE)


def again_section(heading: str, commands: Sequence[str], how: Sequence[Said] = ()) -> Section:
    """How it was measured, and the commands that repeat it."""
    return Section([*how, Lines(commands)], heading, "again", "reproduce", Medium.PAPER)


def runs_section(runs: Sequence[RunData]) -> Section:
    """The runs that failed and why; every run with its files, in execution order."""
    number = f"{len(runs)} run{'s' if len(runs) != 1 else ''}"
    trials = of_trials(run.record for run in runs)
    figures = ("RTO ms", "lost") if trials else ("tps", "p95 ms")
    columns = [Column("cell"), Column("block", number=True), Column("status")]
    columns += [Column(title, number=True) for title in figures]
    every = Table(
        [*columns, Column("files", look="files")],
        [Row([*_run_cells(run, trials), _files(run)]) for run in runs],
        title=f"{number} in execution order, each with its files",
        folded=len(runs) > MOST_OPEN_RUNS,
        look="screen",
    )
    return Section(
        [*_not_ok(runs), every, FactList(_FILES)], "All runs", "runs", "all runs", Medium.PAGE
    )


def _not_ok(runs: Sequence[RunData]) -> Iterator[Table]:
    bad = [run for run in runs if run.record.status != "ok"]
    if not bad:
        return
    columns = [Column("run"), Column("status"), Column("reason", look="value")]
    rows = [Row.of([run.name, _status(run), run.record.reason or ""]) for run in bad]
    yield Table(columns, rows, "not ok")


def _run_cells(run: RunData, trials: bool) -> list[TableCell]:
    record = run.record
    first = [TableCell(record.cell), TableCell(str(record.block), record.block), _status(run)]
    metrics = record.metrics
    if trials:
        return [*first, TableCell(rto_text(record), metrics.rto_ms), _number(metrics.lost)]
    return [*first, _number(metrics.tps), _number(metrics.latency_p95_ms)]


def _status(run: RunData) -> TableCell:
    return TableCell(run.record.status, look=run.record.status)


def _number(value: float | None) -> TableCell:
    return TableCell("" if value is None else figure(value), value)


def _files(run: RunData) -> TableCell:
    return TableCell(
        "", links={word.removeprefix("log_"): path for word, path in run.files.items()}
    )
