"""No write is there twice."""

from sandbox.measure.trial.check import Evidence, Finding, shown, unread


def judge(evidence: Evidence) -> Finding:
    """The prober sends each statement once; a second row is somebody else's repetition."""
    ledger = evidence.ledger
    if ledger is None or ledger.duplicate is None:
        return "unknown", unread(evidence)
    if ledger.duplicate.count:
        return (
            "fail",
            (
                f"{ledger.duplicate.count:,} writes are there more than once:"
                f" {shown(ledger.duplicate)}"
            ),
        )
    if evidence.unread:
        return "unknown", f"none on the nodes that were read; {unread(evidence)}"
    return "pass", "every row is there once"
