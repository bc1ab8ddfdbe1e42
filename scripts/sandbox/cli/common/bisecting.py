"""Bisects a repro: over which versions, settings or commits, the progress of the search, what is
printed of it.
"""

import json
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sandbox.cli.common.repros import RESUMED, ReproLine, asked_repros, known_pace, unavailable
from sandbox.cli.common.showing import show_document
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.matrix.cell import binaries_of
from sandbox.profile.data_directory import base_plans, base_requests
from sandbox.profile.library import Library
from sandbox.profile.reader import load_library
from sandbox.report.charts.layout import RunData
from sandbox.report.render import json as json_of
from sandbox.report.repro import search_document
from sandbox.repro.bisecting import FIRST_REPEATS, Bisector, versions_between
from sandbox.repro.bisecting_commits import CommitBisector
from sandbox.repro.bisecting_settings import BAD, GOOD, SettingsBisector
from sandbox.repro.definition import Repro
from sandbox.repro.predicting import StartNeeds
from sandbox.repro.result import key_of
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.settings import (
    Configuration,
    between,
    configuration_in,
    configuration_of,
    differences,
)
from sandbox.repro.source_tree import SourceTree, no_tree
from sandbox.repro.versions import VersionOfRepro, in_version, server_term
from sandbox.stack.binary_build import remove_built
from sandbox.stack.engine import Docker
from sandbox.stack.planning import available_here, planned
from sandbox.stack.snapshots.background import measuring

OVER = ("versions", "settings", "commits")
_EXAMPLE = "try: make bisect REPRO=snapshot-isolation-1020 GOOD=10.11 BAD=11.8"
_FILES = (".cnf", ".ini")


@dataclass(frozen=True)
class BisectRequest:
    """What `bisect` is asked for. ``repo``, ``build``, ``binary``: of a search over commits."""

    word: str | None
    good: str | None
    bad: str | None
    over: str
    profile: str | None
    sets: Sequence[str]
    repeat: int | None
    command: Sequence[str]
    afresh: bool = False
    repo: str | None = None
    build: str | None = None
    binary: str | None = None


@dataclass(frozen=True, slots=True)
class FoundOut:
    """What a search has found, for what is printed. ``said``: its own data."""

    answer: str
    notes: Sequence[str]
    predicted_s: float
    taken_s: float
    repeats: int
    said: dict[str, object]


def bisect(request: BisectRequest, as_json: bool) -> int:
    """Searches, prints what was found; returns the exit code: 0 where it ended at an answer, 3
    where it ended among commits that had to be left out.

    Raises SandboxError: exit 2 for missing or impossible ends, and for a BAD that does not show the
    bug; exit 130 on Ctrl-C.
    """
    if request.over not in OVER:
        known = "versions of the server, settings of one version, or commits of its source"
        raise SandboxError(f"OVER={request.over} is nothing to bisect over", known, _EXAMPLE)
    if not (request.word and request.good and request.bad) or request.good == request.bad:
        what = "bisect needs a REPRO, and two different ends as GOOD and BAD"
        known = f"REPRO={request.word} GOOD={request.good} BAD={request.bad}"
        raise SandboxError(what, known, _EXAMPLE)
    _refuse_others_options(request)
    (repro,) = asked_repros(request.word, request.profile, request.sets)
    how = {"versions": _over_versions, "settings": _over_settings, "commits": _over_commits}
    try:
        return how[request.over](_Bisecting(request, repro, as_json))
    except KeyboardInterrupt:
        step = "try: the same command again"
        raise SandboxError("interrupted", RESUMED, step, ExitCode.INTERRUPTED) from None


def _refuse_others_options(request: BisectRequest) -> None:
    """Raises SandboxError (exit 2) for an option of a search over commits in another one."""
    of_commits = {"REPO": request.repo, "BUILD": request.build, "BINARY": request.binary}
    given = [name for name, value in of_commits.items() if value]
    if given and request.over != "commits":
        what = f"{given[0]}= is for a search over commits"
        step = "try: the same with OVER=commits"
        raise SandboxError(what, f"this one is over {request.over}", step)


