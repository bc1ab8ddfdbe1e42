"""The load beside a prober: its rate, its priority, started again whenever it ended, and ended with
the trial.
"""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, ClassVar

import pytest

from sandbox.core.errors import MachineError
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import (
    Outcome,
    Parameters,
    Phase,
    Second,
    Session,
    Workload,
    WorkloadError,
)
from sandbox.measure.run import RunEndedError
from sandbox.measure.trial import load_beside as module
from sandbox.measure.trial import trial as trial_module
from sandbox.measure.trial.load_beside import NicedStack, TrialLoad
from sandbox.measure.trial.prober import Prober, ProberPlan
from sandbox.measure.trial.run import TrialRequest, TrialRun
from sandbox.record.record import CheckRecord, Metrics, PreparationRecord
from sandbox.stack.client_python import run_load
from sandbox.stack.protocol import EntryPoint, ServerRole, Stream
from unit.fake_stack import CLIENT, FakeStack, FakeStream, server
from unit.measure.trial.trial_runs import CRASH, scenario_with
from unit.measure.trial.trial_world import FakeBreaking, TrialStack, World, made_world

SECOND = Second("measure", 1, 4, 120.0, 0.0, 0.0, 0.0, None, 0.0, 0.0, 0)
GOOD = Metrics(tps=101.0, transactions=1010)


class Loads(Workload):
    """Each start is the next of ``starts``, and the last one again and again."""

    starts: ClassVar[list[Callable[[Session, Path], Outcome]]] = []
    sessions: ClassVar[list[Session]] = []
    rated: bool = True

    @property
    def uses(self) -> frozenset[str]:
        return frozenset({"rate_per_s"} if self.rated else ())

    def prepare(self, session: Session, log: Path) -> PreparationRecord | None:
        return None

    def load(self, session: Session, phase: Phase, log: Path) -> Outcome:
        Loads.sessions.append(session)
        start = Loads.starts.pop(0) if len(Loads.starts) > 1 else Loads.starts[0]
        return start(session, log)


def good(session: Session, log: Path) -> Outcome:
    session.on_event(SECOND)
    return Outcome((), GOOD, None)


def broken_off(session: Session, log: Path) -> Outcome:
    return Outcome((), Metrics(), "error 2013: Lost connection")


@pytest.fixture(autouse=True)
def _anew() -> Iterator[None]:
    Loads.starts, Loads.sessions = [], []
    yield


def run_of(tmp_path: Path, rated: bool = True, stack: FakeStack | None = None) -> TrialRun:
    """A run before its load."""
    stack = stack or FakeStack()
    parameters = Parameters(threads=4, seconds=4, warmup_s=1)
    session = Session(
        stack, "client1", stack.entry, stack.entry, stack.nodes()[:2], parameters, 7, lambda _: None
    )
    named = NamedWorkload("loads", "loads", Loads(rated=rated))
    prober = Prober(stack, "client1", ProberPlan([("mysql1", 3306)], [], [], "sandbox"))
    return TrialRun(
        request=TrialRequest(named, parameters, scenario=scenario_with(CRASH), loaded=True),
        session=session,
        nodes=tuple(stack.nodes()),
        roles={},
        down_at_start={},
        series=[],
        folder=tmp_path,
        run_id="r/trial.1",
        cell="trial",
        block=1,
        started_utc=datetime.now(UTC),
        secrets=frozenset(),
        breaking=FakeBreaking(World()),
        prober=prober,
    )


def wait_for(met: Callable[[], bool]) -> None:
    """Fails where it does not come true within seconds."""
    end = time.monotonic() + 10
    while not met():
        assert time.monotonic() < end, "it did not happen"
        time.sleep(0.002)


def test_half_of_what_the_stack_reaches(tmp_path: Path) -> None:
    Loads.starts = [good]
    load = TrialLoad(run_of(tmp_path))
    wait_for(lambda: load.starts >= 1 and len(Loads.sessions) >= 2)
    load.stop()
    load.stop()
    capacity, beside = (session.parameters for session in Loads.sessions[:2])
    assert (capacity.seconds, capacity.warmup_s, capacity.rate_per_s) == (10, 0, None)
    assert load.rate_per_s == 50 and (beside.seconds, beside.rate_per_s) == (3600, 50)
    assert beside.threads == 4


def test_at_least_one_transaction_a_second(tmp_path: Path) -> None:
    Loads.starts = [lambda session, log: Outcome((), Metrics(tps=0.4), None)]
    load = TrialLoad(run_of(tmp_path))
    load.stop()
    assert load.rate_per_s == 1


