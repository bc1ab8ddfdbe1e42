"""No write that was refused is there in the end."""

from sandbox.measure.trial.check import Evidence, Finding, shown, unread


def judge(evidence: Evidence) -> Finding:
    """Failed ∩ present: the server said that it rolled the write back, and kept it."""
    ledger = evidence.ledger
    if ledger is None or ledger.phantom is None:
        return "unknown", unread(evidence)
    if ledger.phantom.count:
        return "fail", f"{ledger.phantom.count:,} refused writes are there: {shown(ledger.phantom)}"
    if evidence.unread:
        return "unknown", f"none on the nodes that were read; {unread(evidence)}"
    return "pass", f"none of {ledger.failed:,} refused writes is there"
