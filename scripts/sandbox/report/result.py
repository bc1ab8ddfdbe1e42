"""PURE: what every result says: machine, servers, configuration, charts, how to repeat it, all
runs; and the whole document of one run.
"""

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sandbox.judge.variants import ComparedVariants, VariantDifference, compared_variants
from sandbox.record.manifest import HostCheck, MatrixPart
from sandbox.record.record import Inputs, Record
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import (
    Chart,
    Column,
    Document,
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
from sandbox.report.text import UNKNOWN, cut, figure, levels_text, make_command, varied
from sandbox.report.trial_cells import of_trials, rto_text

_FEWEST_ITEMS = 3
"""Of a list with at least this many items, such as optimizer_switch, only those that differ are
shown.
"""
_MOST_VALUES, _LONGEST_VALUE = 20, 61
"""Of values that nobody set, in Markdown: how many for a pair of variants, and how much of each."""
_OF_NODE = ("nodes", "image", "version", "digest", "given")
MOST_OPEN_RUNS = 40
"""A longer list of runs is folded."""
_FILES = [
    Fact("full plan and list of runs", "", links={"manifest.json": "manifest.json"}),
    Fact("summary for a pull request", "", links={"summary.md": "summary.md"}),
]


def environment_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    """The machine, from the first record that describes it; then its load over all records."""
    machine = next((each.environment for each in records if each.environment.cpu_model), None)
    if machine is None:
        return []
    systems = sorted({kind for kind in machine.data_file_system.values() if kind})
    memory = f"{machine.memory_bytes / 2**30:.1f} GiB" if machine.memory_bytes else UNKNOWN
    return [
        (
            "processor",
            (
                f"{machine.cpus or UNKNOWN} x {machine.cpu_model}, governor"
                f" {machine.cpu_governor or UNKNOWN}"
            ),
        ),
        ("memory", memory),
        ("system", f"{machine.operating_system or UNKNOWN}, kernel {machine.kernel or UNKNOWN}"),
        (
            "architecture",
            f"{machine.architecture or UNKNOWN}, {machine.virtualization or 'not virtual'}",
        ),
        (
            "engine",
            f"Docker {machine.engine_version or UNKNOWN}, cgroup v{machine.cgroup_version or '?'}",
        ),
        (
            "storage",
            f"{machine.storage_driver or UNKNOWN}; data on {', '.join(systems) or UNKNOWN}",
        ),
        *_load_rows(records),
    ]


def _load_rows(records: Sequence[Record]) -> list[tuple[str, str]]:
    during = [record.environment.during for record in records if record.status == "ok"]
    named = {
        "CPU busy": [each.cpu_busy_percent for each in during],
        "CPU steal": [each.steal_percent for each in during],
        "stalled on CPU": [each.pressure_cpu_some_percent for each in during],
        "stalled on I/O": [each.pressure_io_some_percent for each in during],
    }
    return [
        (name, _range([value for value in found if value is not None]))
        for name, found in named.items()
    ]


def _range(values: Sequence[float]) -> str:
    if not values:
        return UNKNOWN
    if len(values) == 1:
        return f"{values[0]:.1f} %"
    return (
        f"median {statistics.median(values):.1f} % of a run's time ({min(values):.1f} to"
        f" {max(values):.1f} %)"
    )


def host_check_row(checks: Sequence[HostCheck]) -> list[tuple[str, str]]:
    """Speed of the machine before each block; empty for a result without blocks."""
    if not checks:
        return []
    turns, syncs = [check.cpu_turns for check in checks], [check.fsync_ms for check in checks]
    loop = f"processor loop {min(turns):,} to {max(turns):,} iterations in 0.5 s"
    return [("before each block", f"{loop}, median fsync {min(syncs):.2f} to {max(syncs):.2f} ms")]


def stack_rows(part: MatrixPart, records: Sequence[Record]) -> list[Mapping[str, str]]:
    """Every kind of node of every variant: its image, version and digest, and the limits that it
    ran under.
    """
    variants = {cell.name: cell for cell in part.cells}
    compared = [factor for factor in varied(part) if factor in part.baseline]
    seen: set[str] = set()
    alike: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        cell = variants.get(record.cell)
        if cell and cell.variant not in seen and record.nodes:
            seen.add(cell.variant)
            for row in node_rows(record, levels_text(cell.levels, compared) or cell.profile):
                alike.setdefault(tuple(row[name] for name in _OF_NODE), []).append(row["variant"])
    return [
        {"variant": "; ".join(names), **dict(zip(_OF_NODE, row, strict=True))}
        for row, names in alike.items()
    ]


def _options_of(inputs: Inputs) -> dict[str, str | None]:
    """Options of `up` whose values are recorded as they were typed."""
    names = ("cpus", "memory", "disk", "image", "binary")
    return {name.upper(): getattr(inputs, name) for name in names}


def node_rows(record: Record, variant: str) -> list[Mapping[str, str]]:
    """One row for each group of identical nodes in a record."""
    inputs = record.environment.inputs
    limits = {**_options_of(inputs), "cpuset": inputs.cpuset}
    given = [f"{name}={value}" for name, value in limits.items() if value]
    given += [*inputs.assignments, *(f"REPLICATE={link}" for link in inputs.replicate)]
    files = [(inputs.cnf_name, inputs.cnf_sha256), (inputs.init_name, inputs.init_sha256)]
    files += inputs.cnf_files.items()
    given += [f"{name} (sha256 {digest})" for name, digest in files if name]
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in record.nodes:
        version = node.server_version or node.package_version or ""
        identity = node.digest or node.image_id or ""
        alike.setdefault((node.image or "", version, identity), []).append(node.name)
    return [
        {"variant": variant, "nodes": ", ".join(names), "given": " ".join(given)}
        | dict(zip(("image", "version", "digest"), image, strict=True))
        for image, names in alike.items()
    ]


@dataclass(frozen=True, slots=True)
class VariantDiff:
    """One variant against the baseline's; each difference once, with all servers that have it.

    ``wrong``: set to the same value in both, yet different; this fails a run.
    """

    variant: str
    baseline: str
    asked: Sequence[VariantDifference]
    wrong: Sequence[VariantDifference]
    free: Sequence[VariantDifference]
    """Values that nobody set: from a different version or image, or from more processors or
    memory.
    """
    only_one: Sequence[VariantDifference]
    """Variables that only one of the two servers has; nobody set those either."""


def config_diffs(part: MatrixPart, records: Sequence[Record]) -> list[VariantDiff]:
    """One for each compared pair of stacks, from the first good record of each; the canary's own
    comes last.
    """
    return [_diff(part, each) for each in compared_variants(part, records)]


def _diff(part: MatrixPart, found: ComparedVariants) -> VariantDiff:
    ours, theirs = found.cell.levels, found.baseline.levels
    changed = [factor for factor in varied(part) if ours[factor] != theirs[factor]]
    return VariantDiff(
        levels_text(ours, changed),
        levels_text(theirs, changed),
        asked=_merged(found.asked),
        wrong=_merged(found.wrong),
        free=_merged(found.unset),
        only_one=_merged(found.only_one),
    )


def _merged(found: Iterable[VariantDifference]) -> list[VariantDifference]:
    """One difference for all servers that have it, by variable."""
    servers: dict[tuple[str, str | None, str | None], list[str]] = {}
    for each in found:
        servers.setdefault((each.variable, *_what_differs(each.baseline, each.variant)), []).append(
            each.server
        )
    by_variable = sorted(servers.items(), key=lambda item: item[0][0])
    return [VariantDifference(", ".join(names), *values) for values, names in by_variable]


def _what_differs(baseline: str | None, variant: str | None) -> tuple[str | None, str | None]:
    """Both values; of two long lists only the items that the other does not have."""
    if baseline is None or variant is None:
        return baseline, variant
    ours, theirs = variant.split(","), baseline.split(",")
    if min(len(ours), len(theirs)) < _FEWEST_ITEMS:
        return baseline, variant
    return _items(theirs, ours), _items(ours, theirs)


def _items(those: Sequence[str], others: Sequence[str]) -> str:
    own = [item for item in those if item not in set(others)]
    return ", ".join([*own, "…"])


def unset_lines(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """Differing values that nobody set: one line for each pair of variants; empty without such
    differences.
    """
    return [
        _unset_line(each)
        for each in compared_variants(part, records)
        if each.unset or each.only_one
    ]


def _unset_line(found: ComparedVariants) -> str:
    ours, theirs = found.cell.levels, found.baseline.levels
    changed = [factor for factor, level in ours.items() if level != theirs[factor]]
    variant = ", ".join(f"{factor} {ours[factor]} against {theirs[factor]}" for factor in changed)
    cause = (
        f"different {' and '.join(found.causes)}"
        if found.causes
        else "follows from the requested change"
    )
    first, more = found.unset[:_MOST_VALUES], len(found.unset) - _MOST_VALUES
    values = [
        f"`{each.variable}` {_short(each.baseline)} → {_short(each.variant)}" for each in first
    ]
    values += [f"and {more} more"] if more > 0 else []
    values += (
        [f"{len(found.only_one)} variables that only one of them has"] if found.only_one else []
    )
    return f"{variant} ({cause}): {'; '.join(values)}"


def _short(value: str | None) -> str:
    return cut((value or "''").replace("|", "\\|"), _LONGEST_VALUE)


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


def run_document(
    run: RunData,
    said: Sequence[str],
    facts: Iterable[Fact],
    note: str,
    figures: Sequence[Figure],
    command: Sequence[str],
    when: str,
) -> Document:
    """One run. ``said``: title, question and answer; ``note``: what one run cannot say."""
    record = run.record
    title, question, answer = said
    parts: list[Part] = [FactList(list(facts), "figure"), Said(note, look="faint")]
    shown = Section(parts, "Figures", "verdicts", "figures", headed=Medium.PAGE)
    reason = Said(record.reason or "", Medium.TERMINAL, record.status)
    return Document(
        Said(title),
        [
            shown,
            charts_section(figures),
            machine_section(environment_rows([record]), node_rows(record, record.stack)),
            again_section("How to reproduce it", run_again(record, command)),
            runs_section([run]),
        ],
        Said(question, Medium.PAPER),
        Said(answer, Medium.PAPER),
        Said(record.status, Medium.TERMINAL, record.status),
        about=[reason, Said(when, Medium.PAGE, "faint")],
    )


def run_again(record: Record, command: Sequence[str]) -> list[str]:
    """Commands that start the stack and repeat the run as typed, with the seed that was drawn."""
    inputs = record.environment.inputs
    given = _options_of(inputs)
    files = [inputs.cnf_name, *inputs.cnf_files]
    given |= {"CNF": " ".join(filter(None, files)), "INIT": inputs.init_name}
    up = {
        "NAME": record.stack,
        "PROFILE": record.profile,
        "SET": " ".join(inputs.assignments),
        "REPLICATE": " ".join(inputs.replicate),
        **given,
    }
    started = make_command(["sandbox", "up"], {name: value for name, value in up.items() if value})
    return [started, make_command(command, {"SEED": str(record.seed)})]


def check_facts(record: Record) -> list[Fact]:
    """Every check that did not pass, and the names of those that did."""
    passed = [check.name for check in record.checks if check.verdict == "pass"]
    others = [check for check in record.checks if check.verdict != "pass"]
    found = [Fact(check.verdict, f"{check.name}: {check.detail}") for check in others]
    return [*found, Fact("passed", ", ".join(passed) or "none")]
