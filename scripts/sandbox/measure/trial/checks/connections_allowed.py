"""No server ran out of connections, which would have added errors of its own to the outage."""

from sandbox.core.errors import states
from sandbox.measure.trial.check import Evidence, Finding


def judge(evidence: Evidence) -> Finding:
    """Unknown where one did: what clients would have seen otherwise cannot be said.

    A server counts its refusals since the trial began, or since its restart; a proxy may hide them
    from the prober.
    """
    full = {node: f"{count:,} refused" for node, count in evidence.refused_by.items() if count}
    seen = (
        f"{evidence.refused:,} operations of the prober got error 1040" if evidence.refused else ""
    )
    if not (full or seen):
        return "pass", "no connection was refused for want of max_connections"
    found = "; ".join(filter(None, (states(full), seen)))
    return "unknown", f"max_connections ran out (try SET=max_connections=2000): {found}"
