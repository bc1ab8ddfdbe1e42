"""A repro as bug trackers ask for it, in Markdown: versions, platform, variables, steps, what was
seen, what was expected, logs, how often.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sandbox.judge.repros import ReproRow
from sandbox.record.record import Environment, Record
from sandbox.record.repro import ExpectationRecord, StepRecord

_MOST_LINES = 40
"""Of a log, or of a stack trace."""
_MOST_ROWS = 3
_CRASH = re.compile(r"got signal \d+", re.IGNORECASE)
_TIMED = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d")
_TELLING = re.compile(r"\[(?:ERROR|Warning)\]|\bInnoDB: (?:Error|Assertion)|Aborted connection")


@dataclass(frozen=True)
class CarriedOut:
    """The newest result of a repro. ``record``: the repeat that stands for the version."""

    row: ReproRow
    record: Record
    folder: str
    """Where the record is."""
    is_of_file: bool
    """Whether the file's steps were still the same."""
    logs: Mapping[str, str] = field(default_factory=dict)
    """Node → its log, where the record has one."""


@dataclass(frozen=True)
class BugReport:
    """What a file says of a bug, in texts, and what came of it."""

    title: str
    question: str
    links: Sequence[str]
    compose_file: str
    images: Mapping[str, str]
    """Server → image that the Compose file names."""
    data: str
    steps: Sequence[str]
    bug: Sequence[str]
    fixed: Sequence[str]
    variables: Mapping[str, Mapping[str, str | None]]
    """Server → variables that its configuration sets."""
    command: str
    """The command that carries the repro out and keeps a record."""
    came: CarriedOut | None = None


def bug_report(report: BugReport) -> str:
    """The text of a report."""
    came = report.came
    record = came.record if came else None
    parts = [
        _head(report),
        _versions(report, record),
        _platform(record.environment if record else None),
        _how_to_repeat(report),
        _variables(report, record),
        _seen(report),
        _expected(report),
    ]
    if came is not None:
        since = f"{came.record.started_utc:%Y-%m-%dT%H:%M:%S}"
        parts += [_rate(came.row), *_logs(came.logs, since)]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def _head(report: BugReport) -> list[str]:
    lines = [f"# {report.title}", "", report.question]
    if report.links:
        lines += ["", *(f"- {link}" for link in report.links)]
    return lines


def _versions(report: BugReport, record: Record | None) -> list[str]:
    if record is None:
        rows = [[name, image] for name, image in report.images.items()]
        return ["## Versions", "", *_table(["server", "image"], rows)]
    rows = []
    for node in record.nodes:
        if node.name in report.images:
            version = node.server_version or "unknown"
            rows.append([node.name, version, node.package_version or "-", node.image or "-"])
    return ["## Versions", "", *_table(["server", "version", "package", "image"], rows)]


def _platform(machine: Environment | None) -> list[str]:
    if machine is None:
        return []
    facts = {
        "operating system": machine.operating_system,
        "kernel": machine.kernel,
        "architecture": machine.architecture,
        "CPU": _processor(machine),
        "memory": None if machine.memory_bytes is None else f"{machine.memory_bytes >> 20} MiB",
        "Docker engine": machine.engine_version,
        "virtualization": machine.virtualization,
    }
    return ["## Platform", "", *(f"- {name}: {fact}" for name, fact in facts.items() if fact)]


def _processor(machine: Environment) -> str | None:
    if machine.cpus is None:
        return machine.cpu_model
    return f"{machine.cpus} × {machine.cpu_model or 'unknown'}"


def _how_to_repeat(report: BugReport) -> list[str]:
    compose = f"docker compose -f {report.compose_file}"
    lines = ["## How to repeat", "", "```sh"]
    lines += [f"{compose} up --exit-code-from repro", f"{compose} down -v", "```", ""]
    lines += ["It ends with exit code 0 where the bug is reproduced, 1 where it is fixed.", ""]
    if report.data:
        lines += ["Data:", "", "```sql", *report.data.splitlines(), "```", ""]
    lines += ["Steps (session, server, statement):", ""]
    return lines + [f"{number}. {_code(step)}" for number, step in enumerate(report.steps, 1)]


def _variables(report: BugReport, record: Record | None) -> list[str]:
    """With the values that the servers reported, where they did."""
    lines = ["## Variables that differ from the defaults", ""]
    reported = record.variables if record else {}
    servers = list(report.variables)
    rows = []
    names = dict.fromkeys(name for each in report.variables.values() for name in each)
    for name in names:
        row = [name]
        for server in servers:
            given = report.variables[server]
            value = "ON" if given.get(name, "") is None else given.get(name, "default")
            known = reported.get(server, {}).get(name.removeprefix("loose_"))
            row.append(str(known if known is not None and name in given else value))
        rows.append(row)
    return [*lines, *_table(["variable", *servers], rows)]


