"""One measurement of a running stack: its steps in order, then its record in a result folder, whatever happened."""

import re
import subprocess
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from sandbox import __version__
from sandbox.core.errors import ExitCode, MachineError, SandboxError, states
from sandbox.core.paths import CHECKOUT, IN_CHECKOUT
from sandbox.load.common.prepared import without_watermark, write_watermark
from sandbox.load.common.workload import Event, MemberChange, Outcome, Progress, Session, WorkloadError
from sandbox.measure import counters, run_checks
from sandbox.measure.interrupted import keep_figures, metrics_of
from sandbox.measure.machine import host_load
from sandbox.measure.run import BenchRequest, Run, RunEndedError, open_run, open_stack, prove_settings
from sandbox.measure.run_checks import members_loaded as judged
from sandbox.measure.sampler import Sampler
from sandbox.measure.save import collect, compose_record
from sandbox.measure.trial.trial import TRIAL_STEPS
from sandbox.record.manifest import Manifest
from sandbox.record.record import Absence, CheckRecord, Metrics, Record, Status
from sandbox.record.store import ResultFolder, slug_of
from sandbox.stack.journal import breakages
from sandbox.stack.protocol import RunningStack, followers

CELL, BLOCK = "bench", 1
CATCH_UP_LIMIT_S = 300.0
CATCH_UP_INTERVAL_S = 0.2

EXIT_CODES: dict[Status, ExitCode] = {
    "ok": ExitCode.OK,
    "failed": ExitCode.FAILED,
    "infra_error": ExitCode.ENVIRONMENT,
    "skipped": ExitCode.UNKNOWN,
    "interrupted": ExitCode.INTERRUPTED,
}


def bench(
    stack: RunningStack, request: BenchRequest, results: Path, on_event: Callable[[Event], None]
) -> tuple[Record, ResultFolder]:
    """Measures a stack once; the record is on disk under ``results`` when this returns.

    ``on_event`` gets a Progress for each step and a Second for each second of load. Ctrl-C, like
    TERM, gives a record with status ``interrupted`` and the figures so far. Raises SandboxError,
    before it writes anything, for a request that cannot be met; SecretFoundError for a record that
    would contain a password; any unexpected error once its record is written.
    """
    opening, started = open_stack(stack, request, on_event), now()
    manifest = Manifest(
        kind="bench",
        slug=slug_of(f"{stack.profile}-{'trial' if request.trial else request.workload.name}"),
        profile=stack.profile,
        command=list(request.command),
        started_utc=started,
        tool_commit=tool_commit(),
    )
    result = ResultFolder.create(results, manifest)
    run = open_run(opening, result, CELL, BLOCK, started)
    try:
        return execute(run, result), result
    finally:
        result.finish(now())


def execute(run: Run, result: ResultFolder) -> Record:
    """Runs the steps and saves the record in ``result``. An unexpected error propagates once its record is saved.

    Raises SecretFoundError for a record that would contain a password.
    """
    status: Status = "failed"
    reason: str | None = None
    try:
        with run.closing:
            status, reason = _take_steps(run, TRIAL_STEPS if run.request.trial else STEPS)
    except KeyboardInterrupt:  # the second one, or one that came while something was healed
        status, reason = "interrupted", "; ".join(filter(None, (reason, "interrupted while the run was closed")))
    except Exception as error:
        if not (isinstance(error, SandboxError) and error.exit_code is ExitCode.ENVIRONMENT):
            _leave(run, result, "failed", f"unexpected {type(error).__name__}: {error}")
            raise
        # Of what ends with the run: a fault that cannot be healed.
        status = "interrupted" if status == "interrupted" else "infra_error"
        text = f"{error.what}: {error.known}"
        if text not in (reason or ""):  # an interruption that healed has said it
            reason = "; ".join(filter(None, (reason, text)))
    return _leave(run, result, status, reason)


def _take_steps(run: Run, steps: Mapping[str, Callable[[Run], None]]) -> tuple[Status, str | None]:
    name = next(iter(steps))
    try:
        for name, step in steps.items():
            run.session.on_event(Progress(name, "begins"))
            step(run)
    except RunEndedError as end:
        return _explained(run, end.status, end.reason)
    except WorkloadError as error:
        return _explained(run, "failed", str(error))
    except TimeoutError as error:
        return "infra_error", f"during {name}: {error}"
    except MachineError as error:
        return "infra_error", f"{error.what}: {error.known}"
    except KeyboardInterrupt:
        return "interrupted", keep_figures(run, name)
    return "ok", None


