"""What a gate makes of verdicts: one look at a change, a second one where the first is worse, and the word for both."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from sandbox.errors import ExitCode
from sandbox.results.compare import Judged, Verdict

State = Literal["no regression", "suspected", "undecided", "environment"]
Outcome = Literal["no regression", "worse", "undecided", "environment"]
EXIT_CODES: Mapping[Outcome, ExitCode] = {
    "no regression": ExitCode.OK,
    "worse": ExitCode.FAILED,
    "undecided": ExitCode.UNKNOWN,
    "environment": ExitCode.ENVIRONMENT,
}
GREEN = frozenset({"no difference", "better"})


@dataclass(frozen=True, slots=True)
class Look:
    """One pass over all blocks on stacks of its own. ``judged`` None: no run was any good.

    ``lost``: what the environment ended it by, None where nothing did; ``failed``: why the first run failed that did.
    """

    judged: Judged | None
    blocks: int
    """As planned."""
    lost: str | None = None
    failed: str | None = None

    @property
    def verdicts(self) -> Sequence[Verdict]:
        """On every primary metric."""
        return self.judged.verdicts if self.judged else ()

    @property
    def incomplete(self) -> bool:
        """Whether some metric, of the canary's too, has fewer blocks than were planned."""
        every = [*self.verdicts, *(self.judged.canary if self.judged else ())]
        return any(each.judgement is None or each.judgement.effect.blocks < self.blocks for each in every)

    @property
    def worse(self) -> frozenset[str]:
        """Metrics that are worse."""
        return frozenset(each.metric for each in self.verdicts if each.word == "worse")

    @property
    def state(self) -> State:
        """What one look says; what is not whole says nothing, for better or worse."""
        if self.lost is not None or self.judged is None:
            return "environment"
        if self.incomplete:
            return "undecided"
        if self.worse:
            return "suspected"
        return "no regression" if {each.word for each in self.verdicts} <= GREEN else "undecided"


def outcome_of(first: Look, repetition: Look | None) -> Outcome:
    """The gate's word. Worse needs a metric that a fresh repetition calls worse again; else the repetition decides.

    Nothing but a suspicion is ever repeated, and that once (statistics.md, rule 3: never "again until green").
    """
    state = first.state
    if state != "suspected":
        return state
    if repetition is None:
        return "undecided"
    again = repetition.state
    if again != "suspected":
        return again
    return "worse" if first.worse & repetition.worse else "undecided"
