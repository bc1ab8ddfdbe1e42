"""Made-up logs of a prober, as lines: steady writes, an outage from t0 on, then steady writes
again.
"""

from collections.abc import Iterator

from unit.measure.trial.made_logs import header, read, seen, write

T0_MS = 10_000.0
END_MS = 70_000
STEP_MS = 50
"""Between two writes: a log of few lines is as good."""


def probe_lines(rto_ms: float) -> Iterator[str]:
    """A log from 1 s to 70 s: writes take 4 ms, those due in the outage fail by two codes, a reader
    lags by 300 ms.
    """
    yield header(pooled=1000 // STEP_MS, reader=2)
    back = T0_MS + rto_ms
    for op, due in enumerate(range(1_000, END_MS, STEP_MS), 1):
        if T0_MS <= due < back:
            yield from write(
                op, due, 20, "unknown" if op % 4 else "failed", code="2013" if op % 4 else "1047"
            )
        else:
            yield from write(op, due, 4 if op % 50 else 40)
    for due in range(1_000, END_MS, 500):
        outage = T0_MS <= due < back
        yield read(
            due,
            "-" if outage else "galera2",
            outcome="failed" if outage else "ok",
            code="2013" if outage else "-",
        )
    for at in range(1_000, END_MS, 100):
        yield seen("galera1", at, row_at=at)
        yield seen("galera2", at, read_only=1, row_at=max(0, at - 300))
    yield f"e\t{END_MS * 1000}"
