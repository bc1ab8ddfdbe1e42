"""The user's own statements, drawn by weight; a transaction is one statement, or everything from
BEGIN to COMMIT.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NoReturn

from pydantic import Field

from sandbox.core.errors import SandboxError, did_you_mean
from sandbox.core.plugin_options import OptionValue
from sandbox.load.common.sysbench_load import LuaLoad
from sandbox.load.common.workload import Parameters, PreparedData, Session
from sandbox.load.sysbench import PREPARE_OLTP, Sysbench
from sandbox.record.record import PreparationRecord
from sandbox.stack.client_python import ship

_READING = ("select", "show", "with", "values", "table", "explain", "describe", "desc")
_WRITING = ("insert", "update", "delete", "replace", "load", "call")
_ESCAPED = frozenset((*range(32), *range(127, 256), ord('"'), ord("\\")))

Piece = str | list[str | int]
"""Text, or a placeholder: its name and its numbers."""

PLACEHOLDERS = {"random": 2, "string": 1, "thread": 0}
"""``${random 1 1000}``: a whole number; ``${string 20}``: letters and digits; ``${thread}``: from 1
up.
"""

LONGEST_STRING = 10_000

_TOKEN = re.compile(
    r"""(?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!!).*?\*/)
    |(?P<quoted>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`)
    |(?P<end>;)
    |(?P<text>[^-\#/'"`;]+|.)""",
    re.VERBOSE | re.DOTALL,
)
_NOTE = re.compile(r"--\s+(weight|name)\b[:=\s]*(.*)$")
_PLACEHOLDER = re.compile(r"\$\{([^}]*)\}")
_BEGINS = re.compile(r"(begin(\s+work)?|start\s+transaction\b.*)", re.IGNORECASE | re.DOTALL)
_ENDS = re.compile(r"(commit|rollback)(\s+work)?", re.IGNORECASE)


@dataclass
class StatementUnit:
    """A statement, or everything from BEGIN to COMMIT: drawn and timed as one transaction."""

    name: str
    weight: float
    line: int
    statements: list[list[Piece]] = field(default_factory=list)


@dataclass(frozen=True)
class _Statement:
    text: str
    line: int
    notes: dict[str, str]


class Statements(LuaLoad):
    """``text``: the file as the user wrote it. The tables it needs exist already, or are
    sysbench's.
    """

    text: str = Field(exclude=True)
    data: Literal["none", "oltp"] = Field(
        default="none",
        description="none: its tables exist already; oltp: sysbench's sbtest1 … by TABLES and ROWS",
    )

    @property
    def uses(self) -> frozenset[str]:
        """The size of sysbench's tables, where it uses them."""
        return super().uses | ({"tables", "rows_per_table"} if self.data == "oltp" else set())

    def data_needed(self, parameters: Parameters) -> PreparedData | None:
        """Sysbench's tables, where it uses them."""
        return (
            None if self.data == "none" else Sysbench(script=PREPARE_OLTP).data_needed(parameters)
        )

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        """Ships the statements too, and makes sysbench's tables where ``data`` says so."""
        ship(session.stack, session.client, self.scripts())
        return None if self.data == "none" else Sysbench(script=PREPARE_OLTP).prepare(session, log)

    def script_options(self, parameters: Parameters) -> Mapping[str, OptionValue]:  # noqa: ARG002  (some need them)
        """The script has none."""
        return {}

    def scripts(self) -> dict[str, str]:
        """The statements too."""
        units = [
            {
                "name": unit.name,
                "weight": unit.weight,
                "statements": [[kind_of(each), *each] for each in unit.statements],
            }
            for unit in parse_statements(self.text, "the file")
        ]
        return {**super().scripts(), "statements/units.lua": f"return {as_lua(units)}\n"}


def kind_of(statement: list[Piece]) -> Literal["read", "write", "other"]:
    """How a statement is counted, by its first word."""
    word = str(statement[0]).lstrip("( \n\t").split(None, 1)[0].lower()
    if word in _READING:
        return "read"
    return "write" if word in _WRITING else "other"


def as_lua(value: object) -> str:
    """A value as a Lua literal: text, number, list or dictionary."""
    if isinstance(value, str):
        return (
            '"'
            + "".join(f"\\{byte:03d}" if byte in _ESCAPED else chr(byte) for byte in value.encode())
            + '"'
        )
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name} = {as_lua(member)}" for name, member in value.items()) + "}"
    if isinstance(value, list):
        return "{" + ", ".join(map(as_lua, value)) + "}"
    return repr(value)


