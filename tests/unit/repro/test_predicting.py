"""How long further tries take, by those before them."""

import pytest

from sandbox.record.manifest import ReprosPart, StartPart
from sandbox.repro.predicting import (
    BASE_S,
    FIRST_S,
    IMAGE_S,
    REPEAT_S,
    UP_S,
    Pace,
    StartNeeds,
    pace_of,
)


def start(up_s: float, images_s: float = 0.0, base_s: float = 0.0) -> StartPart:
    return StartPart(
        cell="made-up.10-11", profile="mariadb", images_s=images_s, base_s=base_s, up_s=up_s
    )


def test_without_any_knowledge_it_is_what_other_machines_took() -> None:
    assert Pace().try_s(10, StartNeeds()) == pytest.approx(UP_S + FIRST_S + 10 * REPEAT_S)
    more_s = Pace().try_s(10, StartNeeds(image=True, base=True)) - Pace().try_s(10, StartNeeds())
    assert more_s == pytest.approx(IMAGE_S + BASE_S)


def test_earlier_results_say_how_long_stacks_and_repeats_take() -> None:
    parts = [
        ReprosPart(key="a", repeat_s=0.1, starts=[start(3.0, base_s=12.0)]),
        ReprosPart(key="b", repeat_s=0.2, starts=[start(4.0, base_s=0.2), start(5.0)]),
    ]
    pace = pace_of(parts)
    assert pace.try_s(10, StartNeeds()) == pytest.approx(4.0 + FIRST_S + 10 * 0.15)
    assert pace.try_s(10, StartNeeds(base=True)) == pytest.approx(4.0 + FIRST_S + 1.5 + 12.0)


def test_tries_of_this_search_count_more_than_all_that() -> None:
    pace = Pace([start(30.0)], repeat_s=0.1)
    pace.note(20.0, 5, start(4.0, images_s=10.0, base_s=3.0))
    assert pace.try_s(0, StartNeeds()) == pytest.approx(6.5), "the only one"
    pace.note(3.5, 5, start(3.0))
    pace.note(4.5, 15, start(3.0))
    assert pace.try_s(0, StartNeeds()) == pytest.approx(3.0), "those after the first one"
