"""How often something came in repeated trials: the count with its exact interval."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.judge.rank_tests import Interval
from sandbox.record.record import CheckRecord, Record

LOG = "log:"
"""Beginning of what is looked for in the servers' logs; a regular expression follows."""
LOST_MEMBER = "lost-member"
FAILED_CHECK = "failed-check"
CONFIDENCE = 0.95
_JUDGED = ("ok", "failed", "infra_error")
"""Status of a trial whose checks count, if it has any: the ledger of a trial whose prober was late,
so that its times do not count, is as good as any other.
"""


@dataclass(frozen=True, slots=True)
class Rate:
    """In how many trials something came, of those of which it is known."""

    what: str
    count: int
    trials: int
    interval: Interval | None
    """Of the rate, 0 to 1; None without a trial."""
    unknown: int = 0
    """Trials that ended, but of which it is not known."""


def rate_interval(count: int, trials: int, ended_by_it: bool = False) -> Interval | None:
    """The exact 95 % interval of a rate (Clopper and Pearson 1934); None without a trial.

    ``ended_by_it``: the last trial was the last because it came there (inverse sampling, Haldane
    1945). More trials were then unlikely only if the rate is high: the upper end is that of the
    trials before it.
    """
    if not trials:
        return None
    low, high = _clopper_pearson(count, trials)
    if ended_by_it:
        high = _clopper_pearson(count - 1, trials - 1)[1] if trials > 1 else 1.0
    return Interval(low, high, CONFIDENCE)


def _clopper_pearson(count: int, trials: int) -> tuple[float, float]:
    from scipy import stats  # here: it takes a second to import

    found = stats.binomtest(count, trials).proportion_ci(CONFIDENCE, "exact")
    return float(found.low), float(found.high)


def came(record: Record, what: str) -> bool | None:
    """Whether it came in a trial; None where that is not known.

    ``what``: ``log:<pattern>``, ``lost-member``, ``failed-check``, or the name of a check.
    """
    if what.startswith(LOG) or what == LOST_MEMBER:
        return _was_seen(record, what)
    if record.status not in _JUDGED:
        return None
    checks = [each for each in record.checks if what in (FAILED_CHECK, each.name)]
    return _failed(checks)


def _was_seen(record: Record, what: str) -> bool | None:
    """Of what was looked for when the trial had ended, whatever became of its figures."""
    trial = record.trial
    if trial is None:
        return None
    if what == LOST_MEMBER:
        return None if trial.lost_members is None else bool(trial.lost_members)
    pattern = what.removeprefix(LOG)
    if pattern not in trial.log_lines:
        return None
    return bool(trial.log_lines[pattern])


def _failed(checks: Sequence[CheckRecord]) -> bool | None:
    verdicts = {each.verdict for each in checks}
    if "fail" in verdicts:
        return True
    return False if "pass" in verdicts else None


def rate_of(records: Sequence[Record], what: str, ended_by_it: bool = False) -> Rate:
    """How often it came in some trials."""
    found = [came(record, what) for record in records if record.status != "interrupted"]
    count = found.count(True)
    trials = count + found.count(False)
    interval = rate_interval(count, trials, ended_by_it and bool(count))
    return Rate(what, count, trials, interval, found.count(None))
