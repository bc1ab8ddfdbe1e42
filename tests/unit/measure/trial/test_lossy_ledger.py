"""A ledger that loses writes on purpose: in each of 1,500 cases every seeded fault is found, and
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
from sandbox.measure.trial.ledger import Ledger, NodeRows, backwards_reads, rows_of, stale_reads
from sandbox.measure.trial.prober_log import ProberLog
from sandbox.record.trial import ReadExample
from unit.measure.trial.made_logs import compact, line, log_of

CASES = 1_500
OPS = np.arange(1, 41)
READS = 12
ASKED = 4
"""Ops of which a read may miss one."""
FOREIGN = 41
"""An op of which the log knows nothing."""
EMPTY = np.empty(0, np.int64)
DUE = 10_000 * OPS
AT = DUE.astype(np.float64)
READ_DUE = 10_000 * np.arange(READS)


@dataclass(frozen=True)
class Case:
    """What was put into one ledger: masks over the ops, or over reads × ops asked for. Two nodes:
    db1 is the writer.
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
    def writer_has(self) -> Any:
        """Ops on db1."""
        return ((self.outcome == ACKED) & ~self.lost) | self.phantom | self.recovered | self.twice

    @property
    def reader_has(self) -> Any:
        """Ops on db2."""
        on_reader = ((self.outcome == ACKED) & ~self.lost_on_reader) | self.recovered
        return on_reader | self.phantom_on_reader | self.twice_on_reader


def cases(count: int = CASES) -> Iterator[Case]:
    """Seeded; of each kind of fault a case has none, one or a few."""
    rng = np.random.default_rng(20260)
    outcome = rng.choice(3, (count, len(OPS)), p=(0.7, 0.15, 0.15))
    acked = outcome == ACKED

    def some(of: Any, share: float) -> Any:
        return of & (rng.random(of.shape) < share)

    lost, lost_on_reader = some(acked, 0.06), some(acked, 0.06)
    phantom, phantom_on_reader = some(outcome == FAILED, 0.2), some(outcome == FAILED, 0.2)
    recovered = some(outcome == UNKNOWN, 0.5)
    twice, twice_on_reader = some(acked & ~lost, 0.04), some(acked & ~lost_on_reader, 0.04)
    asked = np.ones((count, READS, ASKED), dtype=bool)
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
    zeros, reads = np.zeros(len(OPS), np.int64), np.zeros(READS, np.int64)
    missing, gone = np.nonzero(case.stale), np.nonzero(case.backwards)
    return ProberLog(
        began_utc_s=1.0,
        request={"rates": {}},
        observations={},
        clock={},
        notes=[],
        ended=True,
        writes=WriteColumns(OPS, zeros, DUE, AT + 1000, AT + 3000, case.outcome, zeros, zeros + 1),
        reads=ReadColumns(
            reads + 2 + np.arange(READS) % 2,
            READ_DUE,
            READ_DUE + 1000,
            READ_DUE + 3000,
            reads == 0,
            reads,
            np.arange(READS) % 2,
            reads + ASKED,
            missing[0],
            OPS[missing[1]],
            case.ages[missing],
            gone[0],
            OPS[gone[1]],
        ),
        missed=MissedColumns(EMPTY, EMPTY),
        codes=("-",),
        nodes=("db1", "db2"),
    )


def rows_with(has: Any, twice: Any, foreign: bool) -> NodeRows:
    """A node's rows, all taken by db1."""
    ops = np.append(OPS[has], FOREIGN) if foreign else OPS[has]
    return NodeRows(ops, {"db1": ops}, dict.fromkeys(OPS[twice].tolist(), 2))


def ledger_with(case: Case) -> Ledger:
    """A foreign row is on both nodes."""
    present = {
        "db1": rows_with(case.writer_has, case.twice, case.foreign),
        "db2": rows_with(case.reader_has, case.twice_on_reader, case.foreign),
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
    for case in cases():
        ledger = ledger_with(case)
        for verdict, mask in expected(case).items():
            assert getattr(ledger, verdict)().tolist() == OPS[mask].tolist(), verdict
            seeded += int(mask.sum())
        assert _ops(ledger.lost_on("db2")) == OPS[case.lost_on_reader].tolist()
        assert _ops(ledger.missing_on("db1")) == OPS[case.reader_has & ~case.writer_has].tolist()
        assert _ops(ledger.missing_on("db2")) == OPS[case.writer_has & ~case.reader_has].tolist()
        assert _ops(ledger.unlisted()) == ([FOREIGN] if case.foreign else [])
    assert seeded > 10 * CASES


def test_every_stale_read_and_step_backwards_is_found_and_nothing_else() -> None:
    seeded = 0
    for case in cases():
        log = log_with(case)
        for number, stream in enumerate(("writer", "reader")):
            missing, ages = case.stale[number::2], case.ages[number::2]
            judged = stale_reads(log, stream, log.reads.stream == STREAMS.index("writer"))
            assert judged.reads == READS // 2 and judged.stale == missing.any(axis=1).sum()
            assert judged.above_1s == (missing & (ages > 1_000_000)).any(axis=1).sum()
            ops = [
                (int(OPS[op]), ages[read, op] / 1000)
                for read, op in zip(*np.nonzero(missing), strict=True)
            ]
            assert [(each.op, each.age_ms) for each in judged.examples] == sorted(
                ops, key=lambda each: -each[1]
            )
            seeded += judged.stale
        gone = [
            (int(OPS[op]), f"db{1 + read % 2}")
            for read, op in zip(*np.nonzero(case.backwards), strict=True)
        ]
        backwards = backwards_reads(log)
        assert backwards.count == case.backwards.any(axis=1).sum()
        assert backwards.examples == tuple(ReadExample(op=op, node=node) for op, node in gone)
    assert seeded > CASES


def test_the_way_through_the_text_loses_nothing() -> None:
    """The prober's lines and the nodes' compact rows give the same verdicts as the arrays."""
    for case in cases(200):
        lines = [line("i", op, "pooled", 10_000 * op) for op in OPS]
        lines += [
            line("o", op, 10_000 * op + 1000, 10_000 * op + 3000, OUTCOMES[outcome], "-", 1)
            for op, outcome in zip(OPS, case.outcome, strict=True)
        ]
        for read, due in enumerate(READ_DUE):
            stale = (
                ",".join(
                    f"{OPS[op]}:{case.ages[read, op]}" for op in np.flatnonzero(case.stale[read])
                )
                or "-"
            )
            gone = ",".join(str(OPS[op]) for op in np.flatnonzero(case.backwards[read])) or "-"
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
