"""Every node holds the same rows, and the same transactions."""

from sandbox.actions.common.gtid import beyond
from sandbox.checks.common.model import Evidence, Finding, shown, states, unread


def judge(evidence: Evidence) -> Finding:
    """By the rows of the ledger, then by the transactions that a node has and the writer has not (errant ones)."""
    ledger = evidence.ledger
    if ledger is None or ledger.divergent is None:
        return "unknown", unread(evidence)
    if evidence.behind:
        return "unknown", "not caught up when read: " + states(evidence.behind)
    if ledger.divergent.count:
        text = "; ".join(f"{node} lacks {each.count:,}" for node, each in ledger.missing_on.items() if each.count)
        return "fail", f"{ledger.divergent.count:,} rows differ between nodes ({text}): {shown(ledger.divergent)}"
    sets = {node: gtid for node, gtid in evidence.transactions.items() if gtid}
    held = sets.get(evidence.writer or "")
    errant = {node: extra for node, own in sets.items() if held and (extra := beyond(own, held))}
    if errant:
        return "fail", "the same rows, but transactions that the writer does not have: " + states(errant)
    return "pass", f"the same rows on {len(ledger.rows)} nodes"
