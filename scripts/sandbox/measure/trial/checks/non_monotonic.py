"""A node that has shown a row goes on showing it."""

from sandbox.measure.trial.check import Evidence, Finding, unread


def judge(evidence: Evidence) -> Finding:
    """A row that a node had returned and then did not: it was rolled back, or the node started
    anew.
    """
    ledger = evidence.ledger
    if ledger is None:
        return "unknown", unread(evidence)
    seen = ledger.non_monotonic
    if seen.count:
        text = ", ".join(f"{each.op} on {each.node}" for each in seen.examples[:5])
        return (
            "fail",
            f"{seen.count:,} reads did not return a row that their node had shown before: {text}",
        )
    return "pass", "no node took back a row that it had shown"
