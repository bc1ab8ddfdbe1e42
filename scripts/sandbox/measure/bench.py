"""A bench: a load on a running stack, measured once, and its record."""

import re
import statistics
import time
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from sandbox.core.errors import SandboxError, states
from sandbox.load.common.prepared import without_watermark, write_watermark
from sandbox.load.common.workload import Event, MemberChange, Outcome, Progress, Second, Session
from sandbox.measure import counters, run_checks
from sandbox.measure.execute import Procedure, run_alone
from sandbox.measure.machine import host_load
from sandbox.measure.run import (
    Opening,
    Run,
    RunEndedError,
    RunPlace,
    RunRequest,
    nodes_lost,
    open_run,
    prove_assignments,
    prove_settings,
)
from sandbox.measure.run_checks import Condition
from sandbox.measure.run_checks import members_loaded as judged
from sandbox.measure.sampler import Sampler
from sandbox.record.record import Absence, CheckRecord, Metrics, NodeRecord, Record, WorkloadRecord
from sandbox.record.store import ResultFolder
from sandbox.stack.journal import breakages
from sandbox.stack.protocol import EntryPoint, RunningStack, followers

CATCH_UP_LIMIT_S = 300.0
CATCH_UP_INTERVAL_S = 0.2


@dataclass(frozen=True)
class BenchRequest(RunRequest):
    """The request of a bench, in which nothing breaks."""

    conditions: tuple[Condition, ...] = ()
    """Conditions that the run's samples must meet for the run to be valid."""
    schema: str | None = None
    """Schema of the data on an external server; None: the one in its address."""

    def placed(self, entry: EntryPoint) -> EntryPoint:
        """The entry point with SCHEMA= in place of EXTERNAL's. Raises SandboxError (exit 2)."""
        if self.schema is None:
            return entry
        if entry.via != "external":
            known = (
                f"{entry.via} is a sandbox server, where the load uses the schema {entry.schema}"
            )
            raise SandboxError(
                f"SCHEMA={self.schema} applies only to an external server", known, "try: make bench"
            )
        if not re.fullmatch(r"[A-Za-z0-9_$]{1,64}", self.schema):
            known = "a schema name has 1 to 64 letters, digits, _ or $"
            raise SandboxError(
                f"SCHEMA={self.schema} is not valid", known, "try: make bench SCHEMA=sbtest2"
            )
        return replace(entry, schema=self.schema)


@dataclass
class BenchRun(Run[BenchRequest]):
    """A bench and what its steps have found so far."""

    load_command: tuple[str, ...] | None = None
    usage: dict[str, counters.Usage] = field(default_factory=dict)
    """Resources that each node used during the measured window."""
    sampler: Sampler | None = None
    """None until the warm-up, which it connects beside."""
    answered: dict[str, int] | None = None
    absences: list[Absence] = field(default_factory=list)
    """Of a load on all members of a cluster: when some were away."""
    starts: dict[str, str] = field(default_factory=dict)
    """When each container had started last, before such a load."""
    broken: set[str] = field(default_factory=set)
    """Nodes that something was written down to be broken on, when a load had lost them."""

    def completed(self, record: Record) -> Record:
        """The record with the load's command, the servers that answered, and what each used."""
        workload = self._loaded(record.workload)
        nodes = [self._used(node) for node in record.nodes]
        return record.model_copy(update={"workload": workload, "nodes": nodes})

    def _loaded(self, workload: WorkloadRecord) -> WorkloadRecord:
        command = list(self.load_command) if self.load_command else None
        entry = workload.entry
        if entry is not None:
            entry = entry.model_copy(update={"answered": self.answered, "absences": self.absences})
        return workload.model_copy(update={"load_command": command, "entry": entry})

    def _used(self, node: NodeRecord) -> NodeRecord:
        usage = self.usage.get(node.name)
        return node.model_copy(update=asdict(usage)) if usage else node


def bench(
    stack: RunningStack, request: BenchRequest, results: Path, on_event: Callable[[Event], None]
) -> tuple[Record, ResultFolder]:
    """Measures a stack once; as `run_alone`, which says what it leaves and raises."""
    return run_alone(BENCH, stack, request, results, on_event)


def open_bench(opening: Opening[BenchRequest], place: RunPlace) -> BenchRun:
    """The bench before its first step."""
    return open_run(BenchRun, opening, place)


def prepare(run: BenchRun) -> None:
    """Prepares the data for the first phase; where that goes to several servers, waits until each
    has it.
    """
    run.preparation = run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))
    if run.preparation is not None and run.session.entry.others:
        wait_until_applied(run.session)


