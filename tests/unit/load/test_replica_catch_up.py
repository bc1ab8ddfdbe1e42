"""The workload replica-catch-up: stopped, committed, received, started, timed; and in the end the
appliers run.
"""

import json
import queue
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.load.common.load_output import parse_second
from sandbox.load.common.registry import NamedWorkload, find_workload
from sandbox.load.common.workload import (
    Parameters,
    Progress,
    Second,
    WorkloadError,
    make_parameters,
    second_ends,
)
from sandbox.load.replica_catch_up import OTHER_S, ReplicaCatchUp, _replicas, replicas
from sandbox.load.replica_catch_up.replicas import Reading
from sandbox.load.sysbench import WRAPPER
from sandbox.measure.bench import BenchRequest, bench
from sandbox.measure.run_checks import load_alone, load_reached
from sandbox.stack.protocol import ExecResult, Stream
from unit.fake_stack import CLIENT, FakeStack, FakeStream, captured, server
from unit.load.test_sysbench import session_of

TWO = [server("mysql1"), server("replica1", "replica"), server("replica2", "replica"), CLIENT]
HELD = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-99"
TOOK = [{"node": "replica2", "still_s": 1.0}, {"node": "replica1", "caught_up_s": 2.0}]
DONE = {"node": "replica2", "caught_up_s": 3.5}


class ApplierStream(FakeStream):
    """The script in the client node: each command brings its answers; closing its input ends it."""

    def __init__(self, answers: Sequence[Sequence[Any]]) -> None:
        super().__init__([])
        self._answers = [list(each) for each in answers]
        self._queue: queue.Queue[str | None] = queue.Queue()
        self._reply()

    def _reply(self) -> None:
        for answer in self._answers.pop(0) if self._answers else ():
            self._queue.put(answer if isinstance(answer, str) else json.dumps(answer))
        if not self._answers:
            self._queue.put(None)

    def lines(self) -> Iterator[str]:
        while (line := self._queue.get(timeout=10)) is not None:
            yield line

    def send(self, line: str) -> None:
        super().send(line)
        self._reply()


@dataclass
class CatchUpStack(FakeStack):
    """A source and two replicas. ``script``: what the script answers at first, and to each
    command.
    """

    members: list[Any] = field(default_factory=lambda: list(TWO))
    script: Sequence[Sequence[Any]] = (
        (({"stopped": True}),),
        ({"received": True},),
        (*TOOK, DONE),
        (),
    )
    appliers: ApplierStream | None = None
    answers: dict[str, list[list[Any]]] = field(
        default_factory=lambda: {"SELECT @@GLOBAL.gtid": [[HELD]]}
    )

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        if argv[0] == "rm":
            self.ran.append(list(argv))
            return ExecResult(0, "", "")
        return super().run(node, argv, stdin, timeout_s)

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        if argv[0] == "python3" and "SQL_THREAD" in argv[2]:
            self.appliers = ApplierStream(self.script)
            return self.appliers
        return super().stream(node, argv)


def measured(stack: CatchUpStack, tmp_path: Path, **options: Any) -> Any:
    """The outcome of the measured load."""
    session = session_of(stack)
    return ReplicaCatchUp(**options).load(session, "measure", tmp_path / "load.log")


def test_the_slowest_replica_gives_the_figures(tmp_path: Path) -> None:
    stack = CatchUpStack()
    metrics = measured(stack, tmp_path, transactions=1162).metrics
    assert (metrics.catch_up_s, metrics.catch_up_tps) == (3.5, 332.0)
    assert metrics.catch_up_s_by_replica == {"replica1": 2.0, "replica2": 3.5}
    assert metrics.tps is None and metrics.latency_p95_ms is None, (
        "commits at the source are no result"
    )