class _Bisecting:
    """One search: what it is asked for, and the tools that it needs."""

    def __init__(self, request: BisectRequest, repro: Repro, as_json: bool) -> None:
        self.request = request
        self.repro = repro
        self.as_json = as_json
        self.docker = Docker()
        self.library: Library = load_library()
        self.slug = f"bisect-{repro.name}"
        self.good = request.good or ""
        self.bad = request.bad or ""
        self.first_repeats = request.repeat or max(FIRST_REPEATS, repro.repeat)
        self.pace = known_pace(RESULTS, [self.slug, repro.name])

    def cell(self, word: str, repro: Repro, profile: str) -> ReproCell:
        """A variant, not planned yet."""
        return ReproCell(repro, VersionOfRepro(word, profile))

    def planned(self, cell: ReproCell) -> ReproCell:
        """A variant that can run. Raises SandboxError: exit 4 where an image is unavailable."""
        plan = planned(cell.request, self.library, self.docker)
        if missing := unavailable(plan):
            known = f"{cell.variant.version} of {cell.repro.profile}"
            step = "try: make list WHAT=versions"
            raise SandboxError(missing, known, step, ExitCode.ENVIRONMENT)
        return cell.with_plan(plan)

    def runner(self, line: ReproLine, *identity: object) -> ReproRunner:
        """The runner of its tries. ``identity``: what distinguishes it from other searches."""
        request = self.request
        key = key_of([self.repro], "bisect", request.over, self.first_repeats, *identity)
        return ReproRunner(
            self.repro.profile, self.slug, RESULTS, request.command, line, line.progress,
            self.docker, key=key, search="bisect", afresh=request.afresh,
        )  # fmt: skip

    def show(self, runner: ReproRunner, found: FoundOut) -> int:
        """Prints the outcome."""
        runs = [RunData(record) for record in runner.result.records()]
        document = search_document(runs, found.answer, found.notes)
        folder = str(runner.result.path.relative_to(RESULTS.parent))
        if self.as_json:
            search = {
                **found.said,
                "answer": found.answer,
                "repeats": found.repeats,
                "predicted_s": round(found.predicted_s, 1),
                "taken_s": round(found.taken_s, 1),
            }
            print(json.dumps({**json_of.data(document), **search, "result": folder}, indent=2))
        else:
            show_document(False, None, document, [f"{folder}/runs"])
        return int(ExitCode.OK)


def _noted(runner: ReproRunner, found: FoundOut) -> None:
    """Stores the outcome in the result, while it is still open."""
    runner.result.note_repro(
        answer=found.answer,
        notes=list(found.notes),
        predicted_s=round(found.predicted_s, 1),
        taken_s=round(found.taken_s, 1),
    )


def _over_versions(search: _Bisecting) -> int:
    repro, library = search.repro, search.library
    available = available_here(search.docker, library)
    # What no version can have is reported first.
    planned(search.cell("", repro, repro.profile).request, library, search.docker, available)
    term = server_term(repro.profile, library)

    def cell_of(version: str) -> ReproCell:
        profile = in_version(repro.profile, version, library)
        return search.planned(search.cell(version, repro, profile))

    for each in (search.good, search.bad):
        cell_of(each)
    versions = versions_between(term, search.good, search.bad, library, available)

    def needs(version: str) -> StartNeeds:
        """Without asking the engine again what it has: there may be dozens of versions."""
        cell = search.cell(version, repro, in_version(repro.profile, version, library))
        try:
            plan = planned(cell.request, library, search.docker, available)
            bases = base_plans(base_requests(plan, library), library, available)
            return StartNeeds(*runner.stacks.needs(plan, bases))
        except SandboxError:  # it will be left out
            return StartNeeds()

    with ReproLine("bisect") as line, measuring(lambda _: None):
        line.line(f"{repro.title}: {', '.join(versions)}")
        runner = search.runner(line, versions[0], versions[-1])
        with runner:
            bisector = Bisector(
                runner, cell_of, line.line, search.first_repeats, needs, search.pace
            )
            found = bisector.run(versions)
            image = library.catalog.image(library.components.get(term.name).spec.image or term.name)
            exact = {tried.word: tried.row.version or tried.word for tried in found.tried}
            addresses = [image.notes_of(exact[each]) for each in (found.good, found.bad)]
            outcome = FoundOut(
                found.answer,
                [f"release notes: {each}" for each in addresses if each],
                found.predicted_s,
                found.taken_s,
                found.repeats,
                {"good": found.good, "bad": found.bad, "skipped": found.search.skipped},
            )
            _noted(runner, outcome)
    return search.show(runner, outcome)


