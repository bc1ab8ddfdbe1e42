"""PURE: the report of pt-upgrade, read: which statement differs, how, and its statistics."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

NO_ERROR = "no error"
DifferenceKind = Literal["failed", "error", "time", "warning", "rows"]
"""``failed``: an error on both servers; ``error``: on one."""

_KINDS: dict[str, DifferenceKind] = {
    "SQL errors": "failed",
    "Query errors diffs": "error",
    "Query time diffs": "time",
    "Warning diffs": "warning",
    "Row diffs": "rows",
}
_HEAD = re.compile(r"^## ([A-Z][A-Za-z ]+): \d+$")
_CLASS = re.compile(r"^# Query class ([0-9A-F]+)$")
_COUNT = re.compile(r"^Total queries +(\d+)$")
_EXAMPLE = re.compile(r"^-- \d+\.$")
_QUERY = re.compile(r"^/\*(\d+)\*/ ")
_STATISTIC = re.compile(r"^(\w+) {2,}(\d+)$")
_TIMES = re.compile(r"^([\d.]+) vs\. ([\d.]+) seconds")
_CODE = re.compile(r"^ *Code: (\d+)$")
_LEVEL = re.compile(r"^ *Level: (\w+)$")
_MESSAGE = re.compile(r"^Message: (.*)$")
_DRIVER = re.compile(r"^DBD::\w+::\w+ (?:execute|prepare) failed: ")
_PLACE = re.compile(r' \[for Statement ".*$| at \S*pt-upgrade line \d+.*$', re.DOTALL)


@dataclass(frozen=True, slots=True)
class PtDifference:
    """A difference in pt-upgrade's report. ``number``: of the statement, as `replay` marks it."""

    kind: DifferenceKind
    number: int
    on_from: str
    on_to: str
    code: int | None = None
    """Of a warning."""
    times_s: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class PtReport:
    """A report that was read. ``statistics`` is empty where pt-upgrade did not get to its end."""

    differences: tuple[PtDifference, ...]
    statistics: dict[str, int]


def read_report(text: str) -> PtReport:
    """What a report says. Text between its parts, such as Perl's warnings, is left out."""
    lines = text.splitlines()
    found: list[PtDifference] = []
    statistics: dict[str, int] = {}
    kind: DifferenceKind | None = None
    place = 0
    while place < len(lines):
        line = lines[place]
        place += 1
        head = _HEAD.match(line)
        if head:
            kind = _KINDS.get(head[1])
        elif _CLASS.match(line):
            kind = None
        elif _EXAMPLE.match(line) and kind is not None:
            place, difference = _example(lines, place, kind)
            found += difference
        elif kind is None and (number := _STATISTIC.match(line)):
            statistics[number[1]] = int(number[2])
        elif line == "# Stats":
            kind = None
    return PtReport(tuple(found), statistics)


def _example(
    lines: Sequence[str], place: int, kind: DifferenceKind
) -> tuple[int, list[PtDifference]]:
    """Where the lines behind an example begin, and what it says. It ends with its statement."""
    body: list[str] = []
    while place < len(lines):
        line = lines[place]
        place += 1
        query = _QUERY.match(line)
        if query:
            return place, _difference(kind, int(query[1]), body)
        body.append(line)
    return place, []


def _difference(kind: DifferenceKind, number: int, body: Sequence[str]) -> list[PtDifference]:
    text = "\n".join(body).strip("\n")
    if number == 0:
        return []
    if kind == "time":
        return _time(number, text)
    if kind == "warning":
        return list(_warnings(number, text))
    if kind == "rows":
        first = [line[2:] for line in body if line.startswith("< ")]
        second = [line[2:] for line in body if line.startswith("> ")]
        return [PtDifference(kind, number, _rows(first), _rows(second))]
    both = re.fullmatch(r"On both hosts:\s+(.*)", text, re.DOTALL)
    if both:
        said = message(both[1])
        return [PtDifference(kind, number, said, said)]
    first_said, _, second_said = text.partition("\nvs.\n")
    return [PtDifference(kind, number, message(first_said), message(second_said))]


def _rows(lines: Sequence[str]) -> str:
    return "; ".join(lines) if lines else "no such row"


def _time(number: int, text: str) -> list[PtDifference]:
    found = _TIMES.search(text)
    if found is None:
        return []
    first_s, second_s = float(found[1]), float(found[2])
    shown = (f"{1000 * first_s:.1f} ms", f"{1000 * second_s:.1f} ms")
    return [PtDifference("time", number, *shown, times_s=(first_s, second_s))]


def _warnings(number: int, text: str) -> Iterator[PtDifference]:
    """Several of a statement are separated by blank lines, each with both of its sides."""
    sides = re.split(r"^vs\.$", text, flags=re.MULTILINE)
    for first, second in pairwise(sides):
        before = _last_warning(first)
        after = _first_warning(second)
        code = before[0] or after[0]
        if code is not None:
            yield PtDifference("warning", number, before[1], after[1], code=code)


def _last_warning(text: str) -> tuple[int | None, str]:
    return _warning(re.split(r"\n{2,}", text.strip("\n"))[-1])


def _first_warning(text: str) -> tuple[int | None, str]:
    return _warning(re.split(r"\n{2,}", text.strip("\n"))[0])


def _warning(text: str) -> tuple[int | None, str]:
    """Its code, and it as one text."""
    code = level = said = None
    for line in text.splitlines():
        if match := _CODE.match(line):
            code = int(match[1])
        elif match := _LEVEL.match(line):
            level = match[1]
        elif match := _MESSAGE.match(line):
            said = match[1]
    if code is None:
        return None, "no warning"
    return code, f"{level} {code}: {said}"


def message(text: str) -> str:
    """An error in the server's words, without the driver's and pt-upgrade's own."""
    said = " ".join(_PLACE.sub("", _DRIVER.sub("", text.strip())).split())
    return NO_ERROR if said in ("", "No error") else said
