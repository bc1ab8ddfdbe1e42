"""No two nodes acknowledge writes apart from each other."""

from sandbox.checks.common.model import Evidence, Finding, shown, unread


def judge(evidence: Evidence) -> Finding:
    """With one writer at a time: a write that the old writer took after the election, and the new one does not have."""
    ledger = evidence.ledger
    if not evidence.single_writer:
        return "skipped", "every node of this topology takes writes; divergence and lost show two histories"
    if ledger is None:
        return "unknown", unread(evidence)
    if ledger.split_brain is None:
        return "skipped", "no other writer was elected"
    if ledger.split_brain.count:
        text = f"{ledger.split_brain.count:,} writes were acknowledged by the old writer after the election"
        return "fail", f"{text}, and the new one does not have them: {shown(ledger.split_brain)}"
    return "pass", "the old writer acknowledged nothing after the election that the new one lacks"