def test_it_commits_so_many_transactions_on_the_writer_and_then_waits_for_all_of_them(
    tmp_path: Path,
) -> None:
    stack = CatchUpStack()
    outcome = measured(stack, tmp_path, transactions=500)
    assert {"--events=500", "--time=0", "--mysql-host=mysql1", "oltp_write_only"} <= set(
        outcome.command
    )
    assert stack.appliers
    received, started = map(json.loads, stack.appliers.sent)
    assert received["held"] == HELD and started["limit_s"] >= 300
    assert stack.appliers.closed.is_set(), "the appliers run again"


def test_a_source_whose_place_was_taken_is_a_replica_like_the_others() -> None:
    session = session_of(CatchUpStack())
    moved = replace(session, writer=replace(session.writer, node="replica1"))
    assert [node.name for node in _replicas(session)] == ["replica1", "replica2"]
    assert [node.name for node in _replicas(moved)] == ["mysql1", "replica2"]


def test_the_usual_verdicts_hold_for_it(tmp_path: Path) -> None:
    metrics = measured(CatchUpStack(), tmp_path).metrics
    assert load_reached(metrics, None, {"mysql1": 7040}).verdict == "pass"
    assert load_alone(metrics, None, {"mysql1": 7100, "replica1": 12}).verdict == "pass"


def test_the_warm_up_is_a_load_with_running_appliers(tmp_path: Path) -> None:
    stack = CatchUpStack()
    ReplicaCatchUp().load(session_of(stack), "warm-up", tmp_path / "load.log")
    assert stack.appliers is None and "--time=1" in stack.streamed[-1]


def test_reads_go_to_every_replica_and_give_the_throughput(tmp_path: Path) -> None:
    stack = CatchUpStack()
    metrics = measured(stack, tmp_path, read_threads=3).metrics
    (reads,) = [argv for argv in stack.streamed if "--mysql-host=replica1,replica2" in argv]
    assert "--threads=3" in reads and 'require("oltp_read_only")' in stack.shipped[WRAPPER]
    assert metrics.tps is None, (
        "no whole second of reads lay between start and end of this catch-up"
    )
    written = measured(CatchUpStack(), tmp_path).metrics.queries
    assert metrics.queries == 2 * written, "those of the writes, and all of the reads"
    assert stack.ran[-1][:2] == ["rm", "-rf"] and any(
        word.startswith(stack.ran[-1][2]) for word in reads
    )


def test_seconds_of_reads_that_arrive_late_and_in_a_bunch_keep_their_place(tmp_path: Path) -> None:
    reads = Reading(session_of(CatchUpStack()), TWO[1:3], tmp_path / "load.log")
    reads.stop()
    second = Second("measure", 1, 3, 0.0, 0.0, 0.0, 0.0, None, 0.0, 0.0, 0)
    arrivals = [101.0, 105.0, 105.0, 105.0, 105.0]
    reads._seconds = [
        (at_s, replace(second, second=n, tps=10.0 * n)) for n, at_s in enumerate(arrivals, 1)
    ]
    assert second_ends(reads._seconds) == [101, 102, 103, 104, 105] and second_ends([]) == []
    assert reads.tps(100.9, 104.1) == 30.0, "of the seconds that ended at 102, 103 and 104"
    assert reads.tps(100.9, 101.5) is None


