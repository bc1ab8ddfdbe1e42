"""List-append: a serial history shows nothing, and each anomaly that is put into one is found."""

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from sandbox.load.common.isolation.history import Txn
from sandbox.load.common.isolation.list_append import ListHistory, anomalies, appends_of
from unit.load.common.isolation.histories import Script, append, read, serial, with_ops

SEEDS = st.integers(min_value=0, max_value=10**9)


@settings(deadline=None)
@given(seed=SEEDS, count=st.integers(1, 60), keys=st.integers(1, 4), overwrite=st.booleans())
def test_a_serial_history_has_no_anomaly(seed: int, count: int, keys: int, overwrite: bool) -> None:
    assert serial(seed, count, keys, overwrite).found == {}


def counts(txns: list[Txn]) -> dict[str, int]:
    """All of them."""
    return {name: each.count for name, each in anomalies(ListHistory(txns)).items()}


def chosen(txns: list[Txn], seed: int, fit: list[Txn]) -> Txn:
    """One of those that fit; no example without one."""
    assume(fit)
    return fit[seed % len(fit)]


@settings(deadline=None)
@given(seed=SEEDS)
def test_a_seeded_loss_is_found(seed: int) -> None:
    txns = serial(seed, 40, 3, False).txns
    victim = chosen(txns, seed, [txn for txn in txns if txn.outcome == "ok" and appends_of(txn)])
    lost = next(iter(appends_of(victim).values()))[0]
    without = [
        with_ops(
            txn,
            [[n, k, [e for e in v if e != lost]] if n == "r" else [n, k, v] for n, k, v in txn.ops],
        )
        for txn in txns
    ]
    assert counts(without)["lost_writes"] == 1


@settings(deadline=None)
@given(seed=SEEDS)
def test_a_seeded_stale_read_is_found(seed: int) -> None:
    txns = serial(seed, 40, 2, False).txns
    history = ListHistory(txns)
    acked = {element for element, txn in history.writer.items() if txn.outcome == "ok"}
    # Of all that these saw, one element less: the last, acknowledged before they began, since the
    # history is serial.
    single = [each for each in history.reads if len(each.txn.ops) == 1 and not each.txn.final]
    fit = [each.txn for each in single if each.elements and each.elements[-1] in acked]
    victim = chosen(txns, seed, fit)
    ((name, key, seen),) = victim.ops
    txns[victim.index] = with_ops(victim, [[name, key, seen[:-1]]])
    assert counts(txns)["stale_reads"] == 1


@settings(deadline=None)
@given(seed=SEEDS)
def test_a_seeded_read_of_what_was_rolled_back_is_found(seed: int) -> None:
    txns = serial(seed, 40, 2, False).txns
    failed = [
        element
        for txn in txns
        if txn.outcome == "fail"
        for own in appends_of(txn).values()
        for element in own
    ]
    assume(failed)
    victim = chosen(
        txns,
        seed,
        [txn for txn in txns if txn.outcome == "ok" and txn.ops[0][0] == "r" and not txn.final],
    )
    name, key, seen = victim.ops[0]
    txns[victim.index] = with_ops(victim, [[name, key, [*seen, failed[0]]], *victim.ops[1:]])
    assert counts(txns)["aborted_reads"] == 1 and counts(txns)["incompatible_orders"] == 1


@settings(deadline=None)
@given(seed=SEEDS)
def test_a_seeded_lost_update_is_found(seed: int) -> None:
    """Two that read the same version and both wrote: the second replaced what the first had
    written.
    """
    script = serial(seed, 30, 2, True)
    final = script.txns.pop()
    seen = final.ops[0][2]
    script.add(read(0, *seen), append(0, 9001), at=(1000, 1004))
    script.add(read(0, *seen), append(0, 9002), at=(1000, 1005))
    script.end(read(0, *seen, 9002), *final.ops[1:])
    assert script.found == {"lost_updates": 1, "lost_writes": 1}


def test_an_update_by_another_between_read_and_write() -> None:
    """MDEV-38977: the server appended, so nothing is gone, but the snapshot was old."""
    script = Script()
    script.add(append(1, 5))
    script.add(read(1, 5), append(1, 6), at=(20, 40))
    script.add(append(1, 10), at=(22, 30))
    assert script.end(read(1, 5, 10, 6)).found == {"lost_updates": 1, "g_single": 1}


