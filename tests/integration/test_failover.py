"""After a failover: a source killed, a replica promoted and the other one repointed by SQL, as a
manager does it.

Ready each time, one writer, and no write to a server that is none: every row names the server that
took it.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest

from integration.live import Ledger, LiveStack, live_stack, run, sandbox
from integration.turns import of_today

pytestmark = [pytest.mark.docker, pytest.mark.own_stack]
BEHIND_HAPROXY = ["mysql@9.7+replica2+haproxy", "mariadb@11.8+replica2+haproxy"]
WITHOUT_PROXY = [
    "mysql@9.7+replica2",
    "mariadb@10.11+replica2",
    "mysql@9.7+replica1",
    "mariadb@11.8+replica1",
    "mariadb@10.11+replica1@11.8",
]
"""Each of these takes minutes: they come in turns."""


@dataclass(frozen=True)
class Words:
    """The statements of a failover."""

    promote: str
    repoint: str
    writable: str


MYSQL = Words(
    "stop replica; reset replica all; set global super_read_only = off; set global read_only = off",
    "stop replica; change replication source to source_host = 'replica1'; start replica",
    "set global super_read_only = off; set global read_only = off",
)
MARIADB = Words(
    "stop slave; reset slave all; set global read_only = off",
    "stop slave; change master to master_host = 'replica1', master_use_gtid = slave_pos; start"
    " slave",
    "set global read_only = off",
)


class Failover(LiveStack):
    """A source and its replicas under a ledger; what the old source holds must not grow once
    another was promoted.
    """

    @property
    def source(self) -> str:
        """The source at first start."""
        return self.names("database")[0]

    @property
    def words(self) -> Words:
        """The statements of its servers."""
        return MARIADB if self.source.startswith("mariadb") else MYSQL

    @property
    def after(self) -> dict[str, object]:
        """The roles while the old source has not rejoined."""
        readers = dict.fromkeys(self.names("replica"), "reader")
        return {self.source: None, **readers, "replica1": "writer"}

    def promote(self) -> None:
        """The source is gone; replica1 is the writer, and the others follow it."""
        self.kill(self.source)
        self.sql("replica1", self.words.promote)
        for node in self.names("replica")[1:]:
            self.sql(node, self.words.repoint)

    def rows(self, node: str) -> int:
        """How many rows of the ledger it holds."""
        return int(self.sql(node, "select count(*) from sbtest.ledger"))

    def takers(self, since: int) -> str:
        """Who took the rows after a number, by what the writer holds."""
        return self.sql(
            "replica1", f"select group_concat(distinct host) from sbtest.ledger where id > {since}"
        )

    def restart(self, node: str) -> str:
        """`make restart NODE=…`, which ends ready; what it printed."""
        return sandbox("restart", "--name", self.name, "--node", node).stderr


@contextmanager
def failed_over(profile: str) -> Iterator[Failover]:
    """A stack of the profile, up."""
    with live_stack(profile) as live:
        yield Failover(live.name, live.profile)


def still_written(stack: Failover, ledger: Ledger, held: int) -> None:
    """Further writes are acknowledged, all of them by the promoted server, and none is on the old
    source.
    """
    last = ledger.acknowledged[-1]
    ledger.wait_for(50)
    assert stack.takers(last) == "replica1"
    assert stack.rows(stack.source) == held


@pytest.mark.long
@pytest.mark.parametrize("profile", of_today(BEHIND_HAPROXY, days=2))
def test_behind_haproxy(profile: str) -> None:
    with failed_over(profile) as stack:
        assert stack.assert_routed("haproxy1") == stack.source
        ledger = stack.ledger("haproxy1")
        ledger.wait_for(50)
        stack.promote()
        ledger.wait_for(50)
        message = stack.restart(stack.source)
        why = f"{stack.source} is detached: read-only and follows nobody; replica1 is the writer"
        assert f"{why}; make heal NAME={stack.name} REPAIR=1 makes it follow the writer" in message
        assert why in sandbox("ps", "--name", stack.name).stdout
        assert stack.roles() == stack.after
        held = stack.rows(stack.source)
        for node in ("haproxy1", "checker1", "replica1"):
            stack.restart(node)
            assert stack.roles() == stack.after
            still_written(stack, ledger, held)
        ledger.stop()
        sandbox("stop", "--name", stack.name)
        stack.start()
        assert stack.roles() == stack.after
        ledger = stack.ledger("haproxy1")
        ledger.wait_for(1)
        still_written(stack, ledger, held)
        a_writable_old_source_is_stale(stack, ledger, held)
        ledger.stop()


def a_writable_old_source_is_stale(stack: Failover, ledger: Ledger, held: int) -> None:
    """Somebody makes it writable: it is shown, and neither routed to nor an entry point, also by a
    new HAProxy.

    Nor while the promoted server says nothing.
    """
    stack.sql(stack.source, stack.words.writable)
    assert stack.roles() == {**stack.after, stack.source: "stale"}
    still_written(stack, ledger, held)
    stack.pause("replica1")
    assert stack.roles()[stack.source] == "stale"
    assert stack.from_client("haproxy1", "select 1", check=False).returncode != 0
    stack.unpause("replica1")
    still_written(stack, ledger, held)
    for _ in range(3):
        run(["docker", "restart", "-t", "1", stack.container("haproxy1")])
        still_written(stack, ledger, held)
    assert f"{stack.source} is stale: " in stack.restart("haproxy1")
    still_written(stack, ledger, held)
    asked = sandbox("sql", "--name", stack.name, "--via", "writer", stdin="select @@hostname")
    assert "replica1" in asked.stdout


@pytest.mark.long
@pytest.mark.parametrize("profile", of_today(WITHOUT_PROXY, days=5))
def test_without_a_proxy(profile: str) -> None:
    """A client that has the list of servers; one replica alone is promoted too. The old source
    rejoins in the end.
    """
    with failed_over(profile) as stack:
        ledger = stack.ledger(stack.source)
        ledger.wait_for(50)
        ledger.stop()
        stack.assert_everywhere(ledger.acknowledged)
        stack.promote()
        stack.sql("replica1", "truncate table sbtest.ledger")
        ledger = stack.ledger(stack.source, "replica1")
        ledger.wait_for(50)
        stack.restart(stack.source)
        held = stack.rows(stack.source)
        for node in (stack.source, "replica1"):
            stack.restart(node)
            assert stack.roles() == stack.after
            still_written(stack, ledger, held)
        ledger.stop()
        for _ in range(2):
            sandbox("stop", "--name", stack.name)
            stack.start()
            assert stack.roles() == stack.after
        rejoined(stack, ledger.acknowledged)


def rejoined(stack: Failover, acknowledged: list[int]) -> None:
    """The old source follows the promoted server, and is a reader from then on."""
    repaired = sandbox("heal", "--name", stack.name, "--repair").stdout
    assert f"{stack.source} was detached: it follows replica1" in repaired
    stack.assert_everywhere(acknowledged)
    for node in (stack.source, "replica1"):
        stack.restart(node)
        assert stack.roles() == {**stack.after, stack.source: "reader"}
    sandbox("stop", "--name", stack.name)
    stack.start()
    assert stack.roles() == {**stack.after, stack.source: "reader"}
