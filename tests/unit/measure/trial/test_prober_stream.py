"""The prober as the runner sees it: its request, its lines as they arrive, its clock, new
addresses, its end.
"""

import configparser
import json
import queue
import re
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError
from sandbox.measure.trial import prober as module
from sandbox.measure.trial.prober import (
    ClockOffset,
    Prober,
    ProberPlan,
    ProberRates,
    addresses_of,
    prober_files,
)
from sandbox.stack.protocol import Stream
from unit.fake_stack import FakeStack, server
from unit.measure.trial.prober_rig import prober as in_client
from unit.measure.trial.trial_world import FakeControl

IN_CLIENT = Path(module.__file__).parent / "in_client"
ROUTER = server("haproxy1", "proxy", component="haproxy", family=None, topology=None, port=3307)


class ScriptedStream:
    """Lines that a test adds; what is sent is kept, and answered by ``answer``."""

    def __init__(self) -> None:
        self.sent: list[str] = []
        self.closed, self.killed, self.hangs = 0, False, False
        self._lines: queue.Queue[str | None] = queue.Queue()
        self.add('{"probe": 1, "began_utc_s": 1.0, "request": {"rates": {}}}')

    def add(self, *lines: str | None) -> None:
        for line in lines:
            self._lines.put(line)

    def lines(self) -> Iterator[str]:
        while (line := self._lines.get()) is not None:
            yield line

    def send(self, line: str) -> None:
        self.sent.append(line)
        self.answer(line)

    def answer(self, line: str) -> None:
        if line == "stop":
            self.add("e\t99", None)

    def close_stdin(self) -> None:
        self.closed += 1
        if not self.hangs:
            self.add(None)

    def wait(self, timeout_s: float) -> int:
        if self.hangs:
            raise TimeoutError("still running")
        return 0

    def kill(self) -> None:
        self.killed = True
        self.add(None)


class ProbedStack(FakeStack):
    """Two servers and a proxy; the prober's stream is the test's."""

    def __init__(self, stream: ScriptedStream | None = None) -> None:
        super().__init__()
        self.members = [server("mysql1"), server("replica1", "replica"), ROUTER, *self.members[2:]]
        self.controls = {
            node.name: FakeControl(node.name, f"172.18.0.{i}")
            for i, node in enumerate(self.members, 2)
        }
        self.stream_of_prober = stream or ScriptedStream()

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        self.streamed.append(list(argv))
        return self.stream_of_prober


def plan(**changed: Any) -> ProberPlan:
    """Through the proxy, with both servers observed."""
    given: dict[str, Any] = {
        "write": [("haproxy1", 3307)], "read": [("haproxy1", 3308)], "schema": "sandbox", "seed": 7,
        "observe": [server("mysql1"), server("replica1", "replica")],
    }  # fmt: skip
    return ProberPlan(**{**given, **changed})


def started(tmp_path: Path, stack: ProbedStack, **changed: Any) -> Prober:
    """A prober that has started on the stack."""
    prober = Prober(stack, "client1", plan(**changed))
    prober.start(tmp_path / "probe.log")
    return prober


@pytest.fixture
def stack() -> ProbedStack:
    return ProbedStack()


def test_the_request_names_addresses_only(tmp_path: Path, stack: ProbedStack) -> None:
    started(tmp_path, stack, rates=ProberRates(pooled=50), timeout_s=1.5).close()
    (argv,) = stack.streamed
    request = json.loads(argv[2])
    assert request["write"] == [{"node": "haproxy1", "address": "172.18.0.4", "port": 3307}]
    assert request["read"] == [{"node": "haproxy1", "address": "172.18.0.4", "port": 3308}]
    assert request["observe"][1] == {
        "node": "replica1",
        "address": "172.18.0.3",
        "port": 3306,
        "topology": "single",
        "family": "mysql",
    }
    assert request["rates"] == {"pooled": 50, "fresh": 20, "writer": 100, "reader": 100}
    assert (request["schema"], request["timeout_s"], request["seed"], request["first_op"]) == (
        "sandbox",
        1.5,
        7,
        1,
    )


def test_every_module_of_the_probe_is_shipped(tmp_path: Path, stack: ProbedStack) -> None:
    started(tmp_path, stack).close()
    assert (
        set(stack.shipped) == {"outcomes.py", *(path.name for path in IN_CLIENT.glob("prober*.py"))}
        and "prober.py" in stack.shipped
    )
    (argv,) = stack.streamed
    assert argv[0] == "python3" and argv[1].endswith("/prober.py")


