"""The failover prober's connections: pooled and fresh ones, a list of nodes, its sockets."""

import socket
import threading
import time
from typing import Any

import pymysql
import pytest

from unit.measure.trial.prober_rig import FakeServers, Rig, error, links, streams

# Connections.


def test_pooled_connections_are_used_again_and_fresh_ones_are_closed(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("fresh", 3)
    assert a.connections == 0 and a.opened == 3
    rig.send("pooled", 3)
    assert a.connections == 1 and a.opened == 4


@pytest.mark.parametrize("code", [1290, 2013, 1047])
def test_after_a_failure_the_next_operation_connects_anew(servers: FakeServers, code: int) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled")
    a.fails["INSERT"] = code
    rig.send("pooled")
    assert a.connections == 0
    a.fails.clear()
    assert rig.outcome() == ("acked", "-", 1) and a.opened == 2


def test_a_failure_drops_what_was_idle_since_before_it_was_sent(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    old, slow = streams.Attempt(0, time.monotonic() + 1), streams.Attempt(0, time.monotonic() + 1)

    def work(link: Any) -> None:
        # Idle at 1 s, while another one is in use.
        rig.connections["pooled"].run(slow, lambda other: None)
        rig.clock.now, old.sent_us = 2_000_000, 2_000_000
        raise error(2013)

    rig.connections["pooled"].run(old, work)
    assert a.connections == 0
    rig.send("pooled")
    late = streams.Attempt(rig.clock.now - 500, time.monotonic() + 1)
    a.fails["INSERT"] = "hang"
    rig.connections["fresh"].run(late, lambda link: link.execute(time.monotonic(), "INSERT"))
    assert a.connections == 1, "a connection that worked after the failure was sent is kept"


def test_a_connection_that_nobody_used_for_ten_seconds_is_not_used_again(
    servers: FakeServers,
) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled")
    rig.clock.now += 11_000_000
    rig.send("pooled")
    assert a.opened == 2 and a.connections == 1


def test_a_new_address_is_for_new_connections_and_drops_the_idle_ones(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    rig = Rig(servers, ["a"])
    rig.send("pooled")
    rig.addresses["a"] = "b"
    rig.send("pooled")
    assert (a.connections, b.connections) == (0, 1) and b.rows == [2]


# A list of nodes.


def test_a_read_only_server_moves_the_stream_on_and_only_that_stream(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    rig = Rig(servers, ["a", "b"])
    assert rig.outcome() == ("acked", "-", 1)
    a.fails["INSERT"] = 1290
    assert rig.outcome() == ("failed", "1290", 1)
    assert rig.outcome() == ("acked", "-", 1) and b.rows == [3]
    assert rig.outcome("fresh") == ("failed", "1290", 1), "each stream finds out by itself"
    assert [line[2:] for line in rig.lines if line[0] == "n"] == [
        ["pooled: a failed, next is b"],
        ["fresh: a failed, next is b"],
    ]


@pytest.mark.parametrize("code", [1213, 1205])
def test_a_conflict_moves_nothing_on(servers: FakeServers, code: int) -> None:
    a, b = servers.add("a", "b")
    rig = Rig(servers, ["a", "b"])
    a.fails["INSERT"] = code
    rig.send("pooled")
    a.fails.clear()
    assert rig.outcome() == ("acked", "-", 1) and a.rows == [2] and b.opened == 0


def test_a_failed_connect_goes_to_the_next_entry_within_one_operation(servers: FakeServers) -> None:
    a, b, c = servers.add("a", "b", "c")
    a.fails["connect"], b.fails["greeting"] = 2003, 1040
    rig = Rig(servers, ["a", "b", "c"])
    assert rig.outcome() == ("acked", "-", 3) and c.rows == [1]
    assert rig.outcome() == ("acked", "-", 1)
    c.fails["connect"] = 2003
    assert rig.outcome("fresh") == ("failed", "2003", 3), "to each entry once"


def test_a_statement_is_sent_once_whatever_becomes_of_it(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    a.fails["INSERT"] = 2013
    rig = Rig(servers, ["a", "b"])
    assert rig.outcome() == ("unknown", "2013", 1)
    assert (a.sent("INSERT"), b.sent("INSERT")) == (1, 0)


def test_a_time_out_while_connecting_leaves_no_time_for_the_next_entry(
    servers: FakeServers,
) -> None:
    a, b = servers.add("a", "b")
    a.fails["connect"] = "hang"
    rig = Rig(servers, ["a", "b"])
    assert rig.outcome() == ("failed", "timeout", 1)
    assert rig.outcome() == ("acked", "-", 1) and b.rows == [2]


def test_a_crowd_of_failures_moves_on_once() -> None:
    route = links.Route([links.Entry(name, 1) for name in "abc"])
    at = [route.next() for _ in range(100)]
    assert [route.move_on(position) for position in at] == [True] + [False] * 99
    assert route.entry(route.next()).node == "b"
    assert (
        route.move_on(route.next())
        and route.move_on(route.next())
        and route.entry(route.next()).node == "a"
    )
    assert not route.move_on(at[0]), "late, from a time before all of them had failed"


def test_reads_at_the_writer_follow_the_pooled_stream(servers: FakeServers) -> None:
    a, _ = servers.add("a", "b")
    rig = Rig(servers, ["a", "b"])
    assert rig.node("writer") == "a"
    a.fails |= {"SELECT": 2013, "connect": 2003}
    assert [rig.node("writer"), rig.node("writer")] == ["-", "-"], (
        "they do not move on by themselves"
    )
    assert rig.outcome() == ("acked", "-", 2)
    assert rig.node("writer") == "b"


def test_reads_at_readers_go_round_and_past_one_that_is_down(servers: FakeServers) -> None:
    a, _, _ = servers.add("a", "b", "c")
    rig = Rig(servers, ["a"], ["a", "b", "c"])
    assert [rig.node("reader") for _ in range(6)] == ["a", "b", "c"] * 2
    a.fails |= {"SELECT": 2013, "connect": 2003}
    assert [rig.node("reader") for _ in range(5)] == ["-", "b", "c", "b", "b"]


def test_a_crowd_of_reads_past_a_reader_that_is_down_ends_at_the_others() -> None:
    route = links.Route([links.Entry(name, 1) for name in "ab"], in_turn=True)
    at = [route.next() for _ in range(10)]
    assert {route.entry(route.after(position)).node for position in at[::2]} == {"b"}


# A pool opens its connections one after the other.


def test_a_slot_that_may_not_open_a_connection_waits_for_one_of_the_others(
    servers: FakeServers,
) -> None:
    (server,) = servers.add("a")
    rig = Rig(servers, ["a"], opening_s=60.0, timeout_s=5.0)
    rig.send("pooled")
    shared = rig.connections["pooled"]
    held = shared._take(rig.pooled.entries[0])
    waiting = threading.Thread(target=rig.send, args=("pooled",), daemon=True)
    waiting.start()
    waiting.join(0.1)
    assert waiting.is_alive(), "another connection would come too soon"
    shared._put(rig.pooled.entries[0], held)
    waiting.join(5)
    assert [line[4] for line in rig.lines if line[0] == "o"] == ["acked", "acked"]
    assert server.opened == 1


def test_a_slot_that_finds_no_connection_in_time_has_sent_nothing(servers: FakeServers) -> None:
    servers.add("a")
    rig = Rig(servers, ["a"], opening_s=60.0)
    rig.send("pooled")
    rig.connections["pooled"]._take(rig.pooled.entries[0])
    assert rig.outcome() == ("failed", "timeout", 1)


def test_a_slot_is_not_woken_by_a_connection_of_another_reader(servers: FakeServers) -> None:
    servers.add("a", "b")
    rig = Rig(servers, ["a"], ["a", "b"], opening_s=60.0, timeout_s=5.0)
    pool = rig.connections["reader"]
    entries = pool._route.entries
    held = []
    for entry in entries:
        rig.send("reader")
        held.append(pool._take(entry))
    waiting = [threading.Thread(target=rig.send, args=("reader",), daemon=True) for _ in entries]
    for thread in waiting:
        thread.start()
        thread.join(0.05)
    pool._put(entries[1], held[1])
    waiting[1].join(2)
    assert [thread.is_alive() for thread in waiting] == [True, False]
    pool._put(entries[0], held[0])
    waiting[0].join(2)
    assert not waiting[0].is_alive()


def test_an_idle_connection_elsewhere_gives_nobody_a_turn(servers: FakeServers) -> None:
    _, b = servers.add("a", "b")
    rig = Rig(servers, ["a"], ["a", "b"], opening_s=60.0)
    pool = rig.connections["reader"]
    rig.send("reader")
    assert rig.node("reader") == "b", "each opens its own"
    pool._take(pool._route.entries[1])
    assert [rig.node("reader"), rig.node("reader")] == ["a", "-"] and b.opened == 1


def test_nothing_stays_idle_where_the_route_has_left(servers: FakeServers) -> None:
    a, _ = servers.add("a", "b")
    rig = Rig(servers, ["a", "b"])
    pool, other = rig.connections["pooled"], streams.Attempt(0, time.monotonic() + 1)

    def work(link: Any) -> None:
        pool.run(other, lambda used: None)  # idle since after this operation was sent
        raise error(1290)

    pool.run(streams.Attempt(0, time.monotonic() + 1), work)
    assert rig.pooled.position == 1 and a.connections == 0


def test_fresh_connections_wait_for_nobody(servers: FakeServers) -> None:
    (server,) = servers.add("a")
    rig = Rig(servers, ["a"], opening_s=60.0)
    rig.send("fresh", 3)
    assert server.opened == 3


# Sockets.


def test_a_wait_ends_at_the_deadline_though_bytes_come_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        opened = links.open_socket(*listening.getsockname(), time.monotonic() + 0.15)
        peer, _ = listening.accept()
        stopped = threading.Event()

        def trickle() -> None:
            while not stopped.wait(0.02):
                peer.sendall(b".")

        trickling = threading.Thread(target=trickle, daemon=True)
        trickling.start()
        with pytest.raises(TimeoutError), opened.makefile("rb") as file:
            opened.settimeout(None)  # PyMySQL's: ignored
            file.read(10_000)
        with pytest.raises(TimeoutError):
            opened.sendall(b"too late")
        stopped.set()
        trickling.join()
        opened.close()
        peer.close()


def test_a_port_where_nobody_listens_is_2003() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        where = listening.getsockname()
    with pytest.raises(pymysql.err.OperationalError) as caught:
        links.open_socket(*where, time.monotonic() + 5)
    assert links.code_of(caught.value) == 2003 and "Connection refused" in caught.value.args[1]
    with pytest.raises(TimeoutError):
        links.open_socket(*where, time.monotonic() - 1)
