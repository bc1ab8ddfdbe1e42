"""PURE: a judged matrix as Markdown, for a pull request or a wiki."""

from collections.abc import Sequence

from sandbox.report.answer import answer
from sandbox.report.do_again import make_command
from sandbox.report.lost_runs import lost_runs
from sandbox.report.processor_time import CAPTION, TITLE, asked_first, processor_header, processor_rows
from sandbox.report.unset_text import unset_text
from sandbox.report.verdict_table import MDE_TEXT, WIDE_FIGURES, notes, wide_figures
from sandbox.results.compare import Judged, Verdict
from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record


def summary(part: MatrixPart, judged: Judged, records: Sequence[Record], command: Sequence[str]) -> str:
    """``summary.md``: question, answer, verdicts, what was left out, the machine, how to reproduce it."""
    blocks = [f"# {part.title}", f"**{part.question}**", answer(part, judged)]
    rows = processor_rows(part, records)
    times = [f"### {TITLE}", _table(processor_header(part), rows), CAPTION] if rows else []
    blocks += times if asked_first(part) else []
    for metric in part.metrics:
        rows = [_row(part, each) for each in judged.verdicts if each.metric == metric]
        rows += [["canary", *wide_figures(each)] for each in judged.canary if each.metric == metric]
        blocks += [f"### {metric}", _table(["cell", *WIDE_FIGURES], rows)]
    blocks += [] if asked_first(part) else times
    text = [MDE_TEXT, *notes(part, judged), *lost_runs(part, records), *([part.note] if part.note else [])]
    blocks += ["\n".join(f"- {line}" for line in text)] if text else []
    blocks += unset_text(part, records)
    blocks += ["### How this was measured", how(part, records), "```sh\n" + again(part, command) + "\n```"]
    return "\n\n".join(blocks) + "\n"


def _row(part: MatrixPart, verdict: Verdict) -> list[str]:
    return [typed_levels(part, verdict.cell), *wide_figures(verdict)]


def typed_levels(part: MatrixPart, name: str) -> str:
    """A cell by its levels: ``commits durable, threads 4``."""
    levels = next(cell.levels for cell in part.cells if cell.name == name)
    return ", ".join(f"{factor} {level}" for factor, level in levels.items())


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in line)} |" for line in lines)


def how(part: MatrixPart, records: Sequence[Record]) -> str:
    """Order, estimator, servers and host, in a few sentences."""
    versions = sorted({node.server_version for record in records for node in record.nodes if node.server_version})
    baseline = ", ".join(f"{factor} {level}" for factor, level in part.baseline.items())
    return (
        f"{part.blocks} randomized blocks (seed {part.seed}), depth {part.depth}, runs of {part.seconds} s after "
        f"{part.warmup_s} s of warm-up; each cell against {baseline}, all other levels equal, paired by block: "
        f"Hodges-Lehmann, exact 95 % interval, p adjusted ({part.adjustment}). "
        f"Servers: {'; '.join(versions) or 'unknown'}. Host: {part.host_class}."
    )


def again(part: MatrixPart, command: Sequence[str]) -> str:
    """The command as typed, with the seed that was drawn."""
    return make_command(command, {"SEED": str(part.seed)})