def test_reads_that_do_not_end_are_ended_and_a_failure(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Endless(FakeStream):
        def lines(self) -> Iterator[str]:
            line = next(
                each for each in captured("conflicts-mysql-9.7") if parse_second(each, "measure", 0)
            )
            while not self.closed.wait(0.01):
                yield line

    class HungReads(CatchUpStack):
        def stream(self, node: str, argv: Sequence[str]) -> Stream:
            return Endless([]) if "--threads=3" in argv else super().stream(node, argv)

    monkeypatch.setattr(replicas, "_READS_END_LIMIT_S", 0.1)
    with pytest.raises(WorkloadError, match=r"did not end within 0\.1 s"):
        measured(HungReads(), tmp_path, read_threads=3)


def test_reads_that_fail_are_a_failure(tmp_path: Path) -> None:
    class RefusedReads(CatchUpStack):
        def stream(self, node: str, argv: Sequence[str]) -> Stream:
            self.load_lines = captured(
                "refused" if "--threads=1" in argv else "conflicts-mysql-9.7"
            )
            return super().stream(node, argv)

    stack = RefusedReads()
    with pytest.raises(WorkloadError, match="reads at the replicas"):
        measured(stack, tmp_path, read_threads=1)
    assert stack.appliers and stack.appliers.closed.is_set()


@pytest.mark.parametrize(
    ("script", "said"),
    [
        ([["Traceback", "pymysql.err.OperationalError: (2003, 'no')"]], "no"),
        ([[{"error": "replica1: denied"}]], "denied"),
        (
            [
                [{"stopped": True}],
                [{"error": "replica1: the relay log lacks transactions after 120 s"}],
                [],
            ],
            "lacks",
        ),
        (
            [
                [{"stopped": True}],
                [{"received": True}],
                [{"error": "replica1: its applier has ended: 1062"}],
                [],
            ],
            "1062",
        ),
    ],
)
def test_what_fails_there_is_said_and_the_appliers_run_again(
    script: list[list[Any]], said: str, tmp_path: Path
) -> None:
    stack = CatchUpStack(script=script)
    with pytest.raises(WorkloadError, match=said):
        measured(stack, tmp_path)
    assert stack.appliers and stack.appliers.closed.is_set()


def test_a_load_that_fails_or_is_interrupted_leaves_no_applier_stopped(tmp_path: Path) -> None:
    stack = CatchUpStack(load_lines=captured("refused"), load_code=1)
    assert measured(stack, tmp_path).failure
    assert stack.appliers and stack.appliers.closed.is_set()

    def interrupt() -> None:
        raise KeyboardInterrupt

    stack = CatchUpStack(on_load=interrupt)
    with pytest.raises(KeyboardInterrupt):
        measured(stack, tmp_path)
    assert stack.appliers and stack.appliers.closed.is_set()


def test_a_writer_that_does_not_say_what_it_has_is_a_failure(tmp_path: Path) -> None:
    stack = CatchUpStack(fail_sql={"SELECT @@GLOBAL.gtid": (1193, "Unknown system variable")})
    with pytest.raises(WorkloadError, match="the writer does not say"):
        measured(stack, tmp_path)


def test_progress_is_shown_and_no_second_of_load(tmp_path: Path) -> None:
    events: list[Any] = []
    stack = CatchUpStack()
    ReplicaCatchUp(transactions=1162).load(
        session_of(stack, events), "measure", tmp_path / "load.log"
    )
    assert {type(event) for event in events} == {Progress}
    assert any("of 1,162 transactions committed" in event.text for event in events)
    assert any("replica2 is catching up (1 s)" in event.text for event in events)


def test_a_stack_without_a_replica_is_refused_before_anything_starts(tmp_path: Path) -> None:
    stack = FakeStack(
        members=[server("mysql1"), CLIENT], role_of={"mysql1": "writer"}, profile="mysql@9.7"
    )
    request = BenchRequest(NamedWorkload("replica-catch-up", "", ReplicaCatchUp()), Parameters())
    with pytest.raises(SandboxError) as refused:
        bench(stack, request, tmp_path / "results", lambda _: None)
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3
    assert not stack.streamed and not (tmp_path / "results").exists()


def test_it_estimates_its_length_by_its_transactions() -> None:
    parameters = make_parameters()
    short, long = (ReplicaCatchUp(transactions=each).work_s(parameters) for each in (1_000, 10_000))
    assert long - OTHER_S == pytest.approx(10 * (short - OTHER_S))
    assert (
        find_workload("oltp_read_only", [Path("profiles/workloads")]).workload.work_s(parameters)
        is None
    )
