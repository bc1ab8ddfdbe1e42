"""No two nodes acknowledge writes apart from each other."""

from sandbox.measure.trial.check import Evidence, Finding, shown, unread


def judge(evidence: Evidence) -> Finding:
    """With one writer at a time: a write that another node took after an election, and the elected
    one lacks.
    """
    ledger = evidence.ledger
    if not evidence.single_writer:
        return (
            "skipped",
            "every node of this topology takes writes; divergence and lost show two histories",
        )
    if ledger is not None and not evidence.elected:
        return "skipped", "no other writer was elected"
    if ledger is None:
        return "unknown", unread(evidence)
    if ledger.split_brain is None:
        nowhere = "a write that was acknowledged after the election is on no node that was read"
        return "unknown", unread(evidence) if evidence.unread else nowhere
    if ledger.split_brain.count:
        text = (
            f"{ledger.split_brain.count:,} writes were acknowledged by another node after an"
            " election"
        )
        return (
            "fail",
            f"{text}, and the elected one does not have them: {shown(ledger.split_brain)}",
        )
    return (
        "pass",
        "no other node acknowledged anything after an election that the elected one lacks",
    )
