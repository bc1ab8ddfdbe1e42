"""Reads the prober's log: its slots, latencies and errors, and what its observers saw."""

import itertools
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from sandbox.measure.trial.columns import (
    ACKED,
    MALFORMED,
    STREAMS,
    WRITE_STREAMS,
    Collected,
    MissedColumns,
    ReadColumns,
    Real,
    Whole,
    WriteColumns,
)

Seen = Mapping[str, Sequence[tuple[int, Mapping[str, Any]]]]
"""Node → its observer's answers, each with its time in µs, in order."""
PHASES = ("before", "during", "after")
NEVER = float("inf")
_CHUNK = 10_000
"""Lines that are split at a time, so that a log of a million needs little memory."""


class StreamSlots(NamedTuple):
    """All slots of one stream by due time, µs. ``served``: when it was acknowledged or answered;
    inf: never.
    """

    due: Whole
    served: Real


@dataclass(frozen=True, slots=True, eq=False)
class ProberLog:
    """The log of one prober (docs/failover.md); times in µs on the prober's clock."""

    began_utc_s: float
    request: Mapping[str, Any]
    writes: WriteColumns
    reads: ReadColumns
    missed: MissedColumns
    observations: Seen
    clock: Mapping[str, int]
    """Token → the time at which it was read."""
    notes: Sequence[tuple[int, str]]
    ended: bool
    """Whether the end line was there: every slot in flight has ended."""
    codes: Sequence[str]
    nodes: Sequence[str]
    error_texts: Mapping[str, str] = field(default_factory=dict)
    """Error code → the text with which a driver gave it first; the prober logs none."""

    def delta_us(self, stream: str) -> float | None:
        """Time between two slots of a stream; None for one that the request does not have."""
        rate = self.request["rates"].get(stream, 0)
        return 1e6 / rate if rate else None

    def slots(self, stream: str) -> StreamSlots:
        """Every slot of a stream: acknowledged or answered, failed, unknown and missed."""
        writes, reads = self.writes, self.reads
        columns: WriteColumns | ReadColumns = writes if stream in WRITE_STREAMS else reads
        good = writes.outcome == ACKED if stream in WRITE_STREAMS else reads.ok
        own = columns.stream == STREAMS.index(stream)
        unsent = self.missed.due[self.missed.stream == STREAMS.index(stream)]
        due = np.concatenate([columns.due[own], unsent])
        served = np.concatenate(
            [np.where(good, columns.done, NEVER)[own], np.full(len(unsent), NEVER)]
        )
        order = np.argsort(due, kind="stable")
        return StreamSlots(due[order], served[order])

    def acks(self, stream: str) -> Real:
        """When the acknowledged writes of a stream were acknowledged, sorted."""
        served = self.slots(stream).served
        return np.sort(served[np.isfinite(served)])

    def latency_ms(self, stream: str, since_us: float = -NEVER, until_us: float = NEVER) -> Real:
        """Done − due of every slot due from ``since_us`` to before ``until_us``; inf for one that
        was never served.

        From the due time, so that a stall counts against every slot that it delays (coordinated
        omission: wrk2).
        """
        due, served = self.slots(stream)
        return (served - due)[(due >= since_us) & (due < until_us)] / 1000

    def lateness_ms(self, until_us: float = NEVER) -> Real:
        """Sent − due of all slots sent that were due before ``until_us``: how far the prober itself
        was behind.
        """
        due = np.concatenate([self.writes.due, self.reads.due])
        late = np.concatenate([self.writes.sent, self.reads.sent]) - due
        late_ms: Real = late[np.isfinite(late) & (due < until_us)] / 1000
        return late_ms

    def missed_by_stream(self) -> dict[str, int]:
        """Slots that could not be sent; every stream is named."""
        return {
            name: int(np.count_nonzero(self.missed.stream == code))
            for code, name in enumerate(STREAMS)
        }

    def errors(self, t0_us: float, during_end_us: float) -> dict[str, dict[str, dict[str, int]]]:
        """Phase (before, during, after) → ``writes`` and ``reads`` → error code → slots that failed
        or are unknown.

        A slot that ended before ``t0_us`` is before, one due from ``during_end_us`` on is after;
        all others are during, among them those in flight at either end, and an intent without an
        outcome, which never ended.
        """
        writes, reads = self.writes, self.reads
        ends = np.where(np.isnan(writes.done), NEVER, writes.done)
        of_writes = _phases(writes.due, ends, t0_us, during_end_us)
        of_reads = _phases(reads.due, reads.done, t0_us, during_end_us)
        return {
            phase: {
                "writes": self._by_code(
                    writes.code[(writes.outcome != ACKED) & (of_writes == number)]
                ),
                "reads": self._by_code(reads.code[~reads.ok & (of_reads == number)]),
            }
            for number, phase in enumerate(PHASES)
        }

    def _by_code(self, codes: Whole) -> dict[str, int]:
        found, counts = np.unique(codes, return_counts=True)
        return {self.codes[code]: int(count) for code, count in zip(found, counts, strict=True)}