def parse_statements(text: str, file: str) -> list[StatementUnit]:
    """Units in the order of the file. Raises SandboxError (exit 2) naming file, line, and what is
    allowed.

    A comment line ``-- weight 10`` applies to the next unit (default: 1), ``-- name orders`` names
    it in the record.
    """
    units: list[StatementUnit] = []
    open_unit: StatementUnit | None = None
    for statement in _statements(text, file):
        pieces = _pieces(statement, file)
        begins, ends = _BEGINS.fullmatch(statement.text), _ENDS.fullmatch(statement.text)
        if open_unit is None:
            if ends:
                _refuse(file, statement.line, f"{statement.text} has no BEGIN before it")
            units.append(_unit(statement, pieces, len(units) + 1, file))
            open_unit = units[-1] if begins else None
            continue
        if begins or statement.notes:
            word = "BEGIN" if begins else f"-- {next(iter(statement.notes))}"
            _refuse(
                file,
                statement.line,
                f"{word} before the COMMIT of the BEGIN in line {open_unit.line}",
            )
        open_unit.statements.append(pieces)
        open_unit = None if ends else open_unit
    if open_unit is not None:
        _refuse(file, open_unit.line, "this BEGIN has no COMMIT")
    if not units:
        _refuse(file, 1, "it contains no statement; a statement ends with a semicolon")
    _refuse_twins(units, file)
    return units


def _statements(text: str, file: str) -> Iterator[_Statement]:
    """Statement after statement, without comments, each with the notes before it."""
    parts: list[str] = []
    notes: dict[str, str] = {}
    line = 1
    first = 1
    for token in _TOKEN.finditer(text):
        kind = token.lastgroup
        found = token[0]
        if kind == "comment":
            _note(found, notes, line, bool("".join(parts).strip()), file)
            parts.append(" ")
        elif kind == "end":
            yield from _made(parts, first, notes)
            parts = []
            notes = {}
        else:
            if kind == "text" and found in "'\"`":
                _refuse(file, line, f"the quote {found} is not closed")
            if not "".join(parts).strip():
                first = line + found[: len(found) - len(found.lstrip())].count("\n")
            parts.append(found)
        line += found.count("\n")
    yield from _made(parts, first, notes)
    if notes and not "".join(parts).strip():
        _refuse(file, line, f"-- {next(iter(notes))} has no statement after it")


def _made(parts: list[str], line: int, notes: dict[str, str]) -> Iterator[_Statement]:
    text = "".join(parts).strip()
    if text:
        yield _Statement(text, line, notes)


def _note(comment: str, notes: dict[str, str], line: int, inside: bool, file: str) -> None:
    found = _NOTE.match(comment)
    if not found:
        return
    if inside:
        _refuse(file, line, f"-- {found[1]} is inside a statement; put it before the statement")
    notes[found[1]] = found[2].strip()


def _unit(statement: _Statement, pieces: list[Piece], number: int, file: str) -> StatementUnit:
    word = re.split(r"\W", statement.text.lstrip("("), maxsplit=1)[0].lower()
    if word == "delimiter":
        _refuse(
            file,
            statement.line,
            "DELIMITER is a command of the command-line client, not of the server",
        )
    name = statement.notes.get("name", f"{number}_{word}")
    if not re.fullmatch(r"[\w.-]{1,64}", name):
        _refuse(
            file,
            statement.line,
            f"-- name {name}: a name has at most 64 letters, digits, dots or dashes",
        )
    return StatementUnit(name, _weight(statement, file), statement.line, [pieces])


def _weight(statement: _Statement, file: str) -> float:
    text = statement.notes.get("weight", "1")
    try:
        weight = float(text)
    except ValueError:
        weight = 0.0
    if not 0 < weight < float("inf"):
        _refuse(file, statement.line, f"-- weight {text}: a weight is a number above 0")
    return weight


def _pieces(statement: _Statement, file: str) -> list[Piece]:
    """Text and placeholders, alternating."""
    texts = _PLACEHOLDER.split(statement.text)
    pieces = [
        _placeholder(text, statement.line, file) if place % 2 else text
        for place, text in enumerate(texts)
    ]
    return [piece for piece in pieces if piece]


def _placeholder(text: str, line: int, file: str) -> Piece:
    name, *words = text.split() or [""]
    if name not in PLACEHOLDERS:
        _refuse(file, line, f"there is no ${{{text}}}; {did_you_mean(name, PLACEHOLDERS)}")
    try:
        numbers = [int(word) for word in words]
    except ValueError:
        numbers = []
    good = len(numbers) == len(words) == PLACEHOLDERS[name]
    if name == "random":
        good = good and numbers[0] <= numbers[1]
    if name == "string":
        good = good and 1 <= numbers[0] <= LONGEST_STRING
    if not good:
        _refuse(
            file,
            line,
            f"${{{text}}}: use ${{random <from> <to>}}, ${{string <length>}} or ${{thread}}",
        )
    return [name, *numbers]


def _refuse_twins(units: list[StatementUnit], file: str) -> None:
    seen: dict[str, int] = {}
    for unit in units:
        if unit.name in seen:
            _refuse(
                file, unit.line, f"the name {unit.name} is already used in line {seen[unit.name]}"
            )
        seen[unit.name] = unit.line


def _refuse(file: str, line: int, text: str) -> NoReturn:
    raise SandboxError(
        f"{file}:{line} is not valid", text, f"try: make bench WORKLOAD={file}   (after you fix it)"
    )
