"""The gate's word and exit code for every mix of verdicts: worse only when said twice, green only when all was seen."""

from itertools import product

import pytest

from sandbox.errors import ExitCode
from sandbox.results.compare import Judged, Verdict
from sandbox.results.gate import EXIT_CODES, Look, Outcome, State, outcome_of
from sandbox.results.statistics.metrics import METRICS
from sandbox.results.statistics.signed_rank import Interval
from sandbox.results.statistics.verdict import Effect, Judgement, Word

BLOCKS = 8
NAMES = ("tps", "latency_p95_ms", "latency_p99_ms")
WORDS: tuple[Word, ...] = ("better", "worse", "no difference", "too noisy", "unfit", "not_steady")


def verdict(metric: str, word: Word, blocks: int = BLOCKS, cell: str = "arm-head") -> Verdict:
    """A verdict of a word; what it rests on does not matter to the gate."""
    effect = Effect(METRICS[metric], blocks, 0.0, Interval(-0.01, 0.01, 0.95), 1.0, 0.01, 0.05)
    return Verdict(cell, "arm-base", metric, Judgement(effect, 1.0, word), 0)


def look(*words: Word, blocks: int = BLOCKS, canary_blocks: int = BLOCKS, lost: str | None = None) -> Look:
    """A look with a verdict on each metric."""
    verdicts = [verdict(metric, word, blocks) for metric, word in zip(NAMES, words, strict=True)]
    canary = [verdict(metric, "no difference", canary_blocks, "canary") for metric in NAMES]
    return Look(Judged(verdicts, canary, {}, False), BLOCKS, lost)


GREEN = look("no difference", "no difference", "better")
NOISY = look("no difference", "too noisy", "no difference")
WORSE = look("worse", "too noisy", "no difference")
WORSE_ELSEWHERE = look("no difference", "no difference", "worse")
LOST = look("worse", "worse", "worse", lost="arm-head: died")
SHORT = look("worse", "worse", "worse", blocks=BLOCKS - 1)
NOTHING = Look(None, BLOCKS)


@pytest.mark.parametrize("words", list(product(WORDS, repeat=3)))
def test_every_mix_of_verdicts_has_one_state(words: tuple[Word, Word, Word]) -> None:
    expected: State = "undecided"
    if "worse" in words:
        expected = "suspected"
    elif set(words) <= {"better", "no difference"}:
        expected = "no regression"
    assert look(*words).state == expected


@pytest.mark.parametrize(
    ("found", "state"),
    [(LOST, "environment"), (NOTHING, "environment"), (SHORT, "undecided"),
     (look("better", "better", "better", blocks=7), "undecided"),
     (look("better", "better", "better", canary_blocks=7), "undecided")],
)  # fmt: skip
def test_what_is_not_whole_says_nothing(found: Look, state: State) -> None:
    assert found.state == state


def test_a_head_of_which_every_run_failed_is_no_trouble_of_the_environment() -> None:
    nothing = [Verdict("arm-head", "arm-base", metric, None, 0) for metric in NAMES]
    assert {each.word for each in nothing} == {"failed"}
    assert Look(Judged(nothing, [], {}, False), BLOCKS, failed="arm-head: refused").state == "undecided"
    assert Look(None, BLOCKS).state == "environment", "where nothing ran, nothing is known of the head"


@pytest.mark.parametrize(
    ("first", "again", "outcome", "code"),
    [
        (GREEN, None, "no regression", 0),
        (NOISY, None, "undecided", 3),
        (SHORT, None, "undecided", 3),
        (LOST, None, "environment", 4),
        (NOTHING, None, "environment", 4),
        (WORSE, None, "undecided", 3),
        (WORSE, WORSE, "worse", 1),
        (WORSE, look("worse", "worse", "worse"), "worse", 1),
        (WORSE, WORSE_ELSEWHERE, "undecided", 3),
        (WORSE, GREEN, "no regression", 0),
        (WORSE, NOISY, "undecided", 3),
        (WORSE, SHORT, "undecided", 3),
        (WORSE, look("unfit", "unfit", "unfit"), "undecided", 3),
        (WORSE, LOST, "environment", 4),
        (WORSE, NOTHING, "environment", 4),
    ],
)
def test_worse_is_only_what_a_repetition_calls_worse_again(
    first: Look, again: Look | None, outcome: Outcome, code: int
) -> None:
    assert outcome_of(first, again) == outcome
    assert EXIT_CODES[outcome] == ExitCode(code)


def test_only_a_suspicion_asks_for_a_repetition_and_none_turns_green_by_it() -> None:
    for first in (NOISY, SHORT, LOST, NOTHING):
        assert first.state != "suspected"
        assert outcome_of(first, GREEN) == first.state, "again until green"
