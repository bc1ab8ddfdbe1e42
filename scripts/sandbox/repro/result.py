"""The result of repros: a new one, or the one in which an earlier start of the same was ended."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from sandbox.measure.execute import now, tool_commit
from sandbox.record.manifest import Manifest, ReprosPart
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder, slug_of
from sandbox.repro.definition import Repro
from sandbox.stack.locks import claimed, is_held, locked

PREFIX = "repro"
_FINAL = ("ok", "failed", "skipped")
"""A repeat with another status is made again when its result is resumed."""
_CLAIMS = "repro-results"
"""Held while a result is chosen: nobody else takes it meanwhile."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a result is of.

    ``key``: an unfinished result with the same one is resumed, unless ``afresh``; ``slug``: the end
    of its folder's name.
    """

    key: str
    profile: str
    slug: str
    command: Sequence[str]
    search: Literal["bisect", "shrink"] | None = None
    afresh: bool = False


def key_of(repros: Sequence[Repro], *more: object) -> str:
    """Identity of repros, with their stacks and their dumps, and of what else is asked for. 16
    hexadecimal digits.
    """
    said = [_identity(each) for each in repros]
    text = json.dumps([said, *more], sort_keys=True, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _identity(repro: Repro) -> list[object]:
    dump = None
    if repro.load.file is not None:
        with suppress(OSError):  # it is reported when it is restored
            dump = hashlib.sha256(Path(repro.load.file).read_bytes()).hexdigest()
    change = repro.change.model_dump(mode="json")
    return [repro.name, repro.sha256, change, dump, repro.repeat, repro.fresh]


@contextmanager
def opened_result(asked: Asked, results: Path) -> Iterator[tuple[ResultFolder, bool]]:
    """The result, which is nobody else's during the block; and whether it is resumed."""
    with ExitStack() as held:
        with locked(_CLAIMS, lambda: None):
            earlier = None if asked.afresh else unfinished(asked, results)
            result = earlier or _new(asked, results)
            held.enter_context(claimed([lock_of(own_of(result))]))
        yield result, earlier is not None


def unfinished(asked: Asked, results: Path) -> ResultFolder | None:
    """The newest result of the same, if it has not ended and no command is at work on it."""
    ending = slug_of(asked.slug).lower()
    for path in sorted(results.glob(f"2*-{ending}*/manifest.json"), reverse=True):
        result = ResultFolder(path.parent)
        with suppress(OSError, ValueError):  # a ValidationError (of another version) is one, too
            manifest = result.manifest
            if manifest.repro is None or manifest.repro.key != asked.key:
                continue
            if manifest.ended_utc is not None:
                return None  # what NEW=1 has replaced is not resumed after its end
            if not is_held(lock_of(own_of(result))):
                return result
    return None


def _new(asked: Asked, results: Path) -> ResultFolder:
    manifest = Manifest(
        kind="repro",
        slug=slug_of(asked.slug).lower(),
        profile=asked.profile,
        command=list(asked.command),
        started_utc=now(),
        tool_commit=tool_commit(),
        repro=ReprosPart(key=asked.key, search=asked.search),
    )
    return ResultFolder.create(results, manifest)


def own_of(result: ResultFolder) -> str:
    """The part of its stacks' names that is the result's own; 6 hexadecimal digits."""
    return hashlib.sha256(result.path.name.encode()).hexdigest()[:6]


def lock_of(own: str) -> str:
    """The lock that a command holds while it works on a result."""
    return f"{PREFIX}-{own}"


def recorded(result: ResultFolder) -> dict[str, Record]:
    """The repeats that are not made again, by the names of their runs."""
    found = {}
    for entry in result.manifest.runs:
        if entry.status in _FINAL:
            with suppress(OSError, ValueError):  # what cannot be read is made again
                found[entry.run] = result.record(entry.run)
    return found
