"""The failover probe as it runs in the client node, on servers that fail, lie and come back as they are to."""

import importlib
import itertools
import json
import random
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pymysql
import pytest

from sandbox.places import CHECKOUT
from sandbox.results.trial.probe_log import read_probe_log

FOLDER = CHECKOUT / "scripts" / "sandbox" / "run" / "in_client"


def _load() -> ModuleType:
    """Both modules are shipped into one folder, where the one imports the other."""
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("sandbox.run.in_client.probe")
    finally:
        sys.path.remove(str(FOLDER))


probe = _load()
links, streams = probe.links, probe.streams


def error(code: int) -> Exception:
    """What PyMySQL makes of an error packet, and of a connection that is lost."""
    return pymysql.err.OperationalError(code, f"error {code}")


def wait_in_vain(deadline_s: float) -> None:
    """A server that says nothing: what PyMySQL raises for a time-out."""
    time.sleep(max(0.0, deadline_s - time.monotonic()))
    try:
        raise TimeoutError("timed out")
    except TimeoutError as cause:
        raise error(2013) from cause


@dataclass
class FakeServer:
    """One server. ``fails``: beginning of a statement (or ``connect``, ``greeting``) → error code or ``hang``."""

    name: str
    fails: dict[str, int | str] = field(default_factory=dict)
    rows: list[int] = field(default_factory=list)
    loses: bool = False
    """Whether it acknowledges and loses what it was sent."""
    hides: set[int] = field(default_factory=set)
    statements: list[str] = field(default_factory=list)
    connections: int = 0
    opened: int = 0
    answers: dict[str, tuple[tuple[str, ...], Sequence[Sequence[Any]]]] = field(default_factory=dict)
    """Beginning of a statement → column names and rows."""
    version: str = "8.0.40"

    def reach(self, statement: str, deadline_s: float) -> None:
        """Fails where the statement is one that is to fail."""
        for beginning, failure in self.fails.items():
            if statement.startswith(beginning):
                if failure == "hang":
                    wait_in_vain(deadline_s)
                raise error(int(failure))

    def sent(self, beginning: str) -> int:
        """How many statements it got that begin like this."""
        return sum(each.startswith(beginning) for each in self.statements)


class FakeCursor:
    """Knows the statements of the probe."""

    def __init__(self, connection: "FakeConnection", kind: Any) -> None:
        self._connection, self._server = connection, connection.server
        self._named = kind is pymysql.cursors.DictCursor
        self._rows: Sequence[Any] = ()

    def __enter__(self) -> "FakeCursor":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str, values: Sequence[Any] | None = None) -> int:
        server = self._server
        server.statements.append(statement)
        server.reach(statement, self._connection.socket.deadline_s)
        self._rows = self._answer(statement, values)
        return len(self._rows)

    def fetchall(self) -> Sequence[Any]:
        return self._rows

    def _answer(self, statement: str, values: Sequence[Any] | None) -> Sequence[Any]:
        server, connection = self._server, self._connection
        if statement.startswith("INSERT") and values:
            connection.open_rows.append(values[0])
        if statement == "BEGIN":
            connection.in_transaction = True
        elif statement == "COMMIT" or not connection.in_transaction:
            connection.in_transaction = False
            server.rows += [] if server.loses else connection.open_rows
            connection.open_rows.clear()
        for beginning, (names, rows) in server.answers.items():
            if re.match(beginning, statement):
                return [dict(zip(names, row, strict=True)) for row in rows] if self._named else rows
        if statement.startswith("SELECT @@hostname") and values:
            found = sorted({*server.rows} & {*values[0]} - server.hides)
            return ((server.name, len(found), ",".join(map(str, found)) or None),)
        return ()


class FakeConnection:
    """A connection that PyMySQL was to make."""

    def __init__(self, server: FakeServer) -> None:
        self.server, self.server_version, self.open = server, server.version, False
        self.in_transaction, self.open_rows = False, list[int]()
        self.socket: Any = SimpleNamespace(deadline_s=time.monotonic() + 1)

    def connect(self, opened: Any) -> None:
        self.socket = opened
        self.server.reach("greeting", opened.deadline_s)
        self.open = True
        self.server.connections += 1
        self.server.opened += 1

    def cursor(self, kind: Any = None) -> FakeCursor:
        return FakeCursor(self, kind)

    def close(self) -> None:
        if self.open:
            self.server.connections -= 1
        self.open = False


