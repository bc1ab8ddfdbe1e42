"""A ledger that loses writes on purpose: in each of 10,000 cases every seeded fault is found, and
nothing else.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sandbox.measure.trial.columns import (
    ACKED,
    FAILED,
    OUTCOMES,
    STREAMS,
    UNKNOWN,
    MissedColumns,
    ReadColumns,
    WriteColumns,
)
from sandbox.measure.trial.ledger import (
    MOST_EXAMPLES,
    Ledger,
    NodeRows,
    backwards_reads,
    rows_of,
    stale_reads,
)
from sandbox.measure.trial.prober_log import ProberLog
from sandbox.record.trial import ReadExample
from unit.measure.trial.made_logs import compact, line, log_of

ALONE, LEDGERS, TOGETHER = 1_000, 900, 10
"""So many cases have a ledger of their own, so many ledgers have several cases: 10,000 in all."""
OPS = 40
READS = 12
ASKED = 4
"""Ops of which a read may miss one."""
EMPTY = np.empty(0, np.int64)


@dataclass(frozen=True)
class Case:
    """What was put into one ledger, of one case or several: masks over the ops, or over reads × ops
    asked for. Two nodes: db1 is the writer.
    """

    outcome: Any
    lost: Any
    lost_on_reader: Any
    phantom: Any
    phantom_on_reader: Any
    recovered: Any
    twice: Any
    twice_on_reader: Any
    foreign: bool
    stale: Any
    ages: Any
    backwards: Any

    @property
    def ops(self) -> Any:
        """Every op of the log."""
        return np.arange(1, len(self.outcome) + 1)

    @property
    def unknown_op(self) -> int:
        """An op of which the log knows nothing."""
        return len(self.outcome) + 1

    @property
    def writer_has(self) -> Any:
        """Ops on db1."""
        return ((self.outcome == ACKED) & ~self.lost) | self.phantom | self.recovered | self.twice

    @property
    def reader_has(self) -> Any:
        """Ops on db2."""
        on_reader = ((self.outcome == ACKED) & ~self.lost_on_reader) | self.recovered
        return on_reader | self.phantom_on_reader | self.twice_on_reader


def every_case() -> Iterator[Case]:
    """Those that have a ledger of their own, and those that share one."""
    yield from cases(ALONE)
    yield from cases(LEDGERS, TOGETHER)


def cases(count: int, together: int = 1) -> Iterator[Case]:
    """Seeded; of each kind of fault a case has none, one or a few."""
    rng = np.random.default_rng(20260)
    outcome = rng.choice(3, (count, together * OPS), p=(0.7, 0.15, 0.15))
    acked = outcome == ACKED

    def some(of: Any, share: float) -> Any:
        return of & (rng.random(of.shape) < share)

    lost, lost_on_reader = some(acked, 0.06), some(acked, 0.06)
    phantom, phantom_on_reader = some(outcome == FAILED, 0.2), some(outcome == FAILED, 0.2)
    recovered = some(outcome == UNKNOWN, 0.5)
    twice, twice_on_reader = some(acked & ~lost, 0.04), some(acked & ~lost_on_reader, 0.04)
    asked = np.ones((count, together * READS, ASKED), dtype=bool)
    masks = [
        outcome,
        lost,
        lost_on_reader,
        phantom,
        phantom_on_reader,
        recovered,
        twice,
        twice_on_reader,
    ]
    masks += [
        rng.random(count) < 0.3,
        some(asked, 0.05),
        rng.integers(1, 2_000_000, asked.shape),
        some(asked, 0.02),
    ]
    return (Case(*each) for each in zip(*masks, strict=True))


def log_with(case: Case) -> ProberLog:
    """Its log, without the way through the text."""
    ops = case.ops
    due, zeros = 10_000 * ops, np.zeros(len(ops), np.int64)
    at_us = due.astype(np.float64)
    read = np.arange(len(case.stale))
    read_due, reads = 10_000 * read, np.zeros(len(read), np.int64)
    missing, gone = np.nonzero(case.stale), np.nonzero(case.backwards)
    return ProberLog(
        began_utc_s=1.0,
        request={"rates": {}},
        observations={},
        clock={},
        notes=[],
        ended=True,
        writes=WriteColumns(
            ops, zeros, due, at_us + 1000, at_us + 3000, case.outcome, zeros, zeros + 1
        ),
        reads=ReadColumns(
            reads + 2 + read % 2,
            read_due,
            read_due + 1000,
            read_due + 3000,
            reads == 0,
            reads,
            read % 2,
            reads + ASKED,
            missing[0],
            ops[missing[1]],
            case.ages[missing],
            gone[0],
            ops[gone[1]],
        ),
        missed=MissedColumns(EMPTY, EMPTY),
        codes=("-",),
        nodes=("db1", "db2"),
    )


def rows_with(case: Case, has: Any, twice: Any) -> NodeRows:
    """A node's rows, all taken by db1."""
    ops = case.ops[has]
    if case.foreign:
        ops = np.append(ops, case.unknown_op)
    return NodeRows(ops, {"db1": ops}, dict.fromkeys(case.ops[twice].tolist(), 2))