def warm_up(run: BenchRun) -> None:
    """A separate load whose results are discarded: sysbench 1.0 has no warm-up. The sampler
    connects meanwhile.
    """
    _sampler(run)
    # Starts the counter readers here, outside the measured window.
    counters.read_usage(run.stack, run.live_nodes)
    if not run.session.parameters.warmup_s:
        return
    outcome = run.workload.load(run.session, "warm-up", run.keep("warmup_log", "warmup.log"))
    if outcome.failure:
        run.metrics = outcome.metrics.model_copy(update={"tps_sd_1s": None, "points_1s": None})
        run.load_command = outcome.command
        raise RunEndedError("failed", f"during the warm-up: {outcome.failure}")
    if run.workload.consumes_data:
        run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))


def catch_up(run: BenchRun) -> None:
    """Waits until every server that follows the writer has applied all writes."""
    if run.preparation is not None:
        wait_until_applied(run.session)


def wait_until_applied(session: Session) -> None:
    """Returns when every server that follows the writer has caught up. Raises RunEndedError after
    five minutes.
    """
    following = followers(session.servers, session.writer.node)
    if [server.name for server in following] == [session.writer.node]:
        return
    watermark = uuid.uuid4().hex
    began = time.monotonic()
    write_watermark(session, watermark)
    while behind := without_watermark(session, following, watermark):
        waited = time.monotonic() - began
        text = "; ".join(f"{name} {state}" for name, state in behind.items())
        if waited > CATCH_UP_LIMIT_S:
            raise RunEndedError("infra_error", f"not caught up after {waited:.0f} s: {text}")
        session.on_event(Progress("catch up", f"{text} ({waited:.0f} s)"))
        time.sleep(CATCH_UP_INTERVAL_S)


def measure(run: BenchRun) -> None:
    """The load, with the servers' status before, each second, and after; then the verdicts on
    it.
    """
    session = run.session
    sampler = _sampler(run)
    try:
        with sampler:
            before, silent = counters.take_snapshots(run.stack, session.client, run.live_servers)
            if silent:
                raise RunEndedError("infra_error", f"a server does not answer: {states(silent)}")
            run.before = before
            prove_assignments(run)
            sampler.wait_for_first()
            outcome = _load_between_snapshots(run)
    finally:
        run.host_load = host_load(sampler.host_lines)
        expected = dict.fromkeys(run.before, len(sampler.host_lines))
        run.checks.append(run_checks.servers_sampled(sampler.sampled, expected))
    run.load_command = outcome.command
    run.checks += run.workload.check(session)
    names = [server.name for server in session.servers]
    run.checks += [
        run_checks.condition_met(
            each, session.parameters.threads, sampler.watched[each.status], names
        )
        for each in run.request.conditions
    ]
    _judge(run, outcome, names)


def _sampler(run: BenchRun) -> Sampler:
    """The run's sampler, which starts connecting on first use."""
    if run.sampler is None:
        watched = {condition.status for condition in run.request.conditions}
        path = run.keep("samples", "samples.jsonl")
        run.sampler = Sampler(run.stack, run.session.client, run.live_servers, path, watched)
        run.closing.callback(run.sampler.close)
    return run.sampler


def _load_between_snapshots(run: BenchRun) -> Outcome:
    before = counters.read_usage(run.stack, run.live_nodes)
    for word, name in run.workload.leaves.items():
        run.keep(word, name)
    try:
        return run.workload.load(noting_losses(run), "measure", run.keep("load_log", "load.log"))
    finally:
        run.usage = counters.used(before, counters.read_usage(run.stack, run.live_nodes))
        run.after, _ = counters.take_snapshots(run.stack, run.session.client, run.live_servers)


def _judge(run: BenchRun, outcome: Outcome, servers: Sequence[str]) -> None:
    """Adds the servers' counts to the metrics, adds the verdicts, and ends the run where one is
    bad.
    """
    metrics = outcome.metrics
    failure = outcome.failure
    note_absences(run, outcome.absences)
    if failure and run.session.entry.others and metrics.tps is None:
        metrics, failure = so_far(run, metrics, failure)
    answered = counters.statements_answered(run.before, run.after, servers)
    run.answered = run_checks.answering(metrics, answered)
    aborted = counters.transactions_aborted(run.before, run.after, servers)
    by_code = metrics.conflicts_by_code
    if by_code is None:
        by_code = counters.conflicts_by_code(metrics.conflicts, run.before, run.after, servers)
    absent = {each.member for each in run.absences}
    # Of a part of the time.
    usage = {name: used for name, used in run.usage.items() if name not in absent}
    cpu = counters.cpu_per_transaction(
        usage, run.live_nodes, run.session.entry.group_index, metrics.transactions
    )
    run.metrics = metrics.model_copy(update={"conflicts_by_code": by_code, **cpu})
    away = [name for name in servers if name not in answered and name in expected_away(run)]
    run.checks += [
        run_checks.nodes_alive(run.down_at_start, died(run)),
        run_checks.load_reached(metrics, failure, answered, aborted, away),
        run_checks.load_alone(metrics, failure, answered),
        *members_loaded(run),
    ]
    status, reason = run_checks.verdict(failure, run.checks)
    run.checks += [*outcome.findings, *run.workload.judge_ledger(run.session)]
    if reason is not None:
        raise RunEndedError(status, reason)


