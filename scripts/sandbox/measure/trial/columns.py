"""The lines of a prober's log as columns: writes, reads and missed slots as arrays, the rest by
node or token.
"""

import itertools
import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Whole = NDArray[np.int64]
Real = NDArray[np.float64]

WRITE_STREAMS = ("pooled", "fresh")
READ_STREAMS = ("writer", "reader")
STREAMS = (*WRITE_STREAMS, *READ_STREAMS)
"""The code of a stream in a column is its position here."""
OUTCOMES = ("acked", "failed", "unknown")
"""The code of an outcome in a column is its position here."""
ACKED, FAILED, UNKNOWN = range(3)
NO_OUTCOME = "no_outcome"
"""The error code of an intent without an outcome: the client died."""

MALFORMED = (ValueError, KeyError, OverflowError)
"""Errors that a malformed line raises."""
_STREAM_CODES = {name: code for code, name in enumerate(STREAMS)}
_WRITE_CODES = {name: _STREAM_CODES[name] for name in WRITE_STREAMS}
_READ_CODES = {name: _STREAM_CODES[name] for name in READ_STREAMS}
_OUTCOME_CODES = {name: code for code, name in enumerate(OUTCOMES)}
_OK_CODES = {"failed": 0, "ok": 1}


@dataclass(frozen=True, slots=True, eq=False)
class WriteColumns:
    """One element per intent, by ascending op; times in µs. Without an outcome line: unknown, sent
    and done NaN.
    """

    op: Whole
    stream: Whole
    due: Whole
    sent: Real
    done: Real
    outcome: Whole
    code: Whole
    """Position in the log's ``codes``."""
    attempts: Whole
    """Connection attempts made; 0 without an outcome line."""


@dataclass(frozen=True, slots=True, eq=False)
class ReadColumns:
    """One element per read, in the order of the log; times in µs.

    ``stale_*`` has one element per write that a read missed, ``backwards_*`` one per row that it no
    longer saw: the read's position, the op, and the age in µs (the read's start − the
    acknowledgement).
    """

    stream: Whole
    due: Whole
    sent: Whole
    done: Whole
    ok: NDArray[np.bool_]
    code: Whole
    node: Whole
    """Position in the log's ``nodes``; that of ``-`` where none answered."""
    asked: Whole
    stale_read: Whole
    stale_op: Whole
    stale_age: Whole
    backwards_read: Whole
    backwards_op: Whole


@dataclass(frozen=True, slots=True, eq=False)
class MissedColumns:
    """Slots that could not be sent; µs."""

    stream: Whole
    due: Whole


