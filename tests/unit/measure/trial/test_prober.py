"""The failover prober as it runs in the client node: its slots, lines, and the whole of it."""

import json
import re
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from sandbox.measure.trial.prober import prober_files
from sandbox.measure.trial.prober_log import read_prober_log
from unit.measure.trial.prober_rig import NEWEST, FakeServers, prober, streams

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
    """Slots of one stream, the first of which was due some time ago, and their lines."""

    def __init__(
        self, source: Tasks, rate: float, timeout_s: float, ago_s: float = 0.0, for_s: float = 1e6
    ) -> None:
        self.lines: list[tuple[object, ...]] = []
        self.ending, self.clock = prober.Ending(), prober.Clock()
        line = lambda *fields: self.lines.append(fields)  # noqa: E731
        shared = streams.Shared(line, self.clock, streams.Memory(), timeout_s, False, 0.0)
        self.start_us = self.clock() - round(ago_s * 1e6)
        self.slots = prober.Slots(
            source, rate, (self.start_us, self.start_us + round(for_s * 1e6)), shared, self.ending
        )
        self.source = source

    def due(self, count: int) -> list[int]:
        """When the first slots are due."""
        return [self.start_us + round(slot * 1e6 / self.slots.rate) for slot in range(count)]

    def wait(self, met: Callable[[], bool]) -> None:
        """Until that is so."""
        until = time.monotonic() + 10
        while not met():
            assert time.monotonic() < until, (self.source.due, self.lines)
            time.sleep(0.002)

    def end(self) -> None:
        """Nothing is in flight any more."""
        self.ending.stop()
        self.source.permits.release(10_000)
        with self.ending.changed:
            assert self.ending.changed.wait_for(lambda: not self.slots.in_flight, 10)


def test_slots_are_due_at_multiples_without_drift_and_late_ones_are_all_sent() -> None:
    source = Tasks(1000)
    loop = Loop(source, 3, 1000.0, ago_s=200, for_s=100)
    loop.slots.begin()
    loop.wait(lambda: not loop.slots.workers)
    assert sorted(source.due) == loop.due(300) and loop.lines == []


def test_a_slot_is_sent_when_it_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    source = Tasks(1000)
    loop = Loop(source, 50, 10.0, ago_s=-0.1)
    sent_us: list[int] = []

    def slot(due_us: int) -> Callable[[], object]:
        sent_us.append(loop.clock())
        return Tasks.slot(source, due_us)

    monkeypatch.setattr(source, "slot", slot)
    loop.slots.begin()
    loop.wait(lambda: len(source.due) >= 10)
    loop.end()
    late = [sent - due for sent, due in zip(sorted(sent_us), loop.due(10), strict=False)]
    assert min(late) >= 0 and min(late) < 20_000, "a busy machine delays single slots"


def test_a_slot_is_missed_only_where_every_slot_allowed_is_in_flight() -> None:
    source = Tasks()
    loop = Loop(source, 20, 0.15, for_s=1)
    loop.slots.begin()
    loop.wait(lambda: len(loop.lines) >= 2)
    assert loop.slots.in_flight == 3 == len(source.due)
    source.permits.release(1000)
    loop.wait(lambda: not loop.slots.workers)
    missed = [int(str(due_us)) for kind, _, due_us in loop.lines if kind == "m"]
    assert len(missed) == len(loop.lines) and len(source.due) >= 6
    assert sorted([*source.due, *missed]) == loop.due(20)


def test_an_operation_without_an_answer_delays_no_other_one() -> None:
    source = Tasks()
    loop = Loop(source, 500, 0.2)
    loop.slots.begin()
    loop.wait(lambda: loop.slots.in_flight == 100)
    assert len(source.due) == 100
    loop.end()


def test_no_slot_after_the_stop() -> None:
    loop = Loop(Tasks(), 100, 1.0, ago_s=-0.2)
    loop.slots.begin()
    loop.ending.stop()
    loop.wait(lambda: not loop.slots.workers)
    assert loop.source.due == [] and loop.lines == []


def test_without_another_thread_slots_wait_for_those_that_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    source = Tasks()
    loop = Loop(source, 100, 1.0, for_s=0.1)
    begin, allowed = prober.begin, iter(range(1 + prober.SPARE))

    def refuse(work: Callable[..., None], *given: object) -> None:
        if next(allowed, None) is None:
            raise RuntimeError("can't start new thread")
        begin(work, *given)

    monkeypatch.setattr(prober, "begin", refuse)
    loop.slots.begin()
    loop.wait(lambda: bool(loop.lines))
    assert [line[0] for line in loop.lines] == ["n"] and "4 threads: can't start" in str(
        loop.lines[0][2]
    )
    loop.wait(lambda: len(source.due) == 4)
    source.permits.release(10)
    loop.wait(lambda: not loop.slots.workers)
    assert sorted(source.due) == loop.due(10)


# Lines.


def test_lines_are_written_in_batches_and_the_last_one_is_last() -> None:
    written: list[bytes] = []
    lines = prober.LineWriter(written.append, lambda: None)
    for number in range(1000):
        lines.line("c", "x", number)
    lines.close("e", 7)
    lines.line("c", "late", 1)
    time.sleep(2 * prober.FLUSH_S)
    everything = b"".join(written).decode().splitlines()
    assert (
        everything == [f"c\tx\t{number}" for number in range(1000)] + ["e\t7"] and len(written) <= 3
    )