def _phases(due: Whole, done: Whole | Real, t0_us: float, during_end_us: float) -> Any:
    """The position in ``PHASES`` of each slot."""
    return np.where(due >= during_end_us, 2, np.where(done < t0_us, 0, 1))


def read_prober_log(lines: Iterable[str]) -> ProberLog:
    """The log of a prober, from its lines with or without their line ends.

    A last line that is cut off is left out: one that is malformed, or that alone has no line end.
    Raises ValueError with the line's number for any other malformed line, among them a first line
    that is no header; and with the op for an outcome without an intent, or an op that comes twice.
    """
    source = iter(lines)
    first = next(source, "")
    header = _header(first)
    collected = Collected()
    for number, chunk in _chunks(source, first.endswith("\n")):
        try:
            collected.take(chunk)
        except MALFORMED:
            for each, line in enumerate(chunk, number):
                if _is_malformed(line):
                    raise ValueError(
                        f"line {each} is not of a prober's log: {line[:200]!r}"
                    ) from None
            raise
    return _log(header, collected)


def _log(header: Mapping[str, Any], collected: Collected) -> ProberLog:
    # Adds a code, hence first.
    writes, reads, missed = collected.writes(), collected.reads(), collected.missed()
    return ProberLog(
        began_utc_s=header["began_utc_s"],
        request=header["request"],
        writes=writes,
        reads=reads,
        missed=missed,
        observations=dict(collected.observations),
        clock=collected.clock,
        notes=collected.notes,
        ended=collected.ended,
        codes=tuple(collected.codes),
        nodes=tuple(collected.nodes),
        error_texts=dict(collected.error_texts),
    )


def _header(line: str) -> Mapping[str, Any]:
    try:
        header: Mapping[str, Any] = json.loads(line)
        known = (
            header["probe"] == 1
            and float(header["began_utc_s"])
            and dict(header["request"]["rates"])
        )
    except (ValueError, KeyError, TypeError):
        known = False
    if not known:
        raise ValueError(f"line 1 is not the header of a prober's log: {line[:200]!r}")
    return header


def _chunks(lines: Iterator[str], terminated: bool) -> Iterator[tuple[int, list[str]]]:
    """Lines from the second on, by the number of the first of them, without a last one that is cut
    off.
    """
    number = 2
    held = list(itertools.islice(lines, 1))
    while chunk := list(itertools.islice(lines, _CHUNK)):
        yield number, held + chunk[:-1]
        number = number + len(chunk)
        held = chunk[-1:]
    if held and (held[0].endswith("\n") or not terminated) and not _is_malformed(held[0]):
        yield number, held


def _is_malformed(line: str) -> bool:
    try:
        Collected().take([line])
    except MALFORMED:
        return True
    return False