def test_the_request_is_what_the_probe_in_the_client_takes(
    tmp_path: Path, stack: ProbedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    started(tmp_path, stack).close()
    request = json.loads(stack.streamed[0][2])
    account = tmp_path / "app.cnf"
    account.write_text("[client]\nuser = sbtest\npassword = x\n")
    addresses = {
        each["node"]: each["address"]
        for key in ("write", "read", "observe")
        for each in request[key]
    }
    asked = {
        name
        for text in prober_files().values()
        for name in re.findall(r"""request\[["'](\w+)""", text)
    }
    assert asked >= {"schema", "rates", "opening_s"} and asked <= set(request), (
        "every key that it takes is there"
    )
    given = {name: request[name] for name in ("timeout_s", "transaction", "opening_s")}
    shared = SimpleNamespace(log=lambda *_: None, clock=lambda: 0, memory=None, **given)
    made = in_client.slots_of(
        {**request, "user_file": str(account)}, shared, addresses, in_client.Ending(), 0
    )
    assert [(slots.source.name, slots.rate) for slots in made] == [
        ("pooled", 100), ("writer", 100), ("reader", 100), ("fresh", 20),
    ]  # fmt: skip
    for target in request["observe"]:
        in_client.observers.Observer(target, {}, addresses)
    assert request["observe_interval_s"] == 0.1 and request["seconds_limit"] > 3600
    with pytest.raises(configparser.Error):
        in_client.links.account("/none", "x")
    assert (request["user_file"], request["root_file"]) == ("/sandbox/app.cnf", "/sandbox/root.cnf")


def test_a_node_without_an_address_is_left_out(tmp_path: Path, stack: ProbedStack) -> None:
    stack.controls["replica1"].at = None
    started(tmp_path, stack, write=[("mysql1", 3306), ("replica1", 3306)]).close()
    request = json.loads(stack.streamed[0][2])
    assert [each["node"] for each in request["write"]] == ["mysql1"]
    assert [each["node"] for each in request["observe"]] == ["mysql1"]


def test_a_server_outside_the_stack_is_reached_as_the_client_knows_it() -> None:
    outside = server("external1", "external", has_container=False, host="db.example.com")
    assert addresses_of([outside], FakeStack()) == {"external1": "db.example.com"}


def test_acknowledged_writes_are_counted_and_every_line_is_kept(
    tmp_path: Path, stack: ProbedStack
) -> None:
    prober = started(tmp_path, stack)
    lines = [
        "i\t1\tpooled\t0",
        "o\t1\t1\t2\tacked\t-\t1",
        "o\t2\t1\t2\tfailed\t1290\t1",
        "o\t3\t1\t2\tunknown\t2013\t1",
    ]
    stack.stream_of_prober.add(*lines, "o\t4\t1\t2\tacked\t-\t1")
    prober.wait_for_writes(2)
    assert prober.acknowledged == 2 and not prober.ended
    prober.stop()
    assert (tmp_path / "probe.log").read_text().splitlines()[1:] == [
        *lines,
        "o\t4\t1\t2\tacked\t-\t1",
        "e\t99",
    ]


def test_what_is_no_line_of_its_log_says_why_it_ended(tmp_path: Path, stack: ProbedStack) -> None:
    prober = started(tmp_path, stack)
    stack.stream_of_prober.add(
        "Traceback (most recent call last):", "", "ModuleNotFoundError: No module named 'x'", None
    )
    with pytest.raises(MachineError) as refused:
        prober.wait_for_writes()
    assert refused.value.lines()[:2] == [
        "the prober's writes are not acknowledged",
        "ModuleNotFoundError: No module named 'x'",
    ]
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert prober.ended and "Traceback" not in (tmp_path / "probe.log").read_text()


def test_a_probe_that_says_nothing_has_no_last_words(tmp_path: Path, stack: ProbedStack) -> None:
    prober = started(tmp_path, stack)
    stack.stream_of_prober.add(None)
    with pytest.raises(MachineError) as refused:
        prober.wait_for_writes()
    assert refused.value.known == "it printed nothing"


def test_a_prober_waits_until_it_is_started(tmp_path: Path, stack: ProbedStack) -> None:
    prober = Prober(stack, "client1", plan())
    assert (
        not stack.streamed and not prober.is_running and prober.last_words == "it was not started"
    )
    prober.start(tmp_path / "probe.log")
    assert stack.streamed and prober.is_running and prober.last_words == "it printed nothing"
    prober.stop()
    assert not prober.is_running


def test_a_log_that_cannot_be_written_says_why_it_ended(stack: ProbedStack) -> None:
    prober = Prober(stack, "client1", plan())
    prober.start(Path("/dev/full"))
    stack.stream_of_prober.add(None)
    with pytest.raises(MachineError) as refused:
        prober.wait_for_writes()
    assert refused.value.known == "/dev/full: [Errno 28] No space left on device"


def test_writes_that_do_not_come_in_time_are_an_error(
    tmp_path: Path, stack: ProbedStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "FIRST_WRITE_LIMIT_S", 0.05)
    prober = started(tmp_path, stack)
    stack.stream_of_prober.add("o\t1\t1\t2\tacked\t-\t1")
    with pytest.raises(MachineError, match="not acknowledged"):
        prober.wait_for_writes()
    prober.close()


class Clock:
    """Stands for the module `time`: each question takes longer, but one."""

    def __init__(self) -> None:
        self.now_ns = 5_000_000_000

    def monotonic_ns(self) -> int:
        return self.now_ns


class Answering(ScriptedStream):
    """Answers questions for its clock, 7 s behind ours, on the way there and back a while later."""

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self.clock, self.trips_us = clock, [900, 400, 40, 800, 900]
        self.seen = threading.Event()

    def answer(self, line: str) -> None:
        super().answer(line)
        if line.startswith("clock "):
            trip_us = self.trips_us.pop(0)
            self.clock.now_ns += trip_us * 500
            at_us = self.clock.now_ns // 1000 - 7_000_000
            self.clock.now_ns += trip_us * 500
            self.add(f"c\t{line.split()[1]}\t{at_us}")


def test_the_quickest_question_sets_both_clocks_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    stack = ProbedStack(Answering(clock))
    prober = started(tmp_path, stack)
    offset = prober.clock()
    assert offset == ClockOffset(-7_000_000.0, 20.0)
    assert offset.prober_us(8_000_000_000) == 1_000_000
    prober.stop()


@pytest.mark.parametrize("words", [None, "Killed"])
def test_a_probe_that_does_not_answer_is_an_error(
    tmp_path: Path, stack: ProbedStack, monkeypatch: pytest.MonkeyPatch, words: str | None
) -> None:
    monkeypatch.setattr(module, "CLOCK_LIMIT_S", 0.05)
    prober = started(tmp_path, stack)
    if words:
        stack.stream_of_prober.add(words, None)
    with pytest.raises(MachineError) as refused:
        prober.clock()
    assert refused.value.lines()[:2] == [
        "the prober does not answer",
        words or "it printed nothing",
    ]
    prober.close()


def test_addresses_that_change_are_sent_once(tmp_path: Path, stack: ProbedStack) -> None:
    prober = started(tmp_path, stack)
    stack.controls["mysql1"].at = "172.18.0.77"
    stack.controls["replica1"].at = None
    assert prober.follow_addresses(["replica1", "client1"]) == {}, (
        "none yet, or none of the prober's"
    )
    assert prober.follow_addresses(["mysql1", "replica1"]) == {"mysql1": "172.18.0.77"}
    assert prober.follow_addresses(["mysql1"]) == {}
    assert stack.stream_of_prober.sent == ["address mysql1 172.18.0.77"]
    prober.close()


def test_it_is_stopped_and_closed_again_and_again(tmp_path: Path, stack: ProbedStack) -> None:
    prober = started(tmp_path, stack)
    prober.stop()
    prober.stop()
    prober.close()
    assert stack.stream_of_prober.sent == ["stop"], "what has ended is not stopped again"
    assert prober.ended and not stack.stream_of_prober.killed


def test_one_that_does_not_end_is_killed(tmp_path: Path, stack: ProbedStack) -> None:
    stack.stream_of_prober.hangs = True
    prober = started(tmp_path, stack)
    prober.close()
    assert stack.stream_of_prober.killed and prober.ended


@pytest.mark.parametrize(
    ("write", "places"),
    [
        ([("mysql1", 3306), ("replica1", 3306)], ["mysql1", "replica1", "replica1"]),
        ([("haproxy1", 3307)], [None] * 3),
    ],
)
def test_where_a_client_that_knows_every_server_writes_now(
    tmp_path: Path, write: list[tuple[str, int]], places: list[str | None]
) -> None:
    stack, found = ProbedStack(), list[str | None]()
    prober = started(tmp_path, stack, write=write)
    for failed, then in (
        (None, None),
        ("pooled: mysql1", "replica1"),
        ("reader: replica1", "mysql1"),
    ):
        stack.stream_of_prober.add(
            *([f"n\t5\t{failed} failed, next is {then}"] if failed else []), "o\t1\tacked\t9"
        )
        prober.wait_for_writes(len(found) + 1)
        found.append(prober.writes_at)
    prober.stop()
    assert found == places