class FakeServers(dict[str, FakeServer]):
    """Servers by address; the address of a new one is its name."""

    def add(self, *names: str) -> list[FakeServer]:
        self.update({name: FakeServer(name) for name in names})
        return [self[name] for name in names]

    def connect(self, **given: Any) -> FakeConnection:
        """Instead of pymysql.connect."""
        return FakeConnection(self[given["host"]])

    def open_socket(self, address: str, port: int, deadline_s: float) -> Any:
        """Instead of probe_links.open_socket."""
        self[address].reach("connect", deadline_s)
        return SimpleNamespace(deadline_s=deadline_s)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch) -> FakeServers:
    """Servers that PyMySQL, and the probe's own sockets, lead to."""
    found = FakeServers()
    monkeypatch.setattr(pymysql, "connect", found.connect)
    monkeypatch.setattr(links, "open_socket", found.open_socket)
    return found


class Manual:
    """A clock that is set by hand, µs."""

    now = 1_000_000

    def __call__(self) -> int:
        return self.now


class Rig:
    """Streams on fake servers whose slots are sent one at a time."""

    def __init__(self, servers: FakeServers, write: Sequence[str], read: Sequence[str] = (), **changed: Any) -> None:
        self.servers, self.lines, self.clock = servers, list[list[str]](), Manual()
        self.memory = streams.Memory()
        values = {"timeout_s": 0.05, "transaction": False, "opening_s": 0.0, **changed}
        self.shared = streams.Shared(self.line, self.clock, self.memory, **values)
        self.addresses = {name: name for name in servers}
        self.pooled = streams.Route([streams.Entry(name, 3306) for name in write])
        routes = {"pooled": self.pooled, "writer": self.pooled}
        routes["fresh"] = streams.Route(self.pooled.entries)
        routes["reader"] = streams.Route([streams.Entry(name, 3307) for name in read], in_turn=True)
        who = {"user": "sbtest", "password": "", "database": "sbtest"}
        self.connections = {
            name: streams.Connections(name, who, route, self.addresses, self.shared, name != "writer")
            for name, route in routes.items()
        }
        ops, draw = itertools.count(1), random.Random(7)
        self.sources = {
            name: streams.Writes(name, self.connections[name], self.shared, ops) for name in ("pooled", "fresh")
        }
        for name in ("writer", "reader"):
            self.sources[name] = streams.Reads(name, self.connections[name], self.shared, draw)

    def line(self, *fields: object) -> None:
        self.lines.append([str(each) for each in fields])

    def send(self, name: str, times: int = 1) -> list[str]:
        """Sends slots of a stream one after the other, 1 ms apart; the last outcome line without its kind."""
        for _ in range(times):
            self.clock.now += 1000
            self.sources[name].slot(self.clock.now)()
        return next(line for line in reversed(self.lines) if line[0] in "or")[1:]

    def outcome(self, name: str = "pooled") -> tuple[str, str, int]:
        """Outcome, code and attempts of a write."""
        *_, outcome, code, attempts = self.send(name)
        return outcome, code, int(attempts)

    def node(self, name: str) -> str:
        """Who answered a read."""
        return self.send(name)[6]


# What proves a roll-back.


@pytest.mark.parametrize("code", [1213, 1205, 1047, 1290, 1792, 1836, 3100, 3101, 1040, 1045, 1203, 1146, 1049])
def test_an_error_that_proves_a_roll_back_is_failed(servers: FakeServers, code: int) -> None:
    servers.add("a")
    servers["a"].fails["INSERT"] = code
    assert Rig(servers, ["a"]).outcome() == ("failed", str(code), 1)


@pytest.mark.parametrize("code", [2006, 2013, 2003, 1927, 1053, 1180, 1317, 9001, "hang"])
def test_any_other_error_after_the_statement_was_sent_is_unknown(servers: FakeServers, code: int | str) -> None:
    servers.add("a")
    servers["a"].fails["INSERT"] = code
    assert Rig(servers, ["a"]).outcome() == ("unknown", "timeout" if code == "hang" else str(code), 1)


@pytest.mark.parametrize("where", ["connect", "greeting"])
@pytest.mark.parametrize("code", [2003, 2013, 1040, 1053, "hang"])
def test_without_a_connection_nothing_was_sent(servers: FakeServers, where: str, code: int | str) -> None:
    servers.add("a")
    servers["a"].fails[where] = code
    assert Rig(servers, ["a"]).outcome() == ("failed", "timeout" if code == "hang" else str(code), 1)
    assert servers["a"].statements == []


