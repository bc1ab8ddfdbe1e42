"""Every topology that runs here: it forms, has its roles, replicates, and comes back from one and
from all killed.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from integration.live import LiveStack
from integration.shared import SharedStacks
from integration.turns import of_today

pytestmark = pytest.mark.docker


@dataclass(frozen=True)
class Topology:
    """A profile and how many of its servers take writes.

    ``long``: for the long run alone, as is what is ``further``: a version or a variant of one that
    is here already.
    """

    profile: str
    writers: int
    long: bool = False
    further: bool = False


TOPOLOGIES = [
    Topology("mysql@9.7", 1, long=True),
    Topology("mysql@9.7+replica1", 1),
    Topology("mysql@9.7+replica2", 1, long=True),
    Topology("mysql@9.7+replica1+semisync", 1, further=True),
    Topology("gr1@9.7", 1, long=True),
    Topology("gr3@9.7", 1),
    Topology("gr3@9.7+multi-primary", 3, further=True),
    Topology("gr3@9.7+replica1", 1, further=True),
    Topology("mariadb@10.5", 1, long=True),
    Topology("mariadb@10.11", 1, further=True),
    Topology("mariadb@11.8+replica1", 1, long=True),
    Topology("mariadb@11.8+replica2", 1, long=True),
    Topology("mariadb@10.11+replica1@11.8", 1, long=True),
    Topology("mariadb@11.8+replica1+semisync", 1, further=True),
    Topology("galera1@11.8", 1, long=True),
    Topology("galera3@10.5", 3, further=True),
    Topology("galera3@10.11", 3, further=True),
    Topology("galera3@11.8", 3),
    Topology("galera3@11.8+replica1", 3, further=True),
]
TODAY = of_today([each for each in TOPOLOGIES if each.long or each.further], days=3)
"""Of those that the long run alone has, a third a day."""
PARAMETERS = [
    pytest.param(each, marks=pytest.mark.long if each in TODAY else (), id=each.profile)
    for each in TOPOLOGIES
    if each in TODAY or not (each.long or each.further)
]


@pytest.fixture(scope="module", params=PARAMETERS)
def topology(request: pytest.FixtureRequest) -> Topology:
    """One topology after the other."""
    return request.param  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def stack(topology: Topology, shared_stacks: SharedStacks) -> Iterator[LiveStack]:
    """The topology, up."""
    yield shared_stacks.as_new(topology.profile)
    shared_stacks.release(topology.profile)


def test_the_roles_are_what_the_profile_promises(stack: LiveStack, topology: Topology) -> None:
    assert len(stack.writers()) == topology.writers
    assert set(stack.names("replica")).isdisjoint(stack.writers())


def test_a_write_arrives_on_every_server(stack: LiveStack) -> None:
    ledger = stack.ledger()
    ledger.wait_for(20)
    ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


def test_a_killed_writer_comes_back_with_every_acknowledged_row(stack: LiveStack) -> None:
    ledger = stack.ledger()
    ledger.wait_for(50)
    stack.kill(stack.writers()[0])
    stack.start()
    ledger.wait_for(50)
    ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
    stack.sql(stack.writers()[0], "drop table sbtest.ledger")


@pytest.mark.long
def test_all_killed_come_back_with_every_acknowledged_row(stack: LiveStack) -> None:
    ledger = stack.ledger()
    ledger.wait_for(50)
    stack.kill(*stack.servers)
    stack.start()
    ledger.wait_for(50)
    ledger.stop()
    stack.assert_everywhere(ledger.acknowledged)