def _seen(report: BugReport) -> list[str]:
    lines = ["## What is seen", ""]
    came = report.came
    if came is None or came.record.repro is None:
        lines += ["Where the bug is:", "", *(f"- {_code(each)}" for each in report.bug), ""]
        return [
            *lines,
            f"It was not carried out here yet; `{report.command}` does, and keeps a record.",
        ]
    repro = came.record.repro
    lines.append(f"{repro.verdict.capitalize()} in {repro.version}: {_inline(repro.seen)}")
    if not came.is_of_file:
        lines += ["", "The file has changed since then; these are the steps of that time."]
    rows = [_row_of_step(step) for step in repro.steps]
    lines += ["", *_table(["step", "statement", "ms", "took ms", "came"], rows), ""]
    lines += [_line_of(each) for each in repro.expectations if each.side == "bug"]
    return [*lines, "", f"Record: {came.folder}"]


def _row_of_step(step: StepRecord) -> list[str]:
    took = "-" if step.ended_ms is None else f"{step.ended_ms - step.began_ms:.0f}"
    return [str(step.number), step.text, f"{step.began_ms:.0f}", took, _came(step)]


def _came(step: StepRecord) -> str:
    if step.ended_ms is None:
        return "waits" if step.waited_for is None else f"waits for {step.waited_for}"
    if step.error is not None:
        return f"error {step.error_code}: {step.error}"
    if not step.rows:
        return f"{step.affected} rows affected" if step.affected else "ok"
    rows = step.rows[-1]
    shown = [
        ", ".join("NULL" if cell is None else cell for cell in row) for row in rows[:_MOST_ROWS]
    ]
    if len(rows) > _MOST_ROWS:
        shown.append(f"{len(rows) - _MOST_ROWS} more rows")
    return "; ".join(shown) or "no row"


def _expected(report: BugReport) -> list[str]:
    lines = ["## What is expected", "", *(f"- {_code(each)}" for each in report.fixed)]
    repro = report.came.record.repro if report.came else None
    expectations = repro.expectations if repro else []
    missing = [each for each in expectations if each.side == "fixed" and not each.met]
    if missing:
        lines += ["", "Seen instead:", "", *(_line_of(each) for each in missing)]
    return lines


def _line_of(each: ExpectationRecord) -> str:
    met = {True: "yes", False: "no", None: "unknown"}[each.met]
    return f"- {_code(each.text)}: {met} ({_inline(each.seen)})"


def _rate(row: ReproRow) -> list[str]:
    lines = ["## How often", ""]
    if row.interval is None:
        return [*lines, "No repeat was judged."]
    low, high = 100 * row.interval.low, 100 * row.interval.high
    shown = f"{row.count} of {row.judged} repeats showed it"
    return [*lines, f"{shown} (95 % interval of the rate: {low:.0f} to {high:.0f} %)."]


def _logs(logs: Mapping[str, str], since: str) -> list[list[str]]:
    """What stands out in each log since the steps began, and the stack trace of a crash as its
    server wrote it. ``since``: a time as the engine writes it before each line.
    """
    parts = []
    for node, text in logs.items():
        lines = [line for line in text.splitlines() if not _is_before(line, since)]
        crash = next((number for number, line in enumerate(lines) if _CRASH.search(line)), None)
        telling = [line for line in lines[:crash] if _TELLING.search(line)][-_MOST_LINES:]
        if telling:
            parts.append([f"## Log of {node}", "", "```", *telling, "```"])
        if crash is not None:
            trace = lines[crash : crash + _MOST_LINES]
            parts.append([f"## Stack trace of {node}", "", "```", *trace, "```"])
    return parts


def _is_before(line: str, since: str) -> bool:
    return _TIMED.match(line) is not None and line < since


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> list[str]:
    lines = [heads, ["---"] * len(heads), *rows]
    return [
        f"| {' | '.join(_inline(each).replace('|', chr(92) + '|') for each in row)} |"
        for row in lines
    ]


def _inline(text: str) -> str:
    return " ".join(text.split())


def _code(text: str) -> str:
    """A text in one line of code, whatever it has in it."""
    fence = "``" if "`" in text else "`"
    space = " " if fence == "``" else ""
    return f"{fence}{space}{_inline(text)}{space}{fence}"