@pytest.mark.parametrize(
    ("statement", "code", "outcome"),
    [
        ("BEGIN", 2013, "failed"),
        ("INSERT", 2013, "failed"),
        ("INSERT", 1205, "failed"),
        ("COMMIT", 2013, "unknown"),
        ("COMMIT", 1205, "unknown"),
        ("COMMIT", 1213, "failed"),
    ],
)
def test_a_transaction_is_open_until_its_commit_is_sent(
    servers: FakeServers, statement: str, code: int, outcome: str
) -> None:
    servers.add("a")
    servers["a"].fails[statement] = code
    rig = Rig(servers, ["a"], transaction=True)
    assert rig.outcome() == (outcome, str(code), 1)
    servers["a"].fails.clear()
    assert rig.outcome() == ("acked", "-", 1)
    assert servers["a"].rows == [2], "what the error left open was committed by the next BEGIN"


def test_too_late_for_the_statement_is_a_failure_before_it(servers: FakeServers) -> None:
    servers.add("a")
    assert Rig(servers, ["a"], timeout_s=0.0).outcome() == ("failed", "timeout", 1)
    assert servers["a"].statements == []


def test_an_error_without_a_number_has_a_name() -> None:
    assert links.code_of(pymysql.err.InternalError("Packet sequence number wrong")) == "InternalError"
    assert links.code_of(IndexError()) == "IndexError"
    assert links.outcome_of("InternalError", True, False) == "unknown"


def test_the_intent_is_written_first_and_both_lines_have_what_they_must(servers: FakeServers) -> None:
    servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled"), rig.send("fresh")
    assert [line[:3] for line in rig.lines if line[0] == "i"] == [["i", "1", "pooled"], ["i", "2", "fresh"]]
    assert [line[0] for line in rig.lines] == ["i", "o", "i", "o"]
    assert rig.lines[1] == ["o", "1", "1001000", "1001000", "acked", "-", "1"]


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
        rig.connections["pooled"].run(slow, lambda other: None)  # idle at 1 s, while another one is in use
        rig.clock.now, old.sent_us = 2_000_000, 2_000_000
        raise error(2013)

    rig.connections["pooled"].run(old, work)
    assert a.connections == 0
    rig.send("pooled")
    late = streams.Attempt(rig.clock.now - 500, time.monotonic() + 1)
    a.fails["INSERT"] = "hang"
    rig.connections["fresh"].run(late, lambda link: link.execute(time.monotonic(), "INSERT"))
    assert a.connections == 1, "a connection that worked after the failure was sent is kept"


def test_a_connection_that_nobody_used_for_ten_seconds_is_not_used_again(servers: FakeServers) -> None:
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


