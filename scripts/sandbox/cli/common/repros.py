"""Repros as commands carry them out: which, in which versions, progress, what is printed."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from threading import Thread

from sandbox.cli.common.results import read_records
from sandbox.cli.common.showing import show, show_document
from sandbox.cli.console import LiveLine, ProgressDisplay
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.judge.repros import exit_code, rows_of
from sandbox.load.common.workload import Event, Progress
from sandbox.measure.execute import SAVE
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library
from sandbox.record.manifest import ReprosPart
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder, slug_of
from sandbox.report.charts.layout import RunData
from sandbox.report.render import json as json_of
from sandbox.report.repro import repro_document
from sandbox.repro.definition import Repro
from sandbox.repro.file import read_repro, repro_names
from sandbox.repro.predicting import Pace, pace_of
from sandbox.repro.result import key_of
from sandbox.repro.run import REPRO
from sandbox.repro.runner import RESUMES, ReproCell, ReproRunner
from sandbox.repro.versions import VersionOfRepro, variants_of
from sandbox.stack.engine import Docker
from sandbox.stack.planning import available_here, planned
from sandbox.stack.snapshots.background import measuring

_PACED_BY = 5
"""Earlier results of a repro whose times say how long it takes."""
RESUMED = "the same command goes on where this one ended; NEW=1 starts from scratch"


class ReproLine(LiveLine):
    """The events of repros: each cell and repeat a line, steps move in a terminal."""

    has_repeats = True

    def __call__(self, event: Event) -> None:
        """Shows one event."""
        if not isinstance(event, Progress):
            return
        if event.step.startswith("step "):
            if self._terminal:
                self.move(f"{event.step}  {event.text}"[:90])
        elif event.step in (*REPRO.steps, SAVE):  # each takes a moment
            return
        elif event.step == RESUMES or event.text.startswith("starting ") or self.has_repeats:
            self.line(f"{event.step}  {event.text}")
        elif self._terminal:
            self.move(f"{event.step}  {event.text}")

    def progress(self) -> ProgressDisplay:
        """Shows a stack that starts, instead of the line that moves."""
        self.close()
        return ProgressDisplay("repro", self._stream)


def asked_repros(word: str | None, profile: str | None, sets: Sequence[str]) -> list[Repro]:
    """The repros that are meant, with PROFILE= and SET= in their place. SandboxError (exit 2)."""
    words = repro_names() if word is None else [word]
    repros = [read_repro(each) for each in words]
    changes: dict[str, object] = {}
    if profile is not None:
        changes["profile"] = profile
    if sets:
        changes["set"] = list(sets)
    if not changes:
        return repros
    return [each.with_changes(changes) for each in repros]


def cells_of(repros: Sequence[Repro], versions: str | None) -> list[ReproCell]:
    """Each repro in each version. One that cannot run here has the reason, where several are asked
    for.

    Raises SandboxError (exit 2) for a profile that cannot be planned in any version, and for a
    version that was asked for and is unavailable.
    """
    docker, library = Docker(), load_library()
    available = available_here(docker, library)
    asked = [each.strip() for each in (versions or "").split(",") if each.strip()]
    cells = []
    for repro in repros:
        whole = ReproCell(repro, VersionOfRepro("", repro.profile))
        planned(whole.request, library, docker, available)
        for variant in variants_of(repro.profile, asked, library, available):
            cell = ReproCell(repro, variant)
            try:
                plan = planned(cell.request, library, docker, available)
                if missing := unavailable(plan):
                    cells.append(cell.without(missing))
                else:
                    cells.append(cell.with_plan(plan))
            except SandboxError as error:
                if error.exit_code is not ExitCode.BAD_INPUT or (len(repros) == 1 and asked):
                    raise
                cells.append(cell.without(f"{error.what}: {error.known}"))
    return cells


def unavailable(plan: Plan) -> str | None:
    """``not available here: …``, with the images that a plan lacks; None: it lacks none."""
    missing = sorted({node.choice.reference for node in plan.unavailable()})
    return f"not available here: {', '.join(missing)}" if missing else None


def known_pace(results: Path, slugs: Sequence[str]) -> Pace:
    """What the last results took that have one of these endings of their names."""
    return pace_of(_parts_of(results, slugs))


def _parts_of(results: Path, slugs: Sequence[str]) -> Iterator[ReprosPart]:
    for ending in slugs:
        paths = sorted(results.glob(f"2*-{slug_of(ending).lower()}/manifest.json"))
        for path in paths[-_PACED_BY:]:
            with suppress(OSError, ValueError):  # a ValidationError is a ValueError
                part = ResultFolder(path.parent).manifest.repro
                if part is not None:
                    yield part


def show_plan(
    word: str | None, versions: str | None, profile: str | None, sets: Sequence[str], as_json: bool
) -> int:
    """Prints the steps and the versions of repros, and runs nothing."""
    repros = asked_repros(word, profile, sets)
    cells = cells_of(repros, versions)
    lines = []
    data = []
    for repro in repros:
        lines += [repro.title, f"  {repro.question}"]
        lines += [f"  {number:>2}  {step.text}" for number, step in enumerate(repro.steps, 1)]
        for side in ("bug", "fixed"):
            lines += [f"  {side:<5}  {each.text}" for each in getattr(repro.expect, side)]
        own = [cell for cell in cells if cell.repro is repro]
        for cell in own:
            why = f"   skipped: {cell.skipped}" if cell.skipped else ""
            lines.append(f"  in {cell.variant.version}: {cell.variant.profile}{why}")
        data.append(
            {
                "repro": repro.name,
                "title": repro.title,
                "steps": [step.text for step in repro.steps],
                "versions": {cell.variant.version: cell.skipped for cell in own},
            }
        )
    show(as_json, data, lines)
    return int(ExitCode.OK)


def _named(cells: Sequence[ReproCell]) -> tuple[str, str]:
    """What the result of these cells is of, and the end of its folder's name."""
    names = list(dict.fromkeys(cell.repro.name for cell in cells))
    if len(names) == 1:
        return cells[0].repro.profile, names[0]
    return f"{len(names)} repros", "repros"


