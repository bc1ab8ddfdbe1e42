"""Every server holds the same rows, of all tables, once it has caught up with the writer."""

from sandbox.consistency.verdict import on_rows
from sandbox.measure.trial.check import Evidence, Finding


def judge(evidence: Evidence) -> Finding:
    """The ledger is not the only table: a fault may cost a row of the load alone."""
    return on_rows(evidence.consistency)
