"""Random values of TPC-C: ranges, shares and examples of the specification."""

from collections import Counter
from typing import Any

import pytest

from sandbox.load.tpcc import DISTRICTS
from unit.load.lua.script import Server, State

N = 20_000


@pytest.fixture
def state() -> State:
    """The same draws each time."""
    made = State(Server(), {}, [])
    made.lua.execute("math.randomseed(4711)")
    return made


@pytest.fixture
def tpcc(state: State) -> Any:
    """The module."""
    return state.require("tpcc.random")


def test_last_names_are_those_of_the_specification(tpcc: Any) -> None:
    """Clause 4.3.2.3 gives 371 as PRICALLYOUGHT and 40 as BARPRESBAR."""
    assert tpcc.last_name(371) == "PRICALLYOUGHT" and tpcc.last_name(40) == "BARPRESBAR"
    assert len({tpcc.last_name(number) for number in range(1000)}) == 1000


def test_the_two_constants_of_last_names_lie_as_far_apart_as_they_must(tpcc: Any) -> None:
    """Clause 2.1.6.1."""
    delta = abs(tpcc.C_LAST_OF_RUN - tpcc.C_LAST_OF_LOAD)
    assert 65 <= delta <= 119 and delta not in (96, 112)
    assert all(0 <= c <= 255 for c in (tpcc.C_LAST_OF_RUN, tpcc.C_LAST_OF_LOAD))
    assert 0 <= tpcc.C_CUSTOMER <= 1023 and 0 <= tpcc.C_ITEM <= 8191 and tpcc.DISTRICTS == DISTRICTS


@pytest.mark.parametrize(
    ("a", "x", "y", "c"), [(255, 0, 999, 173), (1023, 1, 3000, 259), (8191, 1, 100_000, 7911)]
)
def test_nurand_stays_in_its_range_and_is_not_uniform(
    tpcc: Any, a: int, x: int, y: int, c: int
) -> None:
    drawn = Counter(tpcc.nurand(a, x, y, c) for _ in range(N))
    assert x <= min(drawn) and max(drawn) <= y
    hottest = sum(count for _, count in drawn.most_common((y - x + 1) // 10))
    assert hottest > 0.2 * N, "a tenth of the values is drawn more than twice as often as uniformly"


def test_nurand_is_the_formula(tpcc: Any) -> None:
    """With A = 0 and one value left, it is (x + C) % 1 + x; over ten values every one is drawn."""
    assert tpcc.nurand(0, 4, 4, 3) == 4
    assert {tpcc.nurand(0, 1, 10, 3) for _ in range(1000)} == set(range(1, 11))


def test_the_mix_is_no_less_than_required(tpcc: Any) -> None:
    """Clause 5.2.3: payment 43%, order-status, delivery and stock-level 4% each, new-order the
    rest.
    """
    deck = list(tpcc.deck().values())
    shares = {kind: 100 * count / len(deck) for kind, count in Counter(deck).items()}
    assert shares["payment"] >= 43 and shares["new_order"] >= 43
    assert all(shares[kind] >= 4 for kind in ("order_status", "delivery", "stock_level"))
    assert deck != list(tpcc.deck().values()), "shuffled"


def test_shares_are_those_of_the_specification(tpcc: Any) -> None:
    remote_lines = sum(tpcc.supply_warehouse(2, 3) != 2 for _ in range(N)) / N
    remote_payments = sum(tpcc.home_of_payer(2, 5, 3) != (2, 5) for _ in range(N)) / N
    by_name = sum(tpcc.by_last_name() for _ in range(N)) / N
    rolled_back = sum(tpcc.is_rolled_back() for _ in range(N)) / N
    assert remote_lines == pytest.approx(0.01, abs=0.003) and rolled_back == pytest.approx(
        0.01, abs=0.003
    )
    assert remote_payments == pytest.approx(0.15, abs=0.01) and by_name == pytest.approx(
        0.60, abs=0.015
    )


def test_one_warehouse_has_no_other_to_turn_to(tpcc: Any) -> None:
    assert {tpcc.supply_warehouse(1, 1) for _ in range(N)} == {1}
    assert {tpcc.home_of_payer(1, 4, 1) for _ in range(1000)} == {(1, 4)}


def test_another_warehouse_is_any_but_home(tpcc: Any) -> None:
    drawn = Counter(tpcc.other_warehouse(2, 4) for _ in range(3000))
    assert set(drawn) == {1, 3, 4} and min(drawn.values()) > 900


def test_every_customer_that_is_named_exists(tpcc: Any) -> None:
    """Also where there are fewer customers than names."""
    for customers in (30, 300, 1500):
        there = {tpcc.name_of_load(number) for number in range(1, customers + 1)}
        assert {tpcc.name_of_run(customers) for _ in range(2000)} <= there


@pytest.mark.parametrize(("count", "position"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3)])
def test_the_middle_is_the_position_rounded_up(
    state: State, tpcc: Any, count: int, position: int
) -> None:
    assert tpcc.middle(state.lua.table_from(list(range(1, count + 1)))) == position


def test_strings(tpcc: Any) -> None:
    texts = [tpcc.letters(14, 24) for _ in range(1000)]
    assert {len(text) for text in texts} == set(range(14, 25)) and all(
        text.isalnum() for text in texts
    )
    assert len(set(tpcc.letters(5000))) == 62
    assert len(tpcc.digits(16)) == 16 and tpcc.digits(16).isdigit()
    assert len(tpcc.zip_code()) == 9 and tpcc.zip_code().endswith("11111")
    data = [tpcc.data() for _ in range(3000)]
    assert all(26 <= len(text) <= 50 for text in data)
    assert sum("ORIGINAL" in text for text in data) / 3000 == pytest.approx(0.10, abs=0.02)