def test_it_ends_when_nobody_reads() -> None:
    def write(text: bytes) -> None:
        raise BrokenPipeError

    ending = prober.Ending()
    lines = prober.LineWriter(write, ending.end_now)
    lines.line("e", 1)
    assert ending.stopped.wait(5) and ending.now
    lines.close("e", 2)


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
    "r": (
        r"(writer|reader)\t\d+\t\d+\t\d+\t(ok|failed)\t\S+\t\S+\t\d+\t(-|\d+:\d+(,\d+:\d+)*)\t(-|\d+(,\d+)*)"
    ),
    "m": r"(pooled|fresh|writer|reader)\t\d+",
    "s": r"[^\t]+\t\d+\t\{[^\t]*\}",
    "w": r"[^\t]+\t\d+\t\{[^\t]*\}",
    "c": r"\S+\t\d+",
    "n": r"\d+\t[^\t]+",
    "e": r"\d+",
}


class Trial:
    """A prober in a thread of this process."""

    def __init__(self, folder: Path, **changed: Any) -> None:
        (folder / "app.cnf").write_text(
            "[client]\nuser = sbtest\npassword = 'geheim'\n# own certificates\nloose_x = 0\n"
        )
        self.request = request(str(folder / "app.cnf"), **changed)
        self.input, self.ending, self.written = Input(), prober.Ending(), list[bytes]()
        given = (self.request, self.input, self.written.append, self.ending)
        self.thread = threading.Thread(target=prober.run, args=given, daemon=True)
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
        log = read_prober_log(line + "\n" for line in self.lines)
        assert log.ended and [line[0] for line in lines].count("e") == 1 and lines[-1][0] == "e"
        return lines


def request(option_file: str, **changed: Any) -> dict[str, Any]:
    entry = {"node": "a", "address": "a", "port": 3306}
    return {
        "schema": "sbtest",
        "user_file": option_file,
        "root_file": option_file,
        "seconds_limit": 60,
        "timeout_s": 2.0,
        "rates": {"pooled": 200, "fresh": 50, "writer": 200, "reader": 200},
        "write": [entry],
        "read": [entry],
        "observe": [{**entry, "topology": "single", "family": "mariadb"}],
        "observe_interval_s": 0.02,
        "transaction": False,
        "opening_s": 0.0,
        "seed": 7,
        "first_op": 1000,
        **changed,
    }


@pytest.fixture(autouse=True)
def soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prober, "FIRST_SLOT_US", 1000)
    monkeypatch.setattr(prober, "FLUSH_S", 0.01)


def test_a_question_for_the_clock_waits_for_no_batch(
    servers: FakeServers, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    servers.add("a")
    monkeypatch.setattr(prober, "FLUSH_S", 60.0)
    trial = Trial(tmp_path)
    for times in (1, 2, 3):
        trial.input.give(f"clock {times}\n")
        trial.wait_for("c", times)
    asked = len(trial.written)
    time.sleep(0.1)
    assert len(trial.written) == asked, "other lines wait for the batch"
    trial.input.give("stop\n")
    trial.end()


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
    assert [token for token, _ in tokens] == ["before", "after"] and int(tokens[0][1]) < int(
        tokens[1][1]
    )
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
    for due, stream in sorted(
        (int(each[3 if each[0] == "i" else 2]), each[2 if each[0] == "i" else 1])
        for each in fields
        if each[0] in "ir"
    ):
        first.setdefault(stream, due)
    assert {due % 10_000 // 2500 for due in first.values()} and len(
        {due % 10_000 for due in first.values()}
    ) == 4
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
    assert len(intents) == len(outcomes) >= 5 and all(
        "\tunknown\ttimeout\t" in line for line in outcomes
    )


@pytest.mark.parametrize("how", ["input", "term"])
def test_it_ends_at_once_when_nobody_is_there_any_more(
    servers: FakeServers, tmp_path: Path, how: str
) -> None:
    (a,) = servers.add("a")
    a.fails["INSERT"] = "hang"
    trial = Trial(tmp_path, rates={"pooled": 50}, timeout_s=60.0, observe=[])
    trial.wait_for("i", 2)
    trial.input.give(end=True) if how == "input" else trial.ending.end_now()
    lines = trial.end()
    assert re.search(r"\d+ slots were still in flight", lines[-2])


def test_the_process_ends_on_term(tmp_path: Path) -> None:
    (tmp_path / "app.cnf").write_text("[client]\nuser=u\npassword=p\n")
    free = socket.create_server(("127.0.0.1", 0))
    entry = {"node": "a", "address": "127.0.0.1", "port": free.getsockname()[1]}
    free.close()
    asked = request(str(tmp_path / "app.cnf"), write=[entry], read=[entry], observe=[])
    for name, text in prober_files().items():
        (tmp_path / name).write_text(text)
    argv = [sys.executable, str(tmp_path / "prober.py"), json.dumps(asked)]
    with subprocess.Popen(
        argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin and process.stdout
        lines = [process.stdout.readline()]
        while not lines[-1].startswith("o\t"):
            lines.append(process.stdout.readline())
        assert "\tfailed\t2003\t" in lines[-1], "nothing listens there"
        process.terminate()
        lines += process.stdout.readlines()
        assert process.wait(10) == 0 and lines[-1].startswith("e\t")
