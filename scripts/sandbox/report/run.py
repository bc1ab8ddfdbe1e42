"""PURE: the document of one run, a bench or a trial: figures, machine, how to repeat it."""

from collections.abc import Iterable, Sequence

from sandbox.record.record import Record
from sandbox.report.charts.layout import RunData
from sandbox.report.charts.svg import Figure
from sandbox.report.document import Document, Fact, FactList, Medium, Part, Said, Section
from sandbox.report.environment import environment_rows, node_rows
from sandbox.report.sections import again_section, charts_section, machine_section, runs_section
from sandbox.report.text import make_command


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
    given = {"CPUS": inputs.cpus, "MEMORY": inputs.memory, "DISK": inputs.disk}
    given |= {"CNF": inputs.cnf_name, "INIT": inputs.init_name}
    up = {
        "NAME": record.stack,
        "PROFILE": record.profile,
        "SET": " ".join(inputs.assignments),
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
