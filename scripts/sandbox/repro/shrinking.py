"""Shrinks a repro: leaves out what the bug does not need, part by part, as long as it shows."""

import copy
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.grammar import parse, split_assignments
from sandbox.repro.ddmin import ddmin, one_by_one
from sandbox.repro.definition import Repro
from sandbox.repro.steps.ends import EndsStep
from sandbox.repro.steps.statement import StatementStep

Source = Mapping[str, Any]
"""The data of a repro's file."""
Shows = Callable[[Repro], bool]
"""Whether a repro, carried out as often as needed, shows the bug."""
LeaveOut = Callable[[Sequence[str], Callable[[Sequence[str]], bool]], list[str]]
"""`ddmin`, or `one_by_one`."""
_STATEMENT = re.compile(r";\s*(?:\n|$)|;\s+")
_FEWEST_ROWS = 1


@dataclass
class Shrunk:
    """A search under way. ``source``: the smallest file so far that shows the bug."""

    source: dict[str, Any]
    tries: int = 0
    left_out: list[str] = field(default_factory=list)


@dataclass
class Shrinker:
    """Tries smaller and smaller files. What it has tried once it does not try again."""

    name: str
    shows: Shows
    say: Callable[[str], None]
    _known: dict[str, bool] = field(default_factory=dict)

    def run(self, source: Source) -> Shrunk:
        """The file without all that the bug does not need: no further part can be left out alone.

        The kinds of parts come one after the other, those first that need no other stack, each from
        its halves on; then again one by one, until none of them has become smaller.
        """
        found = Shrunk(copy.deepcopy(dict(source)))
        leave_out: LeaveOut = ddmin
        while True:
            before = copy.deepcopy(found.source)
            for kind in (_StepParts, _DataStatements, _Rows, _Assignments, _Terms, _ClusterMembers):
                self._shrink(found, kind, leave_out)
            if found.source == before:
                return found
            leave_out = one_by_one

    def _shrink(self, found: Shrunk, kind: "type[_Parts]", leave_out: "LeaveOut") -> None:
        parts = kind(found.source)
        names = parts.names()
        if not names:
            return

        def shows(kept: Sequence[str]) -> bool:
            return self._shows(found, parts.with_only(kept))

        left = leave_out(names, shows)
        gone = [name for name in names if name not in left]
        if gone:
            found.source = parts.with_only(left)
            found.left_out += gone
            self.say(f"without {len(gone)} of {len(names)} {kind.word}: {', '.join(gone)}")

    def _shows(self, found: Shrunk, candidate: Source) -> bool:
        identity = repr(candidate)
        if identity not in self._known:
            found.tries += 1
            try:
                repro = Repro.model_validate({**candidate, "name": self.name})
                self._known[identity] = has_beginnings(repro) and self.shows(repro)
            except ValidationError:  # what is no repro shows nothing
                self._known[identity] = False
            except SandboxError as error:  # nor does a stack that cannot be planned
                if error.exit_code is not ExitCode.BAD_INPUT:
                    raise
                self._known[identity] = False
        return self._known[identity]


def has_beginnings(repro: Repro) -> bool:
    """Whether every step that ends something comes after one that may have begun it."""
    begun = set[str]()
    for step in repro.steps:
        if isinstance(step, StatementStep):
            begun.add(step.session)
        elif isinstance(step, EndsStep) and step.session not in begun:
            return False
    return True


class _Parts(ABC):
    """The parts of one kind in a file, each under a name of its own."""

    word = "parts"

    def __init__(self, source: Source) -> None:
        self.source = source
        self._parts = dict(self._found())

    def names(self) -> list[str]:
        """Names of the parts, in their order."""
        return list(self._parts)

    def with_only(self, kept: Sequence[str]) -> dict[str, Any]:
        """The file with these parts of the kind, and with all else."""
        made = copy.deepcopy(dict(self.source))
        self._set(made, [self._parts[name] for name in kept])
        return made

    @abstractmethod
    def _found(self) -> Iterator[tuple[str, Any]]:
        """Every part with its name."""

    @abstractmethod
    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        """Puts these parts into a file in place of all of the kind."""


def _numbered(texts: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    for number, (text, part) in enumerate(texts, 1):
        yield f"{number} ({text})", part


class _StepParts(_Parts):
    word = "steps"

    def _found(self) -> Iterator[tuple[str, Any]]:
        steps = self.source["steps"]
        texts = [(" ".join(f"{next(iter(step))}: {next(iter(step.values()))}".split()), step)
                 for step in steps]  # fmt: skip
        yield from _numbered([(text[:60], step) for text, step in texts])

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        made["steps"] = parts


class _DataStatements(_Parts):
    word = "statements of load.sql"

    def _found(self) -> Iterator[tuple[str, Any]]:
        sql = str((self.source.get("load") or {}).get("sql") or "")
        statements = [each.strip() for each in _STATEMENT.split(sql) if each.strip()]
        yield from _numbered([(" ".join(each.split())[:60], each) for each in statements])

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        load = dict(made.get("load") or {})
        load["sql"] = ";\n".join(parts) or None
        made["load"] = {key: value for key, value in load.items() if value}
        if not made["load"]:
            del made["load"]


class _Rows(_Parts):
    """Generated rows: a part is a doubling, whichever; without it there are half as many."""

    word = "doublings of generated rows"

    def _found(self) -> Iterator[tuple[str, Any]]:
        rows = (self.source.get("load") or {}).get("rows") or {}
        for table, generated in rows.items():
            count = int(generated["count"])
            while count > _FEWEST_ROWS:
                yield f"{table}: rows from {count // 2} to {count}", table
                count //= 2

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        rows = (made.get("load") or {}).get("rows") or {}
        for table, generated in rows.items():
            halvings = [*self._parts.values()].count(table) - parts.count(table)
            generated["count"] = max(_FEWEST_ROWS, int(generated["count"]) // 2**halvings)


class _Assignments(_Parts):
    word = "variables"

    def _found(self) -> Iterator[tuple[str, Any]]:
        given = self.source.get("set") or []
        texts = [given] if isinstance(given, str) else list(given)
        for term, name, value in split_assignments(tuple(texts)):
            text = f"{f'{term}:' if term else ''}{name}={value}"
            yield text, text

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        made.pop("set", None)
        if parts:
            made["set"] = [_quoted(each) for each in parts]


def _quoted(assignment: str) -> str:
    head, _, value = assignment.partition("=")
    return f"{head}='{value}'" if re.search(r"\s", value) else assignment


class _Terms(_Parts):
    word = "terms"

    def _found(self) -> Iterator[tuple[str, Any]]:
        _, *others = parse(str(self.source["profile"]))
        yield from _numbered([(term.text, term.text) for term in others])

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        first, *_ = parse(str(self.source["profile"]))
        made["profile"] = "+".join([first.text, *parts])


class _ClusterMembers(_Parts):
    """Members of the first term beyond the first: the last ones are left out."""

    word = "members"

    def _found(self) -> Iterator[tuple[str, Any]]:
        first, *_ = parse(str(self.source["profile"]))
        for number in range(2, (first.count or 1) + 1):
            yield f"{first.name}{number}", number

    def _set(self, made: dict[str, Any], parts: list[Any]) -> None:
        first, *others = parse(str(self.source["profile"]))
        count = 1 + len(parts)
        version = f"@{first.version}" if first.version else ""
        made["profile"] = "+".join(
            [f"{first.name}{count}{version}", *(term.text for term in others)]
        )