def _over_settings(search: _Bisecting) -> int:
    repro = search.repro
    good = _configuration(search.good, "GOOD")
    bad = _configuration(search.bad, "BAD")
    parts = differences(good, bad)

    def cell_of(word: str, assignments: Sequence[str]) -> ReproCell:
        variant = repro.with_changes({"set": list(assignments)})
        return search.planned(search.cell(word, variant, repro.profile))

    ends = [cell_of(GOOD, between(good, parts, [])), cell_of(BAD, between(good, parts, parts))]
    with ReproLine("bisect") as line, measuring(lambda _: None):
        line.line(f"{repro.title}: {len(parts)} variables differ between GOOD and BAD")
        runner = search.runner(line, [each.wanted.key for each in ends])
        with runner:
            bisector = SettingsBisector(
                runner, cell_of, line.line, search.first_repeats, search.pace
            )
            found = bisector.run(good, bad)
            outcome = FoundOut(
                found.answer,
                [],
                found.predicted_s,
                found.taken_s,
                found.repeats,
                {
                    "variables": {
                        each.variable: {"good": each.good, "bad": each.bad} for each in found.left
                    },
                    "differing": len(parts),
                },
            )
            _noted(runner, outcome)
    return search.show(runner, outcome)


def _configuration(text: str, end: str) -> Configuration:
    """A SET= text, or an option file by its path. Raises SandboxError (exit 2)."""
    path = Path(text).expanduser()
    if not (path.suffix in _FILES or "=" not in text):
        return configuration_of(text)
    try:
        content = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        known = f"an option file or variables, such as {end}='max_connections=100' ({problem})"
        step = f"try: ls -l {text}"
        raise SandboxError(f"{end}={text} cannot be read", known, step) from problem
    return configuration_in(text, content)


def _over_commits(search: _Bisecting) -> int:
    request, library = search.request, search.library
    if not (request.repo and request.build and request.binary):
        raise no_tree(request.repo)
    tree = SourceTree(Path(request.repo).expanduser())
    tree.refuse_no_tree()
    tree.refuse_changed()
    good = tree.commit(search.good, "GOOD")
    bad = tree.commit(search.bad, "BAD")
    tree.refuse_order(good, bad)
    term = server_term(search.repro.profile, library)
    profile = in_version(search.repro.profile, None, library)
    word, _, place = request.binary.rpartition("=")
    binary = f"{word or term.name}={shlex.quote(str(tree.path / place))}"
    repro = search.repro.model_copy(update={"binary": [binary], "profile": profile})
    made = _MadeImages(search.docker)

    def planned_now(cell: ReproCell) -> ReproCell:
        binaries_of.cache_clear()  # the same path has another server now
        made.remove_unused()
        return made.noted(search.planned(cell))

    with ReproLine("bisect") as line, measuring(lambda _: None):
        line.line(f"{repro.title}: {good.text} to {bad.text}")
        runner = search.runner(line, str(tree.path.resolve()), good.sha, bad.sha, request.build)
        runner.keeps_bases = False  # each commit's server starts once
        try:
            with runner:
                bisector = CommitBisector(
                    runner, tree, str(request.build), runner.result.path / "builds",
                    lambda commit: search.cell(commit, repro, profile), planned_now, line.line,
                    search.first_repeats, search.pace,
                )  # fmt: skip
                found = bisector.run(good, bad)
                outcome = FoundOut(
                    found.answer,
                    [],
                    found.predicted_s,
                    found.taken_s,
                    found.repeats,
                    {
                        "first_bad": found.first_bad and found.first_bad.sha,
                        "subject": found.first_bad and found.first_bad.subject,
                        "skipped": [each.sha for each in found.skipped],
                    },
                )
                _noted(runner, outcome)
        finally:
            made.remove_unused()
    code = search.show(runner, outcome)
    return code if found.first_bad else int(ExitCode.UNKNOWN)


class _MadeImages:
    """Images of servers that a search has built: one is of use until the next commit is tried."""

    def __init__(self, docker: Docker) -> None:
        self._docker = docker
        self._made: set[tuple[str, str]] = set()
        """Keys of images, and marks of what was built."""

    def noted(self, cell: ReproCell) -> ReproCell:
        """The cell; the image that is built for it is removed later, one that was here is not."""
        for node in cell.wanted.plan.databases:
            choice = node.choice
            if choice.binary is not None and choice.source == "build":
                self._made.add((choice.key, choice.binary.mark))
        return cell

    def remove_unused(self) -> None:
        """Removes those that no container has."""
        self._made = {each for each in self._made if not remove_built(self._docker, *each)}