def test_a_write_read_halfway() -> None:
    script = Script()
    script.add(append(1, 1), append(1, 2), at=(0, 9))
    script.add(read(1, 1), at=(2, 3))
    assert script.end(read(1, 1, 2)).found == {"intermediate_reads": 1, "g_single": 1}


def test_an_element_that_nobody_appended_or_that_is_there_twice() -> None:
    script = Script()
    script.add(append(1, 1))
    script.add(append(2, 2))
    assert script.end(read(1, 1, 7), read(2, 2, 2)).found["unexplained_reads"] == 2


def test_reads_that_do_not_repeat_and_those_that_contradict_an_own_write() -> None:
    script = Script()
    script.add(append(1, 1))
    script.add(append(1, 2), at=(22, 23))
    script.add(read(1, 1), read(1, 1, 2), at=(20, 30))
    script.add(append(1, 3), at=(42, 43))
    script.add(read(1, 1, 2), append(1, 4), read(1, 1, 2, 3, 4), at=(40, 50))
    found = script.end(read(1, 1, 2, 3, 4)).found
    assert (
        found["non_repeatable_reads"],
        found["internal_inconsistencies"],
        found["lost_updates"],
    ) == (1, 1, 1)


def test_one_half_of_a_transaction() -> None:
    script = Script()
    script.add(append(1, 1), append(2, 2), at=(0, 9))
    script.add(read(2), read(1, 1), at=(1, 10))
    assert script.end(read(1, 1), read(2, 2)).found == {"fractured_reads": 1, "g_single": 1}


def test_a_client_no_longer_sees_what_it_saw() -> None:
    script = Script()
    script.add(append(1, 1), at=(0, 50))
    script.add(read(1, 1), process=7, at=(10, 11))
    script.add(read(1), process=7, at=(12, 13))
    assert script.end(read(1, 1)).found == {"non_monotonic_reads": 1}


def test_a_list_that_was_replaced_and_came_back_is_a_lost_update_and_nothing_else() -> None:
    """[1] and [1, 2] are there; 3 replaces 2, then 4, which had read [1, 2], replaces 3."""
    script = Script()
    script.add(append(1, 1), append(2, 5), at=(0, 1))
    script.add(read(1, 1), append(1, 2), append(2, 6), process=1, at=(10, 12))
    script.add(read(1, 1, 2), process=2, at=(13, 14))
    script.add(read(1, 1), append(1, 3), at=(11, 15))
    script.add(read(1, 1, 3), read(2, 5, 6), process=2, at=(20, 21))
    script.add(read(1, 1, 2), append(1, 4), at=(14, 25))
    found = script.end(read(1, 1, 2, 4), read(2, 5, 6)).found
    assert found == {"lost_updates": 1, "lost_writes": 1, "incompatible_orders": 1}


def test_nodes_that_differ_in_the_end() -> None:
    script = Script()
    script.add(append(1, 1))
    found = script.end(read(1, 1)).end(read(1), node="n2").found
    assert found == {"divergence": 1}


def test_write_skew_is_a_cycle_of_two_read_write_dependencies() -> None:
    script = Script()
    script.add(read(1), append(2, 1), at=(0, 9))
    script.add(read(2), append(1, 2), at=(0, 9))
    assert script.end(read(1, 2), read(2, 1)).found == {"g2_item": 1}


def test_writes_in_two_orders() -> None:
    script = Script()
    script.add(append(1, 1), append(2, 2), at=(0, 9))
    script.add(append(1, 3), append(2, 4), at=(0, 9))
    assert script.end(read(1, 1, 3), read(2, 4, 2)).found == {"g0": 1}


def test_two_that_read_each_other() -> None:
    script = Script()
    script.add(append(1, 1), read(2, 2), at=(0, 9))
    script.add(append(2, 2), read(1, 1), at=(0, 9))
    assert script.end(read(1, 1), read(2, 2)).found == {"g1c": 1}


@pytest.mark.parametrize("count", [5_000])
def test_a_long_history_is_judged_in_seconds(count: int) -> None:
    assert serial(1, count, 400, True).found == {}
