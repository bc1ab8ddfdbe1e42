"""Bisects a repro: which versions, the progress of the search, what is printed of it."""

import json
from collections.abc import Sequence

from sandbox.cli.common.repros import ReproLine, asked_repros
from sandbox.cli.common.showing import show_document
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.profile.library import Library
from sandbox.profile.reader import load_library
from sandbox.report.charts.layout import RunData
from sandbox.report.render import json as json_of
from sandbox.report.repro import bisect_document
from sandbox.repro.bisecting import FIRST_REPEATS, Bisected, Bisector, versions_between
from sandbox.repro.definition import Repro
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.versions import VersionOfRepro, in_version, server_term
from sandbox.stack.engine import Docker
from sandbox.stack.planning import available_here, planned
from sandbox.stack.snapshots.background import measuring

_EXAMPLE = "try: make bisect REPRO=snapshot-isolation-1020 GOOD=10.11 BAD=11.8"


def bisect(
    word: str | None,
    good: str | None,
    bad: str | None,
    profile: str | None,
    sets: Sequence[str],
    as_json: bool,
    *,
    repeat: int | None,
    command: Sequence[str],
) -> int:
    """Searches, prints what was found; returns the exit code: 0 where it ended at neighbours.

    Raises SandboxError: exit 2 for missing or impossible versions, and for a BAD that does not
    show the bug.
    """
    if not (word and good and bad) or good == bad:
        what = "bisect needs a REPRO, and two versions as GOOD and BAD"
        raise SandboxError(what, f"REPRO={word} GOOD={good} BAD={bad}", _EXAMPLE)
    (repro,) = asked_repros(word, profile, sets)
    docker, library = Docker(), load_library()
    planned(ReproCell(repro, VersionOfRepro("", repro.profile)).request, library, docker)
    available = available_here(docker, library)
    term = server_term(repro.profile, library)
    for each in (good, bad):
        _planned_cell(repro, each, library, docker)
    versions = versions_between(term, good, bad, library, available)
    slug = f"bisect-{repro.name}"
    with ReproLine("bisect") as line, measuring(lambda _: None):
        line.line(f"{repro.title}: {', '.join(versions)}")
        runner = ReproRunner(repro.profile, slug, RESULTS, command, line, line.progress, docker)
        with runner:
            bisector = Bisector(
                runner,
                lambda version: _planned_cell(repro, version, library, docker),
                line.line,
                repeat or max(FIRST_REPEATS, repro.repeat),
            )
            found = bisector.run(versions)
    image = library.catalog.image(library.components.get(term.name).spec.image or term.name)
    exact = {tried.version: tried.row.version or tried.version for tried in found.tried}
    notes = [image.notes_of(exact[each]) for each in (found.search.good, found.search.bad)]
    return _show(found, runner, [each for each in notes if each], as_json)


def _planned_cell(repro: Repro, version: str, library: Library, docker: Docker) -> ReproCell:
    variant = VersionOfRepro(version, in_version(repro.profile, version, library))
    cell = ReproCell(repro, variant)
    plan = planned(cell.request, library, docker)
    missing = sorted({node.choice.reference for node in plan.unavailable()})
    if missing:
        what = f"not available here: {', '.join(missing)}"
        step = "try: make list WHAT=versions"
        raise SandboxError(what, f"{version} of {repro.profile}", step, ExitCode.ENVIRONMENT)
    return cell.with_plan(plan)


def _show(found: Bisected, runner: ReproRunner, notes: Sequence[str], as_json: bool) -> int:
    records = runner.result.records()
    document = bisect_document([RunData(record) for record in records], found.search, notes)
    folder = str(runner.result.path.relative_to(RESULTS.parent))
    if as_json:
        search = {
            "good": found.search.good,
            "bad": found.search.bad,
            "skipped": found.search.skipped,
            "repeats": found.repeats,
            "predicted_s": round(found.predicted_s, 1),
            "taken_s": round(found.taken_s, 1),
        }
        print(json.dumps({**json_of.data(document), **search, "result": folder}, indent=2))
    else:
        show_document(False, None, document, [f"{folder}/runs"])
    return int(ExitCode.OK)
