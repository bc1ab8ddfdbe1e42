"""Every node holds the same rows, and the same transactions."""

from collections.abc import Mapping

from sandbox.core.errors import states
from sandbox.failure.gtid import beyond
from sandbox.measure.trial.check import Evidence, Finding, shown, unread
from sandbox.record.trial import LedgerCounts


def judge(evidence: Evidence) -> Finding:
    """The verdict by the rows of the ledger, then by the transactions that a node has and the
    writer has not (errant ones).

    A node that is behind explains what it lacks, and not what the only writer, which is read last,
    lacks.
    """
    ledger = evidence.ledger
    if ledger is None:
        return "unknown", unread(evidence)
    if len(ledger.rows) == 1 and not evidence.unread:
        return "skipped", "there is one node"
    errant, lacks = _errant(evidence), _writer_lacks(ledger)
    if evidence.behind and not (evidence.single_writer and (lacks or errant)):
        return "unknown", "not caught up when read: " + states(evidence.behind)
    if ledger.divergent is not None and ledger.divergent.count and (lacks or not evidence.behind):
        text = "; ".join(
            f"{node} lacks {each.count:,}" for node, each in ledger.missing_on.items() if each.count
        )
        return (
            "fail",
            (
                f"{ledger.divergent.count:,} rows differ between nodes ({text}):"
                f" {shown(ledger.divergent)}"
            ),
        )
    if errant:
        rows = "some behind" if evidence.behind else "the same rows"
        return "fail", f"{rows}, but transactions that the writer does not have: {states(errant)}"
    if ledger.divergent is None or evidence.unread:
        return "unknown", unread(evidence)
    return "pass", f"the same ledger rows on {len(ledger.rows)} nodes"


def _writer_lacks(ledger: LedgerCounts) -> int:
    """How many rows another node has, and the writer has not."""
    missing = ledger.missing_on.get(ledger.writer or "")
    return missing.count if missing else 0


def _errant(evidence: Evidence) -> Mapping[str, str]:
    """The transactions of each node that it has and the writer has not."""
    held = evidence.transactions.get(evidence.writer or "")
    if not held:
        return {}
    extra = {node: beyond(own, held) for node, own in evidence.transactions.items() if own}
    return {node: transactions for node, transactions in extra.items() if transactions}