def test_a_time_out_while_connecting_leaves_no_time_for_the_next_entry(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    a.fails["connect"] = "hang"
    rig = Rig(servers, ["a", "b"])
    assert rig.outcome() == ("failed", "timeout", 1)
    assert rig.outcome() == ("acked", "-", 1) and b.rows == [2]


def test_a_crowd_of_failures_moves_on_once() -> None:
    route = streams.Route([streams.Entry(name, 1) for name in "abc"])
    at = [route.next() for _ in range(100)]
    assert [route.move_on(position) for position in at] == [True] + [False] * 99
    assert route.entry(route.next()).node == "b"
    assert route.move_on(route.next()) and route.move_on(route.next()) and route.entry(route.next()).node == "a"
    assert not route.move_on(at[0]), "late, from a time before all of them had failed"


def test_reads_at_the_writer_follow_the_pooled_stream(servers: FakeServers) -> None:
    a, _ = servers.add("a", "b")
    rig = Rig(servers, ["a", "b"])
    assert rig.node("writer") == "a"
    a.fails |= {"SELECT": 2013, "connect": 2003}
    assert [rig.node("writer"), rig.node("writer")] == ["-", "-"], "they do not move on by themselves"
    assert rig.outcome() == ("acked", "-", 2)
    assert rig.node("writer") == "b"


def test_reads_at_readers_go_round_and_past_one_that_is_down(servers: FakeServers) -> None:
    a, _, _ = servers.add("a", "b", "c")
    rig = Rig(servers, ["a"], ["a", "b", "c"])
    assert [rig.node("reader") for _ in range(6)] == ["a", "b", "c"] * 2
    a.fails |= {"SELECT": 2013, "connect": 2003}
    assert [rig.node("reader") for _ in range(5)] == ["-", "b", "c", "b", "b"]


def test_a_crowd_of_reads_past_a_reader_that_is_down_ends_at_the_others() -> None:
    route = streams.Route([streams.Entry(name, 1) for name in "ab"], in_turn=True)
    at = [route.next() for _ in range(10)]
    assert {route.entry(route.after(position)).node for position in at[::2]} == {"b"}


# What a read must have seen.


def test_a_read_asks_for_the_newest_and_for_some_of_the_last_ten_seconds() -> None:
    memory = streams.Memory()
    for op in range(1, 1001):
        memory.acknowledged(op, op * 20_000)  # 20 s: only those from 501 on are less than 10 s old at the end
    asked = memory.asked(20_000_000, random.Random(7))
    assert [*asked][:20] == [*range(981, 1001)] and len(asked) == 40
    assert all(500 <= op <= 980 for op in [*asked][20:])
    assert asked == memory.asked(20_000_000, random.Random(7)), "seeded"
    assert [*memory.asked(20_000_000 - 1, random.Random(7))][19] == 999, "not what was acknowledged after it was sent"
    assert [*memory.asked(60_000_000, random.Random(7))] == [*range(981, 1001)], "the newest, however old"


def test_a_lost_write_is_stale_with_its_age(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"], ["a"])
    assert rig.send("reader")[-4:] == ["a", "0", "-", "-"]
    rig.send("pooled", 3)
    a.loses = True
    rig.send("pooled")
    rig.clock.now += 500_000
    assert rig.send("writer")[-5:] == ["-", "a", "4", "4:501000", "-"]


def test_a_row_that_a_finished_read_had_seen_is_backwards(servers: FakeServers) -> None:
    a, b = servers.add("a", "b")
    rig = Rig(servers, ["a"], ["a", "b"])
    rig.send("pooled", 2)
    b.rows += [1]
    assert [rig.send("reader")[6:] for _ in range(2)] == [["a", "2", "-", "-"], ["b", "2", "2:2000", "-"]]
    a.hides, b.hides = {2}, {1}
    assert [rig.send("reader")[-1] for _ in range(2)] == ["2", "1"]
    a.hides = set()
    assert rig.send("reader")[-1] == "-"


def test_a_read_is_compared_with_reads_that_had_finished_before_it_was_sent() -> None:
    memory = streams.Memory()
    assert memory.judge("a", [], [1, 2], 100, 200) == []
    assert memory.judge("a", [1, 2], [], 199, 300) == []
    assert memory.judge("a", [1, 3], [2], 201, 300) == ["1"]
    assert memory.judge("b", [1, 2], [], 400, 500) == [], "another node"
    memory.judge("a", [], [9], 20_000_000, 20_000_100)
    assert memory.judge("a", [1, 2, 9], [], 20_000_200, 20_000_300) == ["9"], "ten seconds later"


def test_a_list_that_was_cut_off_is_no_stale_read(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    rig = Rig(servers, ["a"])
    rig.send("pooled", 3)
    a.answers["SELECT @@hostname"] = ((), [("a", 3, b"1,2")])
    assert rig.send("writer")[4:] == ["failed", "BufferError", "-", "3", "-", "-"]


def test_an_hour_takes_no_more_memory_than_ten_seconds() -> None:
    memory, draw, largest = streams.Memory(), random.Random(7), [0, 0]
    for op in range(1, 30_001):
        now_us = op * 1000
        memory.acknowledged(op, now_us)
        if op % 10 == 0:
            asked = memory.asked(now_us, draw)
            memory.judge("a", [], asked, now_us, now_us)
            kept = len(memory._acknowledged), len(memory._seen["a"])
            largest = [max(pair) for pair in zip(largest, kept, strict=True)]
    assert 9_000 < largest[0] <= 10_001, "acknowledged in ten seconds"
    assert 9_000 < largest[1] <= 20_001, "seen in ten seconds, of what was acknowledged in the ten before"


# Slots.


class Tasks:
    """A source of slots whose tasks wait for a permit."""

    name = "pooled"

    def __init__(self, permits: int = 0) -> None:
        self.due: list[int] = []
        self.permits = threading.Semaphore(permits)

    def slot(self, due_us: int) -> Callable[[], object]:
        self.due.append(due_us)
        return self.permits.acquire


class Loop:
    """Slots of one stream, and their lines."""

    def __init__(self, source: Tasks, rate: float, timeout_s: float, start_us: int = 0) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.ending, self.clock = probe.Ending(), probe.Clock()
        line = lambda *fields: self.lines.append(fields)  # noqa: E731
        shared = streams.Shared(line, self.clock, streams.Memory(), timeout_s, False, 0.0)
        self.slots = probe.Slots(source, rate, start_us, shared, self.ending)

    def wait(self) -> None:
        """Until nothing is in flight."""
        with self.ending.changed:
            assert self.ending.changed.wait_for(lambda: not self.slots.in_flight, 10)


def test_slots_are_due_at_multiples_without_drift() -> None:
    source = Tasks(1000)
    loop = Loop(source, 3, 1000.0, start_us=500)
    for _ in range(301):
        loop.slots.hand_over()
    loop.wait()
    assert source.due == [500 + round(slot * 1e6 / 3) for slot in range(301)] and source.due[-1] == 100_000_500
    loop.slots.close()


def test_a_slot_is_missed_only_where_every_slot_allowed_is_in_flight() -> None:
    source = Tasks()
    loop = Loop(source, 4, 0.75)
    for _ in range(5):
        loop.slots.hand_over()
    assert loop.slots.in_flight == 3 and source.due == [0, 250_000, 500_000]
    assert loop.lines == [("m", "pooled", 750_000), ("m", "pooled", 1_000_000)]
    source.permits.release(3)
    loop.wait()
    loop.slots.hand_over()
    assert source.due[3:] == [1_250_000] and len(loop.lines) == 2
    source.permits.release()
    loop.wait()
    loop.slots.close()


def test_late_slots_are_all_sent_and_none_from_the_end_on() -> None:
    source = Tasks(1000)
    loop = Loop(source, 100, 100.0, start_us=-2_000_000)
    probe.schedule([loop.slots], loop.clock, -1_000_000, loop.ending)
    loop.wait()
    assert source.due == [*range(-2_000_000, -1_000_000, 10_000)] and loop.lines == []
    loop.slots.close()


def test_slots_are_handed_over_in_the_order_in_which_they_are_due() -> None:
    every = [Loop(Tasks(100), 4, 100.0, -2_000_000), Loop(Tasks(100), 2, 100.0, -1_900_000)]
    order: list[int] = []
    every[0].slots.source.due = every[1].slots.source.due = order
    probe.schedule([loop.slots for loop in every], probe.Clock(), -1_000_000, probe.Ending())
    assert order == [-2_000_000, -1_900_000, -1_750_000, -1_500_000, -1_400_000, -1_250_000]
    for loop in every:
        loop.wait()
        loop.slots.close()


def test_no_slot_after_the_stop() -> None:
    loop = Loop(Tasks(), 100, 1.0)
    loop.ending.stopped.set()
    probe.schedule([loop.slots], loop.clock, 10_000_000, loop.ending)
    assert loop.slots.source.due == []
    loop.slots.close()


def test_without_another_thread_slots_wait_for_those_that_there_are(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Tasks()
    loop = Loop(source, 100, 1.0)

    def refuse(*given: object) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(probe, "begin", refuse)
    for _ in range(10):
        loop.slots.hand_over()
    assert [line[0] for line in loop.lines] == ["n"] and "4 threads: can't start" in str(loop.lines[0][2])
    source.permits.release(10)
    loop.wait()
    assert len(source.due) == 10
    loop.slots.close()


# Lines.


def test_lines_are_written_in_batches_and_the_last_one_is_last() -> None:
    written: list[bytes] = []
    lines = probe.LineWriter(written.append, lambda: None)
    for number in range(1000):
        lines.line("c", "x", number)
    lines.close("e", 7)
    lines.line("c", "late", 1)
    time.sleep(2 * probe.FLUSH_S)
    everything = b"".join(written).decode().splitlines()
    assert everything == [f"c\tx\t{number}" for number in range(1000)] + ["e\t7"] and len(written) <= 3


def test_it_ends_when_nobody_reads() -> None:
    def write(text: bytes) -> None:
        raise BrokenPipeError

    ending = probe.Ending()
    lines = probe.LineWriter(write, ending.end_now)
    lines.line("e", 1)
    assert ending.stopped.wait(5) and ending.now
    lines.close("e", 2)


# Observers.

NEWEST = (("read_only", "gtid", "last_op", "last_at_us"), [(0, "a:1-5,\nb:7", 17, Decimal("1700000000123456"))])
OFF = {"role": None, "state": None, "view": None}


def observer(server: FakeServer, topology: str, family: str) -> Any:
    target = {"node": server.name, "address": server.name, "port": 3306, "topology": topology, "family": family}
    return probe.Observer(target, {"user": "root", "password": "", "database": "sbtest"}, {server.name: server.name})


@pytest.mark.parametrize(
    ("topology", "family", "statement", "answer", "seen"),
    [
        ("gr", "mysql", "SELECT MAX", (("role", "state", "view"), [("PRIMARY", "ONLINE", 3)]),
         {"role": "PRIMARY", "state": "ONLINE", "view": 3}),
        ("galera", "mariadb", "SHOW GLOBAL STATUS", (("Variable_name", "Value"), [
            ("wsrep_cluster_status", "Primary"), ("wsrep_local_state_comment", "Synced"), ("wsrep_cluster_size", "3")]),
         {"state": "Synced", "view": 3}),
        ("galera", "mysql", "SHOW GLOBAL STATUS", (("Variable_name", "Value"), [
            ("wsrep_cluster_status", "non-Primary"), ("wsrep_local_state_comment", "Initialized"),
            ("wsrep_cluster_size", "1")]),
         {"state": "non-Primary", "view": 1}),
        ("single", "mariadb", "SHOW ALL SLAVES STATUS", (
            ("Slave_IO_State", "Slave_IO_Running", "Slave_SQL_Running", "Slave_SQL_Running_State"),
            [("", "Connecting", "Yes", "")]), {"state": "Connecting/Yes"}),
        ("single", "mysql", "SHOW REPLICA STATUS", (("Replica_IO_Running", "Replica_SQL_Running"), []), {}),
    ],
)  # fmt: skip
def test_an_observer_asks_as_its_server_understands(
    servers: FakeServers, topology: str, family: str, statement: str, answer: Any, seen: dict[str, Any]
) -> None:
    (a,) = servers.add("a")
    a.answers = {statement: answer, "SELECT @@global.read_only": NEWEST}
    newest = {"read_only": 0, "gtid": "a:1-5,b:7", "last_op": 17, "last_at_us": 1700000000123456, "error": None}
    assert observer(a, topology, family).ask() == {**OFF, **seen, **newest}
    assert ("gtid_executed" in a.statements[-1]) == (family == "mysql")
    assert a.sent("SET SESSION wsrep_dirty_reads") == (topology == "galera")


def test_an_older_server_is_asked_in_its_own_words(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.version = "5.7.44-log"
    a.answers = {"SHOW SLAVE STATUS": ((), []), "SELECT @@global.read_only": (NEWEST[0], [("ON", "", None, None)])}
    answer = observer(a, "single", "mysql").ask()
    assert answer == {**OFF, "read_only": 1, "gtid": "", "last_op": None, "last_at_us": None, "error": None}


def test_a_server_that_does_not_answer_is_an_error_and_is_asked_again(servers: FakeServers) -> None:
    (a,) = servers.add("a")
    a.answers = {"SHOW ALL SLAVES STATUS": ((), []), "SELECT @@global.read_only": NEWEST}
    watched = observer(a, "single", "mariadb")
    assert watched.ask()["error"] is None
    a.fails["SHOW"] = 1927
    assert watched.ask() == {**probe.NOTHING, "error": "1927: error 1927"} and a.connections == 0
    a.fails = {"connect": 2003}
    assert watched.ask() == {**probe.NOTHING, "error": "2003: error 2003"}
    a.fails.clear()
    assert watched.ask()["last_op"] == 17 and watched.ask()["error"] is None and a.opened == 2


def test_a_line_of_an_observer_is_due_at_news_and_after_a_second() -> None:
    answer = {**probe.NOTHING, "read_only": 0, "last_op": 7, "last_at_us": 5, "gtid": "a:1"}
    assert probe.is_news(None, 0, answer)
    assert not probe.is_news((0, answer), 999_999, {**answer, "gtid": "a:2", "last_at_us": 6})
    assert probe.is_news((0, answer), 1_000_000, answer)
    for changed in ({"read_only": 1}, {"role": "PRIMARY"}, {"error": "2003: gone"}, {"last_op": 8}, {"view": 2}):
        assert probe.is_news((0, answer), 100_000, {**answer, **changed})


# The whole.


class Input:
    """Standard input: lines that come when they are given, and its end."""

    def __init__(self) -> None:
        self._given: list[str] = []
        self._changed = threading.Condition()
        self._ended = False

    def give(self, *lines: str, end: bool = False) -> None:
        with self._changed:
            self._given += lines
            self._ended |= end
            self._changed.notify()

    def __iter__(self) -> Iterator[str]:
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._given or self._ended)
                if not self._given:
                    return
                line = self._given.pop(0)
            yield line


LINES = {
    "i": r"\d+\t(pooled|fresh)\t\d+",
    "o": r"\d+\t\d+\t\d+\t(acked|failed|unknown)\t\S+\t[1-9]\d*",
    "r": r"(writer|reader)\t\d+\t\d+\t\d+\t(ok|failed)\t\S+\t\S+\t\d+\t(-|\d+:\d+(,\d+:\d+)*)\t(-|\d+(,\d+)*)",
    "m": r"(pooled|fresh|writer|reader)\t\d+",
    "s": r"[^\t]+\t\d+\t\{[^\t]*\}",
    "c": r"\S+\t\d+",
    "n": r"\d+\t[^\t]+",
    "e": r"\d+",
}


class Trial:
    """A probe in a thread of this process."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        (folder / "app.cnf").write_text(
            "[client]\nuser = sbtest\npassword = 'geheim'\n# own certificates\nloose_x = 0\n"
        )
        self.request = request(str(folder / "app.cnf"), **changed)
        self.input, self.ending, self.written = Input(), probe.Ending(), list[bytes]()
        given = (self.request, self.input, self.written.append, self.ending)
        self.thread = threading.Thread(target=probe.run, args=given, daemon=True)
        self.thread.start()

    @property
    def lines(self) -> list[str]:
        return b"".join(self.written).decode().splitlines()

    def wait_for(self, kind: str, times: int = 1) -> None:
        """Until so many lines of a kind are there."""
        until = time.monotonic() + 10
        while sum(line.startswith(f"{kind}\t") for line in self.lines) < times:
            assert time.monotonic() < until, self.lines
            time.sleep(0.005)

    def end(self) -> list[str]:
        """Every line, once all are there and each is of the format."""
        self.thread.join(10)
        assert not self.thread.is_alive()
        header, *lines = self.lines
        assert json.loads(header)["request"] == self.request and json.loads(header)["probe"] == 1
        for line in lines:
            kind, _, rest = line.partition("\t")
            assert re.fullmatch(LINES[kind], rest), line
        log = read_probe_log(line + "\n" for line in self.lines)
        assert log.ended and [line[0] for line in lines].count("e") == 1 and lines[-1][0] == "e"
        return lines


def request(option_file: str, **changed: Any) -> dict[str, Any]:
    entry = {"node": "a", "address": "a", "port": 3306}
    return {
        "schema": "sbtest", "user_file": option_file, "root_file": option_file, "seconds_limit": 60, "timeout_s": 2.0,
        "rates": {"pooled": 200, "fresh": 50, "writer": 200, "reader": 200}, "write": [entry], "read": [entry],
        "observe": [{**entry, "topology": "single", "family": "mariadb"}], "observe_interval_s": 0.02,
        "transaction": False, "opening_s": 0.0, "seed": 7, "first_op": 1000, **changed,
    }  # fmt: skip


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(probe, "FIRST_SLOT_US", 1000)
    monkeypatch.setattr(probe, "FLUSH_S", 0.01)


def test_a_whole_probe(servers: FakeServers, tmp_path: Path) -> None:
    a, b = servers.add("a", "b")
    a.answers = b.answers = {"SHOW ALL": ((), []), "SELECT @@global.read_only": NEWEST}
    trial = Trial(tmp_path)
    trial.input.give("clock before\n", "nonsense 1 2\n")
    for kind, times in (("o", 20), ("r", 20), ("s", 1)):
        trial.wait_for(kind, times)
    trial.input.give("address a b\n", "address nobody b\n")
    trial.wait_for("n", 3)
    trial.wait_for("o", 60)
    trial.input.give("clock after\n", "stop\n")
    lines = trial.end()
    tokens = [line.split("\t")[1:] for line in lines if line[0] == "c"]
    assert [token for token, _ in tokens] == ["before", "after"] and int(tokens[0][1]) < int(tokens[1][1])
    assert [line.split("\t")[2] for line in lines if line[0] == "n"] == [
        "not understood: nonsense 1 2", "a is now at b", "not understood: address nobody b",
    ]  # fmt: skip
    ops = [int(line.split("\t")[1]) for line in lines if line[0] == "i"]
    assert ops == [*range(1000, 1000 + len(ops))]
    assert sorted(a.rows + b.rows) == ops and a.rows and b.rows
    assert sum(line[0] == "o" for line in lines) == len(ops)


def test_slots_of_the_streams_are_spread(servers: FakeServers, tmp_path: Path) -> None:
    servers.add("a")
    rates = {"pooled": 100, "fresh": 20, "writer": 100, "reader": 100}
    trial = Trial(tmp_path, rates=rates, observe=[], seconds_limit=0.1)
    fields = [line.split("\t") for line in trial.end()]
    first: dict[str, int] = {}
    for due, stream in sorted((int(each[3 if each[0] == "i" else 2]), each[2 if each[0] == "i" else 1])
                              for each in fields if each[0] in "ir"):  # fmt: skip
        first.setdefault(stream, due)
    assert {due % 10_000 // 2500 for due in first.values()} and len({due % 10_000 for due in first.values()}) == 4
    counts = {name: sum(each[0] in "ir" and name in each for each in fields) for name in rates}
    assert counts == {"pooled": 10, "fresh": 2, "writer": 10, "reader": 10}, "it ends at its limit"


def test_a_stream_without_an_entry_has_no_slots(servers: FakeServers, tmp_path: Path) -> None:
    servers.add("a")
    trial = Trial(tmp_path, read=[], observe=[], seconds_limit=0.05)
    assert {line.split("\t")[1] for line in trial.end() if line[0] == "r"} == {"writer"}


def test_it_waits_for_what_is_in_flight_and_then_ends(servers: FakeServers, tmp_path: Path) -> None:
    (a,) = servers.add("a")
    a.fails["INSERT"] = "hang"
    trial = Trial(tmp_path, rates={"pooled": 50}, timeout_s=0.2, observe=[])
    trial.wait_for("i", 5)
    trial.input.give("stop\n")
    lines = trial.end()
    intents, outcomes = ([line for line in lines if line[0] == kind] for kind in "io")
    assert len(intents) == len(outcomes) >= 5 and all("\tunknown\ttimeout\t" in line for line in outcomes)


@pytest.mark.parametrize("how", ["input", "term"])
def test_it_ends_at_once_when_nobody_is_there_any_more(servers: FakeServers, tmp_path: Path, how: str) -> None:
    (a,) = servers.add("a")
    a.fails["INSERT"] = "hang"
    trial = Trial(tmp_path, rates={"pooled": 50}, timeout_s=3.0, observe=[])
    trial.wait_for("i", 2)
    began = time.monotonic()
    trial.input.give(end=True) if how == "input" else trial.ending.end_now()
    lines = trial.end()
    assert time.monotonic() - began < 2.5 and re.search(r"\d+ slots were still in flight", lines[-2])


def test_the_process_ends_on_term(tmp_path: Path) -> None:
    (tmp_path / "app.cnf").write_text("[client]\nuser=u\npassword=p\n")
    free = socket.create_server(("127.0.0.1", 0))
    entry = {"node": "a", "address": "127.0.0.1", "port": free.getsockname()[1]}
    free.close()
    asked = request(str(tmp_path / "app.cnf"), write=[entry], read=[entry], observe=[])
    argv = [sys.executable, str(FOLDER / "probe.py"), json.dumps(asked)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout
        lines = [process.stdout.readline()]
        while not lines[-1].startswith("o\t"):
            lines.append(process.stdout.readline())
        assert "\tfailed\t2003\t" in lines[-1], "nothing listens there"
        process.terminate()
        lines += process.stdout.readlines()
        assert process.wait(10) == 0 and lines[-1].startswith("e\t")


# Sockets.


def test_a_wait_ends_at_the_deadline_though_bytes_come_in() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        opened = links.open_socket(*listening.getsockname(), time.monotonic() + 0.15)
        peer, _ = listening.accept()
        stopped = threading.Event()

        def trickle() -> None:
            while not stopped.wait(0.02):
                peer.sendall(b".")

        threading.Thread(target=trickle, daemon=True).start()
        with pytest.raises(TimeoutError), opened.makefile("rb") as file:
            opened.settimeout(None)  # PyMySQL's: ignored
            file.read(10_000)
        with pytest.raises(TimeoutError):
            opened.sendall(b"too late")
        stopped.set()
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


# A pool opens its connections one after the other.


def test_a_slot_that_may_not_open_a_connection_waits_for_one_of_the_others(servers: FakeServers) -> None:
    (server,) = servers.add("a")
    rig = Rig(servers, ["a"], opening_s=60.0, timeout_s=5.0)
    rig.send("pooled")
    shared = rig.connections["pooled"]
    held = shared._take(rig.pooled.entries[0], "a")
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
    rig.connections["pooled"]._take(rig.pooled.entries[0], "a")
    assert rig.outcome() == ("failed", "timeout", 1)


def test_fresh_connections_wait_for_nobody(servers: FakeServers) -> None:
    (server,) = servers.add("a")
    rig = Rig(servers, ["a"], opening_s=60.0)
    rig.send("fresh", 3)
    assert server.opened == 3