def ledger_with(case: Case) -> Ledger:
    """A foreign row is on both nodes."""
    present = {
        "db1": rows_with(case, case.writer_has, case.twice),
        "db2": rows_with(case, case.reader_has, case.twice_on_reader),
    }
    return Ledger(log_with(case), present, "db1")


def expected(case: Case) -> dict[str, Any]:
    """Verdict → the ops that were seeded."""
    here, there = case.writer_has, case.reader_has
    return {
        "lost": case.lost,
        "phantom": case.phantom | case.phantom_on_reader,
        "duplicate": case.twice | case.twice_on_reader,
        "recovered": case.recovered,
        "unknown_absent": (case.outcome == UNKNOWN) & ~case.recovered,
        "divergent": (here ^ there) | (case.twice ^ case.twice_on_reader),
    }


def test_every_fault_in_the_rows_is_found_and_nothing_else() -> None:
    seeded = 0
    for case in every_case():
        ledger, ops = ledger_with(case), case.ops
        here, there = case.writer_has, case.reader_has
        for verdict, mask in expected(case).items():
            assert getattr(ledger, verdict)().tolist() == ops[mask].tolist(), verdict
            seeded += int(mask.sum())
        assert _ops(ledger.lost_on("db2")) == ops[case.lost_on_reader].tolist()
        assert _ops(ledger.missing_on("db1")) == ops[there & ~here].tolist()
        assert _ops(ledger.missing_on("db2")) == ops[here & ~there].tolist()
        assert _ops(ledger.unlisted()) == ([case.unknown_op] if case.foreign else [])
    assert seeded > 10 * (ALONE + LEDGERS * TOGETHER)


def test_every_stale_read_and_step_backwards_is_found_and_nothing_else() -> None:
    seeded = 0
    for case in every_case():
        log, reads = log_with(case), len(case.stale)
        for number, stream in enumerate(("writer", "reader")):
            missing, ages = case.stale[number::2], case.ages[number::2]
            judged = stale_reads(log, stream, log.reads.stream == STREAMS.index("writer"))
            assert judged.reads == reads // 2 and judged.stale == missing.any(axis=1).sum()
            assert judged.above_1s == (missing & (ages > 1_000_000)).any(axis=1).sum()
            ops = [
                (int(op) + 1, ages[read, op] / 1000)
                for read, op in zip(*np.nonzero(missing), strict=True)
            ]
            oldest = sorted(ops, key=lambda each: -each[1])[:MOST_EXAMPLES]
            assert [(each.op, each.age_ms) for each in judged.examples] == oldest
            seeded += judged.stale
        gone = [
            (int(op) + 1, f"db{1 + read % 2}")
            for read, op in zip(*np.nonzero(case.backwards), strict=True)
        ]
        backwards = backwards_reads(log)
        assert backwards.count == case.backwards.any(axis=1).sum()
        assert backwards.examples == tuple(
            ReadExample(op=op, node=node) for op, node in gone[:MOST_EXAMPLES]
        )
    assert seeded > ALONE + LEDGERS * TOGETHER


def test_the_way_through_the_text_loses_nothing() -> None:
    """The prober's lines and the nodes' compact rows give the same verdicts as the arrays."""
    for case in cases(200):
        lines = [line("i", op, "pooled", 10_000 * op) for op in case.ops]
        lines += [
            line("o", op, 10_000 * op + 1000, 10_000 * op + 3000, OUTCOMES[outcome], "-", 1)
            for op, outcome in zip(case.ops, case.outcome, strict=True)
        ]
        for read, due in enumerate(10_000 * np.arange(READS)):
            stale = (
                ",".join(
                    f"{op + 1}:{case.ages[read, op]}" for op in np.flatnonzero(case.stale[read])
                )
                or "-"
            )
            gone = ",".join(str(op + 1) for op in np.flatnonzero(case.backwards[read])) or "-"
            fields = (
                due,
                due + 1000,
                due + 3000,
                "ok",
                "-",
                f"db{1 + read % 2}",
                ASKED,
                stale,
                gone,
            )
            lines.append(line("r", ("writer", "reader")[read % 2], *fields))
        direct = ledger_with(case)
        texts = {
            node: compact({"db1": rows.ops.tolist()}, rows.more_than_once)
            for node, rows in direct.present.items()
        }
        through = Ledger(
            log_of(lines), {node: rows_of(text) for node, text in texts.items()}, "db1"
        )
        assert through.counts() == direct.counts()


def _ops(found: Any) -> list[int]:
    ops: list[int] = found.tolist()
    return ops
