"""About how long a trial takes, for the estimate of a matrix."""

from dataclasses import dataclass

from sandbox.failure.registry import action_named
from sandbox.measure.trial.conductor import BACK_S
from sandbox.measure.trial.load_beside import CAPACITY_S
from sandbox.measure.trial.run import TrialRequest
from sandbox.measure.trial.schedule import Step
from sandbox.measure.trial.trial import TAIL_S

OTHER_S = 3.0
"""What comes before the prober and after it."""


@dataclass(frozen=True, slots=True)
class TypicalTimes:
    """Seconds of an outage whose fault has no length, and from a heal until every node is ready
    again.
    """

    outage_s: float
    return_s: float


def trial_s(trial: TrialRequest, typical: TypicalTimes) -> float:
    """About how long a trial takes, without its stack's start: the schedule, the way back, the
    tail, the ledgers.
    """
    ends = [_whole_s(step, typical) for step in trial.schedule.steps]
    return max(ends, default=0.0) + TAIL_S + OTHER_S + (CAPACITY_S if trial.loaded else 0)


def _whole_s(step: Step, typical: TypicalTimes) -> float:
    """When the stack is whole again after a step."""
    if step.action is not None:
        return step.at_s + action_named(step.action, step.options).typical_s
    healed_s = step.at_s + typical.outage_s + BACK_S if step.end_s is None else step.end_s
    return healed_s + typical.return_s
