"""The bank: transfers one after the other show nothing, and each anomaly that is put into a history
is found.
"""

import random

from hypothesis import given, settings
from hypothesis import strategies as st

from sandbox.load.bank import BankHistory, bank_anomalies
from sandbox.load.common.isolation.history import Txn, TxnOutcome

State = dict[int, tuple[int, int]]


class Bank:
    """Three accounts of 100; each transaction takes 5 s, the next begins 10 s later."""

    def __init__(self) -> None:
        self.txns: list[Txn] = []
        self.state: State = dict.fromkeys(range(3), (100, 0))
        self.versions = 0

    def add(
        self,
        ops: list[list[object]],
        outcome: TxnOutcome = "ok",
        final: bool = False,
        node: str = "n1",
    ) -> None:
        """The next transaction."""
        at, number = len(self.txns) * 10**10, len(self.txns)
        self.txns.append(Txn(number, 0, node, outcome, at, at + 5 * 10**9, ops, final))

    def transfer(
        self, first: int, second: int, based_on: State | None = None, outcome: TxnOutcome = "ok"
    ) -> None:
        """7 from one to the other. ``based_on``: an older state that it had read."""
        before = based_on or self.state
        self.versions += 1
        self.add(
            [["w", each, [self.versions, before[each][1]]] for each in (first, second)], outcome
        )
        if outcome == "ok":
            changes = ((first, -7), (second, 7))
            self.state = {
                **self.state,
                **{at: (before[at][0] + change, self.versions) for at, change in changes},
            }

    def read(self, state: State | None = None, final: bool = False, node: str = "n1") -> "Bank":
        """All accounts as they are, or as they were in another state."""
        self.add(
            [["r", each, list(row)] for each, row in (state or self.state).items()],
            final=final,
            node=node,
        )
        return self

    @property
    def found(self) -> dict[str, int]:
        """Anomalies with a count above 0."""
        return {
            name: each.count
            for name, each in bank_anomalies(BankHistory(self.txns, 300)).items()
            if each.count
        }


@settings(deadline=None)
@given(seed=st.integers(0, 10**9), count=st.integers(1, 60))
def test_transfers_one_after_the_other_show_nothing(seed: int, count: int) -> None:
    dice, bank = random.Random(seed), Bank()
    for _ in range(count):
        if dice.random() < 0.5:
            first, second = dice.sample(range(3), 2)
            bank.transfer(first, second, outcome="ok" if dice.random() < 0.8 else "fail")
        else:
            bank.read()
    assert bank.read(final=True).read(final=True, node="n2").found == {}


@settings(deadline=None)
@given(seed=st.integers(0, 10**9), count=st.integers(1, 30))
def test_a_transfer_on_top_of_an_old_version_is_a_lost_update(seed: int, count: int) -> None:
    dice, bank = random.Random(seed), Bank()
    for _ in range(count):
        first, second = dice.sample(range(3), 2)
        bank.transfer(first, second)
    old = bank.state
    bank.transfer(0, 1)
    bank.transfer(0, 2, based_on=old)
    found = bank.read(final=True).found
    assert found == {"lost_updates": 1, "lost_writes": 1, "final_totals": 1}


def test_an_old_read_is_stale_and_for_its_client_not_monotonic() -> None:
    bank = Bank()
    bank.transfer(0, 1)
    old = bank.read().state
    bank.transfer(0, 1)
    bank.transfer(1, 2)
    assert bank.read().read(old).read(final=True).found == {
        "stale_reads": 1,
        "non_monotonic_reads": 1,
    }


def test_a_read_of_one_half() -> None:
    bank = Bank()
    old = bank.state
    bank.transfer(0, 1)
    found = bank.read({**bank.state, 1: old[1]}).found
    assert found == {"fractured_reads": 1, "stale_reads": 1, "wrong_totals": 1}


def test_a_read_of_one_half_of_what_was_replaced_since() -> None:
    """Account 1 has what the second transfer made of it, so the first one is in it; account 0 shows
    nothing of it.
    """
    bank = Bank()
    old = bank.state
    bank.transfer(0, 1)
    bank.transfer(1, 2)
    assert bank.read({**bank.state, 0: old[0]}).found == {
        "fractured_reads": 1,
        "stale_reads": 1,
        "wrong_totals": 1,
    }


def test_nothing_is_known_of_what_an_unknown_transfer_replaced() -> None:
    bank = Bank()
    bank.transfer(0, 1)
    bank.transfer(0, 1, outcome="info")
    in_the_end = {**bank.state, 0: (86, 2), 1: (114, 2)}
    assert bank.read(in_the_end, final=True).found == {}


def test_a_read_of_what_was_rolled_back_and_of_what_nobody_wrote() -> None:
    bank = Bank()
    bank.transfer(0, 1, outcome="fail")
    found = bank.read({**bank.state, 0: (93, 1)}).read({**bank.state, 0: (100, 99)}).found
    assert (found["aborted_reads"], found["unexplained_reads"]) == (1, 1)


def test_nodes_that_differ_in_the_end() -> None:
    bank = Bank()
    old = bank.state
    bank.transfer(0, 1)
    assert bank.read(final=True).read(old, final=True, node="n2").found == {"divergence": 1}