def _none_here(skipped: Sequence[ReproCell]) -> SandboxError:
    """Why nothing can be carried out."""
    why = skipped[0].skipped if skipped else "no version can be had here"
    return SandboxError(
        "no version of this repro can be had here",
        str(why),
        "try: make list WHAT=versions",
        ExitCode.ENVIRONMENT,
    )


def carry_out(
    word: str | None,
    versions: str | None,
    profile: str | None,
    sets: Sequence[str],
    as_json: bool,
    *,
    repeat: int | None,
    fresh: bool,
    seed: int | None,
    command: Sequence[str],
    afresh: bool = False,
) -> int:
    """Carries repros out, prints the table; returns the exit code.

    ``afresh``: an unfinished result of the same is not resumed.
    """
    repros = asked_repros(word, profile, sets)
    cells = cells_of(repros, versions)
    can_run = [cell for cell in cells if cell.plan is not None]
    skipped = [cell for cell in cells if cell.plan is None]
    if not can_run:
        raise _none_here(skipped)
    with ReproLine("repro") as line, measuring(lambda _: None):
        for cell in skipped:
            line.line(f"{cell.name}  skipped: {cell.skipped}")
        shows = line.progress
        stacks = [cell.wanted.key for cell in can_run]
        key = key_of(repros, versions, repeat, fresh, seed, stacks)
        runner = ReproRunner(
            *_named(can_run), RESULTS, command, line, shows, Docker(), repeat, fresh, seed,
            key=key, afresh=afresh,
        )  # fmt: skip
        interrupted = False
        # What judges rates takes a second to import: nobody waits for it while a stack starts.
        Thread(target=import_module, args=("scipy.stats",), daemon=True).start()
        try:
            with runner:
                runner.carry_out(can_run)
        except KeyboardInterrupt:
            interrupted = True
            line.line(f"interrupted; {RESUMED}")
    result = runner.result
    records = read_records(result)
    if not records:
        known = "nothing was carried out"
        raise SandboxError("interrupted", known, "try: make repro", ExitCode.INTERRUPTED)
    _show(result, records, command, as_json)
    return int(ExitCode.INTERRUPTED if interrupted else exit_code(rows_of(records)))


def _show(
    result: ResultFolder, records: Sequence[Record], command: Sequence[str], as_json: bool
) -> None:
    document = repro_document([RunData(record) for record in records], command)
    folder = str(result.path.relative_to(RESULTS.parent))
    if as_json:
        print(json.dumps({**json_of.data(document), "result": folder}, indent=2))
    else:
        show_document(False, None, document, [f"{folder}/runs"])
    sys.stdout.flush()
