"""A GTID stands for the same changes on every server."""

from sandbox.consistency.verdict import on_transactions
from sandbox.measure.trial.check import Evidence, Finding


def judge(evidence: Evidence) -> Finding:
    """Equal sets of GTIDs say nothing of what the transactions held."""
    return on_transactions(evidence.consistency)
