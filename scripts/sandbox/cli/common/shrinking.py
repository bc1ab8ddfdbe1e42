"""Shrinks a repro: its tries on stacks, the progress, the file that is left."""

import itertools
from collections.abc import Sequence

import yaml

from sandbox.cli.common.repros import ReproLine
from sandbox.cli.common.showing import show
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.core.paths import RESULTS
from sandbox.judge.bisect import repeats_needed
from sandbox.judge.repros import ReproRow, rows_of
from sandbox.profile.reader import load_library
from sandbox.repro.definition import Repro
from sandbox.repro.file import read_with_source
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.shrinking import Shrinker, Shrunk
from sandbox.repro.versions import VersionOfRepro
from sandbox.stack.engine import Docker
from sandbox.stack.planning import planned
from sandbox.stack.snapshots.background import measuring

FIRST_REPEATS = 5
FILE = "shrunk.yaml"


class ShrinkLine(ReproLine):
    """Of hundreds of repeats a line each would hide what was left out."""

    has_repeats = False


def shrink(
    word: str | None, profile: str | None, as_json: bool, *, repeat: int | None,
    command: Sequence[str],
) -> int:  # fmt: skip
    """Shrinks, writes the smaller file beside the records, prints what was left out.

    Raises SandboxError: exit 2 for a repro that does not show its bug.
    """
    if not word:
        known = "it needs a repro that shows its bug here"
        raise SandboxError("no REPRO was given", known, "try: make list WHAT=repros")
    repro, source = read_with_source(word)
    if profile is not None:
        source = {**source, "profile": profile}
    docker, library = Docker(), load_library()
    original = Repro.model_validate({**source, "name": repro.name})
    planned(ReproCell(original, VersionOfRepro("", original.profile)).request, library, docker)
    numbers = itertools.count(1)

    def tried(runner: ReproRunner, candidate: Repro) -> ReproRow:
        cell = ReproCell(candidate, VersionOfRepro(f"try-{next(numbers)}", candidate.profile))
        plan = planned(cell.request, library, docker)
        runner.carry_out([cell.with_plan(plan)])
        records = [each for each in runner.result.records() if each.cell == cell.name]
        return rows_of(records)[0]

    with ShrinkLine("shrink") as line, measuring(lambda _: None):
        runner = ReproRunner(
            str(source["profile"]), f"shrink-{repro.name}", RESULTS, command, line, line.progress,
            docker, repeat or max(FIRST_REPEATS, repro.repeat),
        )  # fmt: skip
        with runner:
            whole = tried(runner, original)
            if not whole.count:
                raise _not_shown(repro, whole)
            runner.repeat = repeats_needed(whole.count, whole.judged, 1)
            runner.ends_when_shown = True
            line.line(
                f"shown in {whole.count} of {whole.judged}; each try has at most {runner.repeat}"
                " repeats"
            )
            shrinker = Shrinker(repro.name, lambda made: bool(tried(runner, made).count), line.line)
            found = shrinker.run(source)
            path = runner.result.path / FILE
            text = yaml.safe_dump(found.source, sort_keys=False, allow_unicode=True, width=100)
            path.write_text(text, encoding="utf-8")
    _show(found, str(path.relative_to(RESULTS.parent)), text, as_json)
    return int(ExitCode.OK)


def _not_shown(repro: Repro, row: ReproRow) -> SandboxError:
    what = f"{repro.name} does not show its bug here"
    step = "try: the same with PROFILE= of a version that has it, or REPEAT=50 for a race"
    return SandboxError(what, row.seen, step)


def _show(found: Shrunk, path: str, text: str, as_json: bool) -> None:
    data = {"tries": found.tries, "left_out": found.left_out, "file": path, "repro": found.source}
    head = f"{len(found.left_out)} parts left out in {found.tries} tries"
    show(as_json, data, [head, "", *text.splitlines(), "", path])
