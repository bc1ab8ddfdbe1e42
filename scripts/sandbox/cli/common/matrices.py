"""Runs matrices, and the looks of a smoke benchmark, which are such; shows plan, progress and
outcome.
"""

import json
import sys
from collections.abc import Callable, Sequence
from functools import partial

from sandbox.cli.common.options import need_profile
from sandbox.cli.common.showing import show_document
from sandbox.cli.console import LiveLine, ProgressDisplay, as_typed, second_text
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS, write_atomically
from sandbox.judge.compare import Known
from sandbox.judge.gate import EXIT_CODES
from sandbox.load.common.workload import Progress, Second
from sandbox.matrix.cell import Change
from sandbox.matrix.estimate import estimate
from sandbox.matrix.resolve import need_baseline, need_comparison
from sandbox.matrix.resolved import Estimate, ResolvedMatrix
from sandbox.matrix.result_folder import known_noise, learn_from, note_noise, part_of
from sandbox.matrix.runner import Advance, MatrixEvent, MoreBlocks, start
from sandbox.matrix.smoke import BASE, HEAD, asked, judged_look, log_of_lost, run_looks
from sandbox.record.store import ResultFolder
from sandbox.report.matrix_plan import PlanElsewhere, matrix_plan_data, matrix_plan_document
from sandbox.report.render import markdown, terminal
from sandbox.report.smoke import SmokeLook, SmokeReport, sentence, smoke_data, smoke_document
from sandbox.report.text import duration
from sandbox.stack.engine import Docker

_SHOWN_STEPS = ("start", "host check", "repeat")
"""The steps of a matrix's runs that are shown; the others take a moment."""


class MatrixLine(LiveLine):
    """The events of a matrix.

    In a terminal runs and seconds move, elsewhere each run has its own line.
    """

    _head = ""

    def __call__(self, event: MatrixEvent) -> None:
        """Shows one event."""
        if isinstance(event, Advance):
            self._show_advance(event)
        elif isinstance(event, MoreBlocks):
            self._show_more_blocks(event)
        elif isinstance(event, Second) and self._terminal:
            self.move(f"{self._head}  {second_text(event).strip()}")
        elif isinstance(event, Progress) and event.step in _SHOWN_STEPS:
            self.line(f"{event.step}  {event.text}")

    def _show_advance(self, event: Advance) -> None:
        number = f"{event.done + 1}/{event.runs}"
        self._head = f"{number}  block {event.next.block}/{event.blocks}  {event.next.cell}"
        text = self._head
        if event.left_s is not None:
            text += f"  left about {duration(event.left_s)}"
        if self._terminal:
            self.move(text)
        else:
            self.line(text)

    def _show_more_blocks(self, event: MoreBlocks) -> None:
        self.line(
            f"inconclusive after {event.so_far} blocks: {event.more} more on the same stacks, "
            f"about {duration(event.seconds)}"
        )

    def progress(self) -> ProgressDisplay:
        """Shows a stack that starts, instead of the line that moves."""
        self.close()
        return ProgressDisplay(self._command, self._stream)


def show_plan(resolved: ResolvedMatrix, as_json: bool, at: Callable[[str], ResolvedMatrix]) -> int:
    """Prints what a matrix would do, and how long it would take at its other scales; returns the
    exit code. ``at``: the matrix at a scale.
    """
    expected = _estimate(resolved)
    others = {name: _elsewhere(name, at) for name in resolved.matrix.other_scales}
    data = matrix_plan_data(resolved, expected, others)
    show_document(as_json, data, matrix_plan_document(resolved, expected, others))
    return int(ExitCode.OK)


def _elsewhere(scale: str, at: Callable[[str], ResolvedMatrix]) -> PlanElsewhere:
    """The same matrix at another scale, or why these options cannot be asked for there."""
    try:
        resolved = at(scale)
    except SandboxError as error:
        return PlanElsewhere(why_not=f"{error.what}: {error.known}")
    return PlanElsewhere(resolved, _estimate(resolved))


def run_and_judge(resolved: ResolvedMatrix, as_json: bool) -> int:
    """Runs, judges, prints; returns the exit code.

    Raises SandboxError for a matrix that cannot run at all.
    """
    need_baseline(resolved)
    need_comparison(resolved)
    result = run_resolved(resolved, show_whole_plan=True)
    known = known_noise(result)
    learn_from(result)
    return _show_result(result, as_json, known)