class Collected:
    """The contents of the lines read so far. Raises one of ``MALFORMED`` for a line that is not of
    the format.
    """

    def __init__(self) -> None:
        self.codes: dict[str, int] = defaultdict(itertools.count().__next__)
        self.nodes: dict[str, int] = defaultdict(itertools.count().__next__)
        self.observations: dict[str, list[tuple[int, dict[str, Any]]]] = defaultdict(list)
        self.clock: dict[str, int] = {}
        self.notes: list[tuple[int, str]] = []
        self.error_texts: dict[str, str] = {}
        self.ended = False
        self._reads = 0
        self._parts: dict[str, list[Sequence[NDArray[Any]]]] = defaultdict(list)
        self._kinds: dict[str, Callable[[list[str]], None]] = {
            "i": self._intents,
            "o": self._outcomes,
            "r": self._answers,
            "m": self._misses,
            "s": self._states,
            "c": self._times,
            "n": self._texts,
            "e": self._end,
            "w": self._changes,
            "x": self._error_texts,
        }

    def take(self, lines: Iterable[str]) -> None:
        """Reads lines, all of one kind at once: a million in seconds."""
        by_kind: dict[str, list[str]] = defaultdict(list)
        for line in lines:
            by_kind[line[:1]].append(line)
        for kind, each in by_kind.items():
            self._kinds[kind](each)

    def _intents(self, lines: list[str]) -> None:
        op, stream, due = _turned(lines, 4)
        self._parts["i"].append([_whole(op), _coded(stream, _WRITE_CODES), _whole(due)])

    def _outcomes(self, lines: list[str]) -> None:
        op, sent, done, outcome, code, attempts = _turned(lines, 7)
        ended = [_coded(outcome, _OUTCOME_CODES), _coded(code, self.codes), _whole(attempts)]
        self._parts["o"].append([*map(_whole, (op, sent, done)), *ended])

    def _answers(self, lines: list[str]) -> None:
        stream, due, sent, done, outcome, code, node, asked, stale, backwards = _turned(lines, 11)
        ended = [
            _coded(outcome, _OK_CODES),
            _coded(code, self.codes),
            _coded(node, self.nodes),
            _whole(asked),
        ]
        slots = [_coded(stream, _READ_CODES), *map(_whole, (due, sent, done)), *ended]
        missing, gone = _listed(stale, 2, self._reads), _listed(backwards, 1, self._reads)
        for kind, columns in {"r": slots, "stale": missing, "backwards": gone}.items():
            self._parts[kind].append(columns)
        self._reads += len(lines)

    def _misses(self, lines: list[str]) -> None:
        stream, due = _turned(lines, 3)
        self._parts["m"].append([_coded(stream, _STREAM_CODES), _whole(due)])

    def _states(self, lines: list[str]) -> None:
        for node, at, text in zip(*_turned(lines, 4), strict=True):
            answer = json.loads(text)
            if not isinstance(answer, dict):
                raise ValueError(text)
            self.observations[node].append((int(at), answer))

    def _changes(self, lines: list[str]) -> None:
        """For whoever watches: a server's state in words; nothing is measured by them."""
        _turned(lines, 4)

    def _times(self, lines: list[str]) -> None:
        self.clock |= {token: int(at) for token, at in zip(*_turned(lines, 3), strict=True)}

    def _texts(self, lines: list[str]) -> None:
        for line in lines:
            at, text = line.removeprefix("n\t").rstrip("\r\n").split("\t", 1)
            self.notes.append((int(at), text))

    def _error_texts(self, lines: list[str]) -> None:
        for code, text in zip(*_turned(lines, 3), strict=True):
            self.error_texts.setdefault(code, text)

    def _end(self, lines: list[str]) -> None:
        (at,) = _turned(lines, 2)
        self.ended = len(_whole(at)) > 0

    def writes(self) -> WriteColumns:
        """The intents with their outcomes. Raises ValueError for an op that comes twice or has no
        intent.
        """
        op, stream, due = self._joined("i", 3)
        order = np.argsort(op, kind="stable")
        op, stream, due = op[order], stream[order], due[order]
        _refuse(op[1:][np.diff(op) == 0], "comes twice")
        known, *ended = self._joined("o", 6)
        _refuse(known[~np.isin(known, op)], "has an outcome, but no intent")
        at = np.searchsorted(op, known)
        _refuse(op[np.bincount(at, minlength=len(op)) > 1], "has two outcomes")
        none = self.codes[NO_OUTCOME] if len(known) < len(op) else 0
        filling = (np.nan, np.nan, UNKNOWN, none, 0)
        sent, done, *rest = (
            _placed(at, each, len(op), fill) for each, fill in zip(ended, filling, strict=True)
        )
        return WriteColumns(op, stream, due, sent, done, *rest)

    def reads(self) -> ReadColumns:
        """The reads with what they missed."""
        stream, due, sent, done, ok, *rest = self._joined("r", 8)
        lists = [*self._joined("stale", 3), *self._joined("backwards", 2)]
        return ReadColumns(stream, due, sent, done, ok.astype(np.bool_), *rest, *lists)

    def missed(self) -> MissedColumns:
        """The slots that could not be sent."""
        return MissedColumns(*self._joined("m", 2))

    def _joined(self, kind: str, width: int) -> list[Whole]:
        """The columns of a kind; empty ones where it has no line."""
        parts = self._parts[kind]
        return [np.concatenate(each) for each in zip(*parts, strict=True)] or [
            np.empty(0, np.int64)
        ] * width


def _turned(lines: list[str], width: int) -> list[list[str]]:
    """The columns of lines of one kind, without the kind. Raises ValueError where a line has
    another number of fields.

    That each line's kind is where it belongs among the fields of all shows it; one split is faster
    than many.
    """
    fields = "\t".join(lines).replace("\r", "").replace("\n", "").split("\t")
    kinds = fields[::width]
    if len(fields) != width * len(lines) or {*kinds} != {lines[0][0]}:
        raise ValueError(f"not {width} fields")
    return [fields[column::width] for column in range(1, width)]


def _whole(column: Sequence[str]) -> Whole:
    return np.fromiter(map(int, column), np.int64, len(column))


def _coded(column: Sequence[str], codes: Mapping[str, int]) -> Whole:
    return np.fromiter(map(codes.__getitem__, column), np.int64, len(column))


def _listed(column: Sequence[str], width: int, first: int) -> list[Whole]:
    """Comma lists of ``width`` numbers joined by colons, each with the number of its row, counted
    from ``first``.
    """
    found = [
        (row, *each.split(":"))
        for row, text in enumerate(column, first)
        if text != "-"
        for each in text.split(",")
    ]
    parts = list(zip(*found, strict=True)) or [()] * (1 + width)
    if len(parts) != 1 + width:
        raise ValueError(f"{len(parts) - 1} numbers, not {width}")
    return [_whole(each) for each in parts]


def _placed(at: Whole, values: Whole, size: int, filling: float) -> NDArray[Any]:
    """The values at their positions, and the filling elsewhere."""
    column = np.full(size, filling)
    column[at] = values
    return column


def _refuse(ops: Whole, why: str) -> None:
    if len(ops):
        raise ValueError(f"op {ops[0]} {why}: the log is not that of one prober (docs/failover.md)")
