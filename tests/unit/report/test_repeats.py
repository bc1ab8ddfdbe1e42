"""Repeated trials: rates, figures, what ended them, in the words of a report."""

import pytest

from sandbox.record.manifest import RepeatsPart
from sandbox.record.record import CheckRecord
from sandbox.report.charts.layout import RunData
from sandbox.report.render import terminal
from sandbox.report.repeats import rates_of, repeats_answer, repeats_document
from unit.report.made_up_trials import PATTERN, repeated, trial_record

WHOLE = RepeatsPart(count=12, fresh=False, end="complete")


def test_rates_name_what_was_waited_for_and_every_check_that_failed() -> None:
    records = repeated(12, lost_in=[3, 9], lost=0)
    failed = CheckRecord(name="divergence", verdict="fail", detail="3 rows differ")
    passed = failed.model_copy(update={"verdict": "pass"})
    records = [
        each.model_copy(update={"checks": [failed if each.block == 5 else passed]})
        for each in records
    ]
    part = WHOLE.model_copy(update={"until": f"log:{PATTERN}"})
    found = {rate.what: (rate.count, rate.trials) for rate in rates_of(records, part)}
    assert found == {
        f"log:{PATTERN}": (2, 12),
        "lost-member": (2, 12),
        "lost": (0, 0),
        "failed-check": (1, 12),
        "divergence": (1, 12),
    }


def test_what_never_came_has_an_upper_end() -> None:
    part = WHOLE.model_copy(update={"until": "lost-member"})
    text = repeats_answer(repeated(12), part)
    assert text.startswith("lost-member came in 0 of 12 trials: a rate of 0 … 26.5 %.")
    assert "RTO: 2,550 ms (median of 12 trials; 95 % interval 2,200 … 2,900)." in text


def test_few_trials_have_no_interval_of_the_median() -> None:
    text = repeats_answer(repeated(3), WHOLE.model_copy(update={"count": 3}))
    assert text == "RTO: 2,100 ms (median of 3 trials; no interval below 6 trials)."


def test_an_interrupted_series_says_so() -> None:
    records = repeated(2)
    records[1] = records[1].model_copy(update={"status": "interrupted", "reason": "by Ctrl-C"})
    part = WHOLE.model_copy(update={"end": "interrupted", "reason": "interrupted in trial 2"})
    text = " ".join(
        terminal.text(repeats_document([RunData(each) for each in records], part)).split()
    )
    assert "2 of 12 trials interrupted" in text and "trial 2 is interrupted: by Ctrl-C" in text
    assert "It ended early: interrupted in trial 2." in text


@pytest.mark.parametrize(("fresh", "said"), [(True, "was restored"), (False, "healed and")])
def test_it_says_how_the_stack_was_reset(fresh: bool, said: str) -> None:
    part = WHOLE.model_copy(update={"fresh": fresh})
    runs = [RunData(each) for each in repeated(2)]
    assert said in terminal.text(repeats_document(runs, part))


def test_a_series_without_any_trial_can_be_shown() -> None:
    part = WHOLE.model_copy(update={"end": "no stack", "reason": "no trial 1: it is gone"})
    assert "no trial 1: it is gone" in terminal.text(repeats_document([], part))


def test_a_single_trial_that_somebody_looked_at_is_none() -> None:
    assert trial_record().trial and trial_record().trial.lost_members is None  # type: ignore[union-attr]
