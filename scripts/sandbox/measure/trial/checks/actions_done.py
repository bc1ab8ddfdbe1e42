"""Every action of the schedule was done."""

from sandbox.measure.trial.check import Evidence, Finding


def judge(evidence: Evidence) -> Finding:
    """A refused action, such as a promotion while the old writer answers, leaves a trial of
    something else.
    """
    if not evidence.actions:
        return "skipped", "the schedule has no action"
    refused = [
        f"{name}: {outcome}" for name, outcome, was_refused in evidence.actions if was_refused
    ]
    if refused:
        return "fail", "; ".join(refused)
    return "pass", "; ".join(f"{name}: {outcome}" for name, outcome, _ in evidence.actions)