def run_resolved(resolved: ResolvedMatrix, show_whole_plan: bool = False) -> ResultFolder:
    """Runs a matrix with progress on standard error.

    ``show_whole_plan``: first prints all that PLAN=1 shows, else one line. Raises SandboxError as
    `start` does.
    """
    expected = _estimate(resolved)
    with MatrixLine("matrix") as line:
        if show_whole_plan:
            whole = terminal.text(matrix_plan_document(resolved, expected))
            print(whole, end="", file=sys.stderr, flush=True)
        else:
            line.line(_in_one_line(resolved, expected))
        return start(resolved, RESULTS, line, line.line, line.progress)


def _in_one_line(resolved: ResolvedMatrix, expected: Estimate) -> str:
    parts = [resolved.matrix.title]
    if expected.resumes:
        name, done = expected.resumes
        parts.append(f"resumes {name}, where {done} runs are done")
    parts.append(f"about {duration(expected.seconds)}")
    return "; ".join(parts)


def _estimate(resolved: ResolvedMatrix) -> Estimate:
    return estimate(resolved, RESULTS, Docker(), partial(print, file=sys.stderr))


def _show_result(result: ResultFolder, as_json: bool, known: Known) -> int:
    """Prints the verdicts and writes the result's report.

    Raises SandboxError (exit 4) if no run is usable.
    """
    # Late, for start-up time: 0.1 s that a refusal need not wait for.
    from sandbox.cli.common import reports
    from sandbox.report.matrix_notes import processor_data
    from sandbox.report.verdicts import verdict_data

    note_noise(result, known)
    manifest = result.manifest
    part = part_of(result)
    runs = reports.read_runs(result)
    records = [run.record for run in runs]
    judged = reports.judge(result, part, runs)
    document = reports.document_of_matrix(result, manifest, part, runs, judged)
    written = reports.write_document(result, document)
    data = {
        **verdict_data(part, judged, records),
        "processor_time": processor_data(part, records),
        "result": str(result.path),
    }
    files = [f"results/{path.parent.name}/{path.name}" for path in written]
    show_document(as_json, data, document, files)
    return int(ExitCode.OK)


def smoke(
    profile: str | None, base: Change, head: Change, load: Change, seed: int | None, as_json: bool
) -> int:
    """Compares, prints the comment, writes it to ``smoke.md``; returns the exit code.

    A side without a profile has PROFILE's, else that of the other side.
    Raises SandboxError: exit 2 for invalid options, exit 4 for a missing image or a failure of the
    environment.
    """
    sides = {BASE: _with_profile(base, profile, head), HEAD: _with_profile(head, profile, base)}
    results = run_looks(sides, load, seed, run_resolved, _note)
    return _show_smoke(_report(sides, results), results, as_json)


def _with_profile(side: Change, profile: str | None, other: Change) -> Change:
    chosen_profile = need_profile(side.profile or profile or other.profile)
    return side.model_copy(update={"profile": chosen_profile})


def _note(text: str) -> None:
    print(f"smoke  {text}", file=sys.stderr, flush=True)


def _report(sides: dict[str, Change], results: Sequence[ResultFolder]) -> SmokeReport:
    return SmokeReport(
        looks=[smoke_look(result) for result in results],
        sides={name: asked(side) for name, side in sides.items()},
        command=sys.argv,
        log=log_of_lost(results[-1]),
    )


def smoke_look(result: ResultFolder) -> SmokeLook:
    """The result of one look, judged."""
    manifest = result.manifest
    seconds = None
    if manifest.ended_utc:
        seconds = (manifest.ended_utc - manifest.started_utc).total_seconds()
    look = judged_look(result)
    return SmokeLook(result.path.name, part_of(result), result.records(), look, seconds)


def _show_smoke(report: SmokeReport, results: Sequence[ResultFolder], as_json: bool) -> int:
    text = as_typed(markdown.text(smoke_document(report), level=2))
    for result in results:
        write_atomically(result.path / "smoke.md", text)
    if as_json:
        print(json.dumps(smoke_data(report), indent=2))
    else:
        print(text, end="")
    _note(sentence(report))
    if report.outcome == "environment":
        what = "the smoke benchmark could not be run"
        step = f"try: ls {results[-1].path}"
        raise SandboxError(what, sentence(report), step, ExitCode.ENVIRONMENT)
    return int(EXIT_CODES[report.outcome])
