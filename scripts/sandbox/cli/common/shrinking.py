"""Shrinks a repro: its tries on stacks, the progress, the file that is left."""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

import yaml

from sandbox.cli.common.repros import RESUMED, ReproLine
from sandbox.cli.common.showing import show
from sandbox.core.errors import ExitCode, SandboxError, counted
from sandbox.core.paths import RESULTS
from sandbox.judge.bisect import repeats_needed
from sandbox.judge.repros import ReproRow, rows_of
from sandbox.profile.reader import load_library
from sandbox.record.record import Record
from sandbox.repro.definition import Repro
from sandbox.repro.file import read_with_source
from sandbox.repro.result import key_of
from sandbox.repro.runner import ReproCell, ReproRunner
from sandbox.repro.shrinking import Shrinker, Shrunk
from sandbox.repro.versions import VersionOfRepro
from sandbox.stack.engine import Docker
from sandbox.stack.planning import planned
from sandbox.stack.snapshots.background import measuring

FIRST_REPEATS = 5
FILE = "shrunk.yaml"
ALIKE = 2
"""Repeats that end at the same step are enough: most tries lack what that step needs."""
_LEAST_PATIENCE_S = 2.0
_PATIENCE = 3
"""A statement of a try may take so many times as long as all of the whole repro: one that waits for
a session whose end was left out would else wait for half a minute in each repeat.
"""


class ShrinkLine(ReproLine):
    """Of hundreds of repeats a line each would hide what was left out."""

    has_repeats = False


def shrink(
    word: str | None, profile: str | None, as_json: bool, *, repeat: int | None,
    command: Sequence[str], afresh: bool = False,
) -> int:  # fmt: skip
    """Shrinks, writes the smaller file beside the records, prints what was left out.

    ``afresh``: an unfinished result of the same is not resumed. Raises SandboxError: exit 2 for a
    repro that does not show its bug; exit 130 on Ctrl-C.
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
    first_repeats = repeat or max(FIRST_REPEATS, repro.repeat)

    def tried(runner: ReproRunner, candidate: Repro) -> list[Record]:
        cell = ReproCell(candidate, VersionOfRepro(_word_of(candidate), candidate.profile))
        if runner.is_open(cell):
            cell = cell.with_plan(planned(cell.request, library, docker))
        return runner.carry_out([cell])

    with ShrinkLine("shrink") as line, measuring(lambda _: None):
        runner = ReproRunner(
            str(source["profile"]), f"shrink-{repro.name}", RESULTS, command, line, line.progress,
            docker, first_repeats, key=key_of([original], "shrink", first_repeats),
            search="shrink", afresh=afresh,
        )  # fmt: skip
        try:
            with runner:
                whole = tried(runner, original)
                _begin_tries(runner, repro, whole, line)
                shrinker = Shrinker(
                    repro.name,
                    lambda made: bool(rows_of(tried(runner, made))[0].count),
                    line.line,
                )
                found = shrinker.run(source)
                path = runner.result.path / FILE
                text = yaml.safe_dump(found.source, sort_keys=False, allow_unicode=True, width=100)
                path.write_text(text, encoding="utf-8")
                runner.result.note_repro(answer=_head(found), notes=found.left_out)
        except KeyboardInterrupt:
            what = f"interrupted after {counted(runner.done, 'repeat')}"
            raise SandboxError(what, RESUMED, _again(word), ExitCode.INTERRUPTED) from None
    _show(found, str(path.relative_to(RESULTS.parent)), text, as_json)
    return int(ExitCode.OK)


def _again(word: str) -> str:
    return f"try: make shrink REPRO={word}"


def _word_of(candidate: Repro) -> str:
    """A name for a try by what is tried: the same one is not made twice, also when resumed."""
    change = json.dumps(candidate.change.model_dump(mode="json"), sort_keys=True)
    digest = hashlib.sha256(f"{candidate.sha256}{change}".encode()).hexdigest()
    return f"try-{digest[:10]}"


def _begin_tries(
    runner: ReproRunner, repro: Repro, whole: Sequence[Record], line: ShrinkLine
) -> None:
    """How often each try is repeated, and how long a statement may take, by what the whole showed.

    Raises SandboxError (exit 2) where it does not show its bug.
    """
    (row,) = rows_of(whole)
    if not row.count:
        raise _not_shown(repro, row)
    runner.repeat = repeats_needed(row.count, row.judged, 1)
    runner.ends_when_shown = True
    runner.enough = ALIKE
    runner.patience_s = max(_LEAST_PATIENCE_S, _PATIENCE * _longest_s(whole))
    line.line(f"shown in {row.count} of {row.judged}; each try has at most {runner.repeat} repeats")


def _longest_s(records: Sequence[Record]) -> float:
    """The longest repeat, from its first step to its last expectation."""
    return max((each.repro.seconds for each in records if each.repro is not None), default=0.0)


def _not_shown(repro: Repro, row: ReproRow) -> SandboxError:
    what = f"{repro.name} does not show its bug here"
    step = "try: the same with PROFILE= of a version that has it, or REPEAT=50 for a race"
    return SandboxError(what, row.seen, step)


def _head(found: Shrunk) -> str:
    tries = "1 try" if found.tries == 1 else f"{found.tries} tries"
    return f"{counted(len(found.left_out), 'part')} left out in {tries}"


def _show(found: Shrunk, path: str, text: str, as_json: bool) -> None:
    data: dict[str, Any] = {
        "tries": found.tries,
        "left_out": found.left_out,
        "file": path,
        "repro": found.source,
    }
    show(as_json, data, [f"{_head(found)}:", "", *text.splitlines(), "", path])
