"""PURE: a judged matrix as Markdown, for a pull request or a wiki."""

from collections.abc import Sequence

from sandbox.report.answer import answer
from sandbox.report.environment import unset_text
from sandbox.report.text import levels_text, make_command, markdown_table
from sandbox.report.verdict_table import (
    MDE_TEXT,
    PROCESSOR_CAPTION,
    PROCESSOR_TITLE,
    WIDE_FIGURES,
    asked_first,
    lost_runs,
    notes,
    processor_table,
    wide_figures,
)
from sandbox.results.compare import Judged
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record


def summary(part: MatrixPart, judged: Judged, records: Sequence[Record], command: Sequence[str]) -> str:
    """``summary.md``: question, answer, verdicts, what was left out, the machine, how to reproduce it."""
    blocks = [f"# {part.title}", f"**{part.question}**", answer(part, judged)]
    table = processor_table(part, records)
    times = [f"### {PROCESSOR_TITLE}", markdown_table(table[0], table[1:]), PROCESSOR_CAPTION] if table else []
    blocks += times if asked_first(part) else []
    cells = {cell.name: levels_text(cell.levels) for cell in part.cells}
    for metric in part.metrics:
        rows = [[cells[each.cell], *wide_figures(each)] for each in judged.verdicts if each.metric == metric]
        rows += [["canary", *wide_figures(each)] for each in judged.canary if each.metric == metric]
        blocks += [f"### {metric}", markdown_table(["cell", *WIDE_FIGURES], rows)]
    blocks += [] if asked_first(part) else times
    text = [MDE_TEXT, *notes(part, judged), *lost_runs(part, records), *([part.note] if part.note else [])]
    blocks += ["\n".join(f"- {line}" for line in text)] if text else []
    blocks += unset_text(part, records)
    blocks += ["### How this was measured", how(part, records), "```sh\n" + again(part, command) + "\n```"]
    return "\n\n".join(blocks) + "\n"


def how(part: MatrixPart, records: Sequence[Record]) -> str:
    """Order, estimator, servers and host, in a few sentences."""
    versions = sorted({node.server_version for record in records for node in record.nodes if node.server_version})
    return (
        f"{part.blocks} randomized blocks (seed {part.seed}), depth {part.depth}, runs of {part.seconds} s after "
        f"{part.warmup_s} s of warm-up; each cell against {levels_text(part.baseline)}, all other levels equal, "
        f"paired by block: Hodges-Lehmann, exact 95 % interval, p adjusted ({part.adjustment}). "
        f"Servers: {'; '.join(versions) or 'unknown'}. Host: {part.host_class}."
    )


def again(part: MatrixPart, command: Sequence[str]) -> str:
    """The command as typed, with the seed that was drawn."""
    return make_command(command, {"SEED": str(part.seed)})