def test_a_workload_without_a_rate_is_not_slowed_down(tmp_path: Path) -> None:
    Loads.starts = [good]
    load = TrialLoad(run_of(tmp_path, rated=False))
    wait_for(lambda: len(Loads.sessions) >= 2)
    load.stop()
    assert load.rate_per_s is None and Loads.sessions[1].parameters.rate_per_s is None


def failing(error: Exception) -> Callable[[Session, Path], Outcome]:
    """A start that raises."""

    def start(session: Session, log: Path) -> Outcome:
        raise error

    return start


@pytest.mark.parametrize(
    ("start", "text"),
    [
        (broken_off, "error 2013: Lost connection"),
        (lambda session, log: Outcome((), Metrics(tps=0.0), None), "no transaction"),
        (lambda session, log: Outcome((), Metrics(), None), "no transaction"),
        (failing(WorkloadError("the table is gone")), "the table is gone"),
        (failing(MachineError("no client", "it ended", "try: make ps")), "no client: it ended"),
        (failing(TimeoutError("no answer within 60 s")), "no answer within 60 s"),
    ],
)
def test_a_load_that_fails_at_the_start_ends_the_run(
    tmp_path: Path, start: Callable[[Session, Path], Outcome], text: str
) -> None:
    Loads.starts = [start]
    with pytest.raises(RunEndedError) as ended:
        TrialLoad(run_of(tmp_path))
    assert ended.value.status == "failed"
    assert ended.value.reason == f"the load does not work before any fault: {text}"


def test_it_is_started_again_whatever_ended_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.001, 0.002))
    Loads.starts = [
        good,
        broken_off,
        failing(WorkloadError("x")),
        failing(OSError("disk full")),
        good,
    ]
    load = TrialLoad(run_of(tmp_path))
    wait_for(lambda: load.starts >= 6)
    load.stop()
    assert not load._thread.is_alive(), "not after its end"


def entries_of(
    tmp_path: Path, stack: FakeStack, *role_of: dict[str, ServerRole | None]
) -> list[str]:
    """Where the load went: while the capacity was measured, then at each start, after which the
    roles change.
    """
    steps = list(role_of)

    def lost(session: Session, log: Path) -> Outcome:
        stack.role_of = steps.pop(0) if steps else stack.role_of
        return broken_off(session, log)

    Loads.starts = [good, lost]
    load = TrialLoad(run_of(tmp_path, stack=stack))
    wait_for(lambda: load.starts > len(role_of))
    load.stop()
    return [session.entry.node for session in Loads.sessions[: len(role_of) + 2]]


def test_without_a_proxy_it_moves_to_the_writer_once_there_is_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.001, 0.002))
    nobody: dict[str, ServerRole | None] = {"mysql1": None, "replica1": "reader"}
    promoted: dict[str, ServerRole | None] = {"mysql1": "reader", "replica1": "writer"}
    found = entries_of(tmp_path, FakeStack(), nobody, promoted, promoted)
    assert found == ["mysql1", "mysql1", "mysql1", "replica1", "replica1"]


def test_where_every_node_writes_it_stays_where_it_went(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.001, 0.002))
    stack = FakeStack(members=[server("galera1"), server("galera2"), CLIENT], entry=at("galera1"))
    lost: dict[str, ServerRole | None] = {"galera1": None, "galera2": "writer"}
    back: dict[str, ServerRole | None] = {"galera1": "writer", "galera2": "writer"}
    assert entries_of(tmp_path, stack, lost, back, back) == [
        "galera1",
        "galera1",
        "galera2",
        "galera2",
        "galera2",
    ]


def test_through_a_proxy_it_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_PAUSES_S", (0.001, 0.002))
    members = [
        server("mysql1"),
        server("replica1", "replica"),
        server("haproxy1", "proxy", term="haproxy"),
        CLIENT,
    ]
    stack = FakeStack(members=members, entry=at("haproxy1"))
    assert set(entries_of(tmp_path, stack, {"mysql1": None, "replica1": "writer"})) == {"haproxy1"}


def at(node: str) -> EntryPoint:
    """An entry point."""
    return EntryPoint(node, node, 3306, 1, node)


