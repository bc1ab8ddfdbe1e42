"""Reads see every write that was acknowledged before they began."""

from sandbox.measure.trial.check import Evidence, Finding, unread
from sandbox.record.trial import StaleReads


def judge(evidence: Evidence) -> Finding:
    """At the writer's entry a stale read fails the check; at a reader it is the lag of asynchronous
    apply.
    """
    ledger = evidence.ledger
    if ledger is None:
        return "unknown", unread(evidence)
    at_writer, at_reader = (ledger.stale.get(stream) for stream in ("writer", "reader"))
    texts = [
        f"{name}: {_text(each)}"
        for name, each in (("writer", at_writer), ("readers", at_reader))
        if each
    ]
    if at_writer is None or not at_writer.reads:
        return "unknown", "no read at the writer was answered"
    return "fail" if at_writer.stale else "pass", "; ".join(texts)


def _text(reads: StaleReads) -> str:
    if not reads.stale:
        return f"none of {reads.reads:,} reads was stale"
    age = (
        f", the oldest by {reads.longest_age_ms:,.0f} ms"
        if reads.longest_age_ms is not None
        else ""
    )
    return (
        f"{reads.stale:,} of {reads.reads:,} reads were stale{age}, {reads.above_1s:,} by more"
        " than 1 s"
    )