def _explained(run: Run, status: Status, reason: str) -> tuple[Status, str]:
    """A failure after a node's death, or after the engine stopped answering, is not the workload's.

    Where a trial has broken something, what died is no reason: it was meant to, or is what the trial measures.
    """
    try:
        dead = died(run) if status == "failed" and not run.timeline.steps else {}
    except MachineError as error:
        return "infra_error", f"{error.what}: {error.known}; then: {reason}"
    return ("infra_error", f"died during the run: {states(dead)}; then: {reason}") if dead else (status, reason)


def _leave(run: Run, result: ResultFolder, status: Status, reason: str | None) -> Record:
    try:
        run.session.on_event(Progress("save", "record, logs, samples"))
        collect(run)
    except KeyboardInterrupt:
        status, reason = "interrupted", reason or "interrupted while saving logs"
    record = compose_record(run, status, reason)
    result.save(record, run.secrets)
    return record


def prepare(run: Run) -> None:
    """Prepares the data for the first phase; where that goes to several servers, waits until each has it."""
    run.preparation = run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))
    if run.preparation is not None and run.session.entry.others:
        wait_until_applied(run.session)


def warm_up(run: Run) -> None:
    """A separate load whose results are discarded: sysbench 1.0 has no warm-up. The sampler connects meanwhile."""
    _sampler(run)
    counters.read_usage(run.stack, run.live_nodes)  # starts the counter readers here, outside the measured window
    if not run.session.parameters.warmup_s:
        return
    outcome = run.workload.load(run.session, "warm-up", run.keep("warmup_log", "warmup.log"))
    if outcome.failure:
        run.metrics = outcome.metrics.model_copy(update={"tps_sd_1s": None, "points_1s": None})
        run.load_command = outcome.command
        raise RunEndedError("failed", f"during the warm-up: {outcome.failure}")
    if run.workload.consumes_data:
        run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))


def catch_up(run: Run) -> None:
    """Waits until every server that follows the writer has applied all writes."""
    if run.preparation is not None:
        wait_until_applied(run.session)


def wait_until_applied(session: Session) -> None:
    """Returns when every server that follows the writer has caught up. Raises RunEndedError after five minutes."""
    following = followers(session.servers, session.writer.node)
    if [server.name for server in following] == [session.writer.node]:
        return
    watermark, began = uuid.uuid4().hex, time.monotonic()
    write_watermark(session, watermark)
    while behind := without_watermark(session, following, watermark):
        waited = time.monotonic() - began
        text = "; ".join(f"{name} {state}" for name, state in behind.items())
        if waited > CATCH_UP_LIMIT_S:
            raise RunEndedError("infra_error", f"not caught up after {waited:.0f} s: {text}")
        session.on_event(Progress("catch up", f"{text} ({waited:.0f} s)"))
        time.sleep(CATCH_UP_INTERVAL_S)


def measure(run: Run) -> None:
    """The load, with the servers' status before, each second, and after; then the verdicts on it."""
    session, sampler = run.session, _sampler(run)
    try:
        with sampler:
            before, silent = counters.take_snapshots(run.stack, session.client, run.live_servers)
            if silent:
                raise RunEndedError("infra_error", f"a server does not answer: {states(silent)}")
            run.before = before
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
        run_checks.condition_met(each, session.parameters.threads, sampler.watched[each.status], names)
        for each in run.request.conditions
    ]
    _judge(run, outcome, names)


def _sampler(run: Run) -> Sampler:
    """The run's sampler, which starts connecting on first use."""
    if run.sampler is None:
        watched = {condition.status for condition in run.request.conditions}
        path = run.keep("samples", "samples.jsonl")
        run.sampler = Sampler(run.stack, run.session.client, run.live_servers, path, watched)
        run.closing.callback(run.sampler.close)
    return run.sampler


def _load_between_snapshots(run: Run) -> Outcome:
    before = counters.read_usage(run.stack, run.live_nodes)
    for word, name in run.workload.leaves.items():
        run.keep(word, name)
    try:
        return run.workload.load(noting_losses(run), "measure", run.keep("load_log", "load.log"))
    finally:
        run.usage = counters.used(before, counters.read_usage(run.stack, run.live_nodes))
        run.after, _ = counters.take_snapshots(run.stack, run.session.client, run.live_servers)