def died(run: BenchRun) -> dict[str, str]:
    """Nodes that ended during the run, with states; not members that were away on purpose."""
    away = expected_away(run)
    return {name: state for name, state in nodes_lost(run).items() if name not in away}


def keep_figures(run: BenchRun) -> list[str]:
    """Adds the figures of the seconds measured so far; what its reason says about them."""
    measured = [second for second in run.series if second.phase == "measure"]
    if run.metrics.tps is not None or not measured:
        return []
    metrics = metrics_of(measured)
    group = run.session.entry.group_index
    cpu = counters.cpu_per_transaction(run.usage, run.live_nodes, group, metrics.transactions)
    run.metrics = metrics.model_copy(update=cpu)
    asked_s = run.session.parameters.seconds
    return [f"the figures are those of its first {len(measured)} of {asked_s} s"]


_SHUT_DOWN = re.compile(r"normal shutdown|received shutdown from user", re.IGNORECASE)
"""A server that was asked to end says so in its log: MariaDB, MySQL."""


def noting_losses(run: BenchRun) -> Session:
    """The run's session, which notes what is broken on purpose when the load loses a member: a heal
    may come soon.
    """
    if not run.session.entry.others:
        return run.session
    run.starts = dict(run.stack.starts())

    def note(event: Event) -> None:
        if isinstance(event, MemberChange) and event.is_lost:
            run.broken |= {each.node for each in breakages(run.stack.project)}
        run.session.on_event(event)

    return replace(run.session, on_event=note)


def note_absences(run: BenchRun, absences: Iterable[Absence]) -> None:
    """Adds the absences to the run, each with whether somebody had stopped or broken the member."""
    found = list(absences)
    if not found:
        return
    started = run.stack.starts()
    broken = {each.node for each in breakages(run.stack.project)}
    purposely = run.broken | broken
    purposely |= {name for name, when in started.items() if run.starts.get(name, when) != when}
    for each in found:
        is_meant = each.member in purposely or _was_shut_down(run, each.member)
        run.absences.append(each.model_copy(update={"on_purpose": is_meant}))


def _was_shut_down(run: BenchRun, member: str) -> bool:
    return bool(_SHUT_DOWN.search(run.stack.log(member, run.started_utc)))


def expected_away(run: BenchRun) -> set[str]:
    """Members that were away on purpose."""
    return {each.member for each in run.absences if each.on_purpose}


def members_loaded(run: BenchRun) -> list[CheckRecord]:
    """The verdict on whether all members took part; none of a load with one entry point."""
    members = len(run.session.entry.hosts)
    if members == 1:
        return []
    seconds = [(each.second, each.tps) for each in run.series if each.phase == "measure"]
    return [judged(run.absences, members, seconds)]


def so_far(run: BenchRun, metrics: Metrics, failure: str) -> tuple[Metrics, str]:
    """The figures of a load on all members up to its end by an error, and what it failed for."""
    measured = [second for second in run.series if second.phase == "measure"]
    if not measured:
        return metrics, failure
    kept = metrics_of(measured).model_copy(
        update={"errors": metrics.errors, "errors_by_code": metrics.errors_by_code}
    )
    return kept, f"{failure}; the figures are those of its first {len(measured)} s"


STEPS: dict[str, Callable[[BenchRun], None]] = {
    "prove settings": prove_settings,
    "prepare": prepare,
    "warm up": warm_up,
    "catch up": catch_up,
    "measure": measure,
}
BENCH = Procedure("bench", open_bench, STEPS, died, keep_figures)


def metrics_of(seconds: Sequence[Second]) -> Metrics:
    """Means and sums of whole seconds; no latency, since their percentiles cannot be combined."""
    tps = [each.tps for each in seconds]
    means = {
        name: round(statistics.fmean(getattr(each, name) for each in seconds), 2)
        for name in ("tps", "qps", "reads_per_s", "writes_per_s")
    }
    return Metrics(
        **means,
        transactions=round(sum(tps)),
        measured_s=float(len(seconds)),
        points_1s=len(seconds),
        tps_sd_1s=round(statistics.stdev(tps), 2) if len(tps) > 1 else None,
        errors=seconds[-1].errors,
        conflicts=round(sum(each.conflicts_per_s for each in seconds)),
        reconnects=round(sum(each.reconnects_per_s for each in seconds)),
    )
