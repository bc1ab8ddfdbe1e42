"""Every acknowledged write is on the writer in the end, and on every reader once it has caught
up.
"""

from sandbox.measure.trial.check import Evidence, Finding, of_acked, shown, unread


def judge(evidence: Evidence) -> Finding:
    """Acknowledged − present. Under asynchronous replication or relaxed flushing, a loss is a
    result of the setup.

    What the writer lacks is lost, whatever others have; what a reader lacks that is still behind
    may yet arrive. A server that is out of its group is no reader.
    """
    ledger = evidence.ledger
    if ledger is None or ledger.lost is None:
        return "unknown", unread(evidence)
    if ledger.lost.count:
        return (
            "fail",
            f"{of_acked(ledger, ledger.lost)} are not on the writer: {shown(ledger.lost)}",
        )
    lacking = {
        node: each
        for node, each in ledger.lost_on_readers.items()
        if each.count and node not in evidence.idle
    }
    if missing := {node: each for node, each in lacking.items() if node not in evidence.behind}:
        text = "; ".join(
            f"{node} lacks {each.count:,}: {shown(each)}" for node, each in missing.items()
        )
        return "fail", f"acknowledged, on the writer, but not on every reader: {text}"
    if lacking or evidence.unread:
        late = [
            f"{node} has not caught up and lacks {each.count:,}" for node, each in lacking.items()
        ]
        doubts = "; ".join(
            [*late, *(f"{node} was not read ({why})" for node, why in evidence.unread.items())]
        )
        return "unknown", f"all {ledger.acked:,} acknowledged writes are on the writer; {doubts}"
    out = f"the writer and its readers; out of the group: {', '.join(evidence.idle)}"
    return (
        "pass",
        f"all {ledger.acked:,} acknowledged writes are on {out if evidence.idle else 'every node'}",
    )