def _judge(run: Run, outcome: Outcome, servers: Sequence[str]) -> None:
    """Adds the servers' counts to the metrics, adds the verdicts, and ends the run where one is bad."""
    metrics, failure = outcome.metrics, outcome.failure
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
    usage = {name: used for name, used in run.usage.items() if name not in absent}  # of a part of the time
    cpu = counters.cpu_per_transaction(usage, run.live_nodes, run.session.entry.group_index, metrics.transactions)
    run.metrics = metrics.model_copy(update={"conflicts_by_code": by_code, **cpu})
    away = [name for name in servers if name not in answered and name in expected_away(run)]
    run.checks += [
        run_checks.nodes_alive(run.down_at_start, died(run)),
        run_checks.load_reached(metrics, failure, answered, aborted, away),
        run_checks.load_alone(metrics, failure, answered),
        *members_loaded(run),
    ]
    status, reason = run_checks.verdict(failure, run.checks)
    run.checks += outcome.findings
    if reason is not None:
        raise RunEndedError(status, reason)


def died(run: Run) -> dict[str, str]:
    """Nodes that ran at the start but do not now, or whose server restarted; each with its state."""
    dead = {name: state for name, state in run.stack.dead_nodes().items() if name not in run.down_at_start}
    unheard = [name for name in run.before if name not in run.after] if run.after else []
    silent = dict.fromkeys(unheard, "its server did not answer after the load")
    again = [name for name in run.before if name in run.after and counters.restarted(run.before[name], run.after[name])]
    found = {**silent, **dict.fromkeys(again, "its server restarted"), **dead}
    return {name: state for name, state in found.items() if name not in expected_away(run)}


STEPS: dict[str, Callable[[Run], None]] = {
    "prove settings": prove_settings,
    "prepare": prepare,
    "warm up": warm_up,
    "catch up": catch_up,
    "measure": measure,
}


def now() -> datetime:
    """The time as records have it, UTC, in whole seconds."""
    return datetime.now(UTC).replace(microsecond=0)


def tool_commit(checkout: Path = CHECKOUT) -> str | None:
    """The version of this tool: ``9ada22637b1c``, or ``9ada22637b1c+`` with uncommitted changes.

    The version number where it is installed from a wheel; None where git does not answer.
    """
    if not IN_CHECKOUT:
        return __version__
    command = ["git", "-C", str(checkout), "describe", "--always", "--abbrev=12", "--dirty=+", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=5)
    except (OSError, subprocess.SubprocessError):
        return None
    return done.stdout.strip() or None


_SHUT_DOWN = re.compile(r"normal shutdown|received shutdown from user", re.IGNORECASE)
"""A server that was asked to end says so in its log: MariaDB, MySQL."""


def noting_losses(run: Run) -> Session:
    """The run's session, which notes what is broken on purpose when the load loses a member: a heal may come soon."""
    if not run.session.entry.others:
        return run.session
    run.starts = dict(run.stack.starts())

    def note(event: Event) -> None:
        if isinstance(event, MemberChange) and event.is_lost:
            run.broken |= {each.node for each in breakages(run.stack.project)}
        run.session.on_event(event)

    return replace(run.session, on_event=note)


def note_absences(run: Run, absences: Iterable[Absence]) -> None:
    """Adds the absences to the run, each with whether somebody had stopped or broken the member."""
    found = list(absences)
    if not found:
        return
    started, broken = run.stack.starts(), {each.node for each in breakages(run.stack.project)}
    purposely = run.broken | broken
    purposely |= {name for name, when in started.items() if run.starts.get(name, when) != when}
    for each in found:
        is_meant = each.member in purposely or _was_shut_down(run, each.member)
        run.absences.append(each.model_copy(update={"on_purpose": is_meant}))


def _was_shut_down(run: Run, member: str) -> bool:
    return bool(_SHUT_DOWN.search(run.stack.log(member, run.started_utc)))


def expected_away(run: Run) -> set[str]:
    """Members that were away on purpose."""
    return {each.member for each in run.absences if each.on_purpose}


def members_loaded(run: Run) -> list[CheckRecord]:
    """The verdict on whether all members took part; none of a load with one entry point."""
    members = len(run.session.entry.hosts)
    if members == 1:
        return []
    seconds = [(each.second, each.tps) for each in run.series if each.phase == "measure"]
    return [judged(run.absences, members, seconds)]


def so_far(run: Run, metrics: Metrics, failure: str) -> tuple[Metrics, str]:
    """The figures of a load on all members up to its end by an error, and what it failed for."""
    measured = [second for second in run.series if second.phase == "measure"]
    if not measured:
        return metrics, failure
    kept = metrics_of(measured).model_copy(update={"errors": metrics.errors, "errors_by_code": metrics.errors_by_code})
    return kept, f"{failure}; the figures are those of its first {len(measured)} s"