def test_starts_that_fail_at_once_come_further_apart(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []

    class Paused(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            if timeout is not None and threading.current_thread().name == "load":
                pauses.append(timeout)
                if len(pauses) == 6:
                    self.set()
            return super().wait(0 if timeout is not None else None)

    monkeypatch.setattr(threading, "Event", Paused)
    Loads.starts = [good, broken_off]
    load = TrialLoad(run_of(tmp_path))
    load._thread.join(5)
    assert pauses == [0.2, 0.5, 1.0, 1.0, 1.0, 1.0]


def test_its_seconds_are_kept_on_the_probes_clock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second of the load beside it arrives late, together with the one after it."""
    arrivals = {1: [5.0], 2: [7.0, 9.0, 9.0]}
    now: list[float] = []

    class Clock:
        @staticmethod
        def monotonic() -> float:
            return now.pop(0) if now else time.monotonic()

    def late(session: Session, log: Path) -> Outcome:
        start = len(Loads.sessions)
        for number, at_s in enumerate(arrivals.get(start, ()), 1):
            now.append(at_s)
            session.on_event(replace(SECOND, second=number, tps=100.0 * start + number))
        return good_end if start == 1 else broken_off(session, log)

    good_end = Outcome((), GOOD, None)
    monkeypatch.setattr(module, "time", Clock)
    Loads.starts = [late]
    load = TrialLoad(run_of(tmp_path))
    wait_for(lambda: len(Loads.sessions) >= 3)
    load.stop()
    load.save(tmp_path / "load-seconds.csv", lambda ours_ns: ours_ns / 1000 - 2_000_000)
    lines = (tmp_path / "load-seconds.csv").read_text().splitlines()
    assert lines == ["t_ms,tps", "3000,101.0", "5000,201.0", "6000,202.0", "7000,203.0"]


class Hanging(FakeStream):
    """Ends only when its input does."""

    def lines(self) -> Iterator[str]:
        self.closed.wait(10)
        yield from ()


class OneStream(FakeStack):
    """Each command hangs."""

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        self.streamed.append(list(argv))
        self.streams.append(Hanging([]))
        return self.streams[-1]


def hanging(session: Session, log: Path) -> Outcome:
    code = run_load(session.stack, session.client, ["sysbench"], 60, log, lambda _: None)
    return Outcome((), Metrics(), f"exit code {code}")


def test_a_load_that_hangs_is_ended_at_once(tmp_path: Path) -> None:
    stack = OneStream()
    Loads.starts = [good, hanging]
    load = TrialLoad(run_of(tmp_path, stack=stack))
    wait_for(lambda: len(stack.streams) == 1)
    load.stop()
    assert stack.streams[0].closed.is_set() and not load._thread.is_alive()
    assert (
        stack.streamed[0][:4] == ["nice", "-n", "10", "sh"] and stack.streamed[0][-1] == "sysbench"
    )


def test_what_starts_after_the_end_ends_at_once() -> None:
    stack = OneStream()
    niced = NicedStack(stack)
    niced.end()
    niced.stream("client1", ["sysbench"])
    assert stack.streams[0].closed.is_set()


def test_all_but_the_streams_is_the_stacks() -> None:
    stack = FakeStack()
    niced: Any = NicedStack(stack)
    assert niced.nodes() == stack.nodes() and niced.profile == stack.profile
    assert replace(run_of(Path()).session, stack=niced).stack is niced


class Keeper(Loads):
    """A load with a ledger of its own."""

    @property
    def verdicts_of_ledger(self) -> tuple[str, ...]:
        return ("kept",)

    def judge_ledger(self, session: Session) -> list[CheckRecord]:
        names = ", ".join(server.name for server in session.servers)
        return [
            CheckRecord(name="kept", verdict="pass", detail=f"{session.writer.node} of {names}")
        ]


class Beside:
    """A load that was started; ``ended`` says when it was stopped."""

    rate_per_s = None
    starts = 1

    def __init__(self, _: object) -> None:
        self.ended = False

    def stop(self) -> None:
        self.ended = True

    def save(self, path: Path, prober_us: object) -> None:
        path.write_text("t_ms,tps\n")


@pytest.mark.parametrize(("roles", "verdict"), [({}, "pass"), ({"mysql1": "reader"}, "unknown")])
def test_a_load_that_keeps_a_ledger_ends_before_it_is_judged(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    roles: dict[str, Any],
    verdict: str,
) -> None:
    world = made_world(monkeypatch)
    made: list[Beside] = []

    def start(run: object) -> Beside:
        made.append(Beside(run))
        return made[0]

    stack = TrialStack(world)
    monkeypatch.setattr(trial_module, "TrialLoad", start)
    monkeypatch.setattr(trial_module, "Guard", lambda _: FakeBreaking(world))
    at_start = stack.roles
    asked = iter([at_start()])
    monkeypatch.setattr(stack, "roles", lambda: next(asked, {**at_start(), **roles}))
    named = NamedWorkload("keeper", "keeper", Keeper(rated=False))
    request = TrialRequest(named, Parameters(), seed=7, scenario=scenario_with(CRASH), loaded=True)
    record, _ = trial_module.trial(stack, request, tmp_path, lambda _: None)
    (kept,) = [check for check in record.checks if check.name == "kept"]
    assert kept.verdict == verdict and made[0].ended
    assert verdict != "pass" or kept.detail == "mysql1 of mysql1, replica1"
