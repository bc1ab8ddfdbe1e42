"""The steps of a bench, in order: each takes the run and adds what it finds, or ends it."""

import time
import uuid
from collections.abc import Sequence

from sandbox.results.record import PreparationRecord
from sandbox.run import judge
from sandbox.run.host_load import host_load
from sandbox.run.sampler import Sampler
from sandbox.run.snapshot import ServerState, conflicts_by_code, restarted, statements_answered, take_snapshots
from sandbox.run.state import Run, RunEndedError
from sandbox.run.usage import cpu_per_transaction, read_usage, used
from sandbox.stack.protocol import StackNode
from sandbox.workloads.common.model import Outcome, Progress, Session
from sandbox.workloads.common.prepared import without_watermark, write_watermark

CATCH_UP_LIMIT_S = 300.0
CATCH_UP_INTERVAL_S = 0.2


def prove_settings(run: Run) -> None:
    """Asks the live servers whether every setting is in effect; without one, the run would measure something else."""
    check = judge.settings_in_effect(run.stack.prove_settings())
    run.checks.append(check)
    if check.verdict == "fail":
        raise RunEndedError("failed", f"setting not in effect: {check.detail}")


def prepare(run: Run) -> None:
    """Prepares the data for the first phase."""
    run.preparation = _prepare(run)


def warm_up(run: Run) -> None:
    """A separate load whose results are discarded: sysbench 1.0 has no warm-up. The sampler connects meanwhile."""
    _sampler(run)
    read_usage(run.stack, run.live_nodes)  # starts the counter readers here, outside the measured window
    if not run.session.parameters.warmup_s:
        return
    outcome = run.request.workload.workload.load(run.session, "warm-up", run.keep("warmup_log", "warmup.log"))
    if outcome.failure:
        run.metrics = outcome.metrics.model_copy(update={"tps_sd_1s": None, "points_1s": None})
        run.load_command = outcome.command
        raise RunEndedError("failed", f"during the warm-up: {outcome.failure}")
    if run.request.workload.workload.consumes_data:
        _prepare(run)


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
    """The load, with the servers' status before, each second, and after."""
    session, sampler = run.session, _sampler(run)
    try:
        with sampler:
            run.before = _snapshots_before(run)
            sampler.wait_for_first()
            outcome = _load_between_snapshots(run)
    finally:
        run.host_load = host_load(sampler.host_lines)
        expected = dict.fromkeys(run.before, len(sampler.host_lines))
        run.checks.append(judge.servers_sampled(sampler.sampled, expected))
    run.load_command = outcome.command
    run.checks += run.request.workload.workload.check(session)
    names = [server.name for server in session.servers]
    for each in run.request.conditions:
        threads, seen = session.parameters.threads, sampler.watched[each.status]
        run.checks.append(judge.condition_met(each, threads, seen, names))
    _judge(run, outcome)


def _sampler(run: Run) -> Sampler:
    """The run's sampler, which starts connecting on first use."""
    if run.sampler is None:
        watched = {condition.status for condition in run.request.conditions}
        path = run.keep("samples", "samples.jsonl")
        run.sampler = Sampler(run.session.stack, run.session.client, run.live_servers, path, watched)
    return run.sampler


def _load_between_snapshots(run: Run) -> Outcome:
    before = read_usage(run.stack, run.live_nodes)
    try:
        return run.request.workload.workload.load(run.session, "measure", run.keep("load_log", "load.log"))
    finally:
        run.usage = used(before, read_usage(run.stack, run.live_nodes))
        session = run.session
        run.after = _answered(take_snapshots(session.stack, session.client, run.live_servers))


def _judge(run: Run, outcome: Outcome) -> None:
    """Adds the servers' counts to the metrics, adds the verdicts, and ends the run where one is bad."""
    session = run.session
    names = [server.name for server in session.servers]
    answered = statements_answered(run.before, run.after, names)
    run.answered = judge.answering(outcome.metrics, answered)
    by_code = outcome.metrics.conflicts_by_code
    if by_code is None:
        by_code = conflicts_by_code(outcome.metrics.conflicts, run.before, run.after, names)
    group, transactions = session.entry.group_index, outcome.metrics.transactions
    cpu = cpu_per_transaction(run.usage, run.live_nodes, group, transactions)
    run.metrics = outcome.metrics.model_copy(update={"conflicts_by_code": by_code, **cpu})
    run.checks += [
        judge.nodes_alive(run.down_at_start, died(run)),
        judge.load_reached(run.metrics, outcome.failure, answered),
        judge.load_alone(run.metrics, outcome.failure, answered),
    ]
    status, reason = judge.verdict(outcome.failure, run.checks)
    if reason is not None:
        raise RunEndedError(status, reason)


def followers(servers: Sequence[StackNode], writer: str) -> list[StackNode]:
    """Servers of a group that receive its writer's data; among independent ones, the writer and its replicas."""
    members = [server for server in servers if server.kind == "database"]
    if len(members) < 2 or members[0].topology != "single":
        return list(servers)
    first = members[0].name == writer
    return [server for server in servers if server.name == writer or (first and server.kind == "replica")]


def died(run: Run) -> dict[str, str]:
    """Nodes that ran at the start but do not now, or whose server restarted; each with its state."""
    dead = {name: state for name, state in run.stack.dead_nodes().items() if name not in run.down_at_start}
    unheard = [name for name in run.before if name not in run.after] if run.after else []
    silent = dict.fromkeys(unheard, "its server did not answer after the load")
    again = {
        name: "its server restarted"
        for name, first in run.before.items()
        if name in run.after and restarted(first, run.after[name])
    }
    return {**silent, **again, **dead}


def _prepare(run: Run) -> PreparationRecord | None:
    return run.request.workload.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))


def _snapshots_before(run: Run) -> dict[str, ServerState]:
    taken = take_snapshots(run.session.stack, run.session.client, run.live_servers)
    silent = {name: answer for name, answer in taken.items() if isinstance(answer, str)}
    if silent:
        text = "; ".join(f"{name}: {reason}" for name, reason in silent.items())
        raise RunEndedError("infra_error", f"a server does not answer: {text}")
    return _answered(taken)


def _answered(taken: dict[str, ServerState | str]) -> dict[str, ServerState]:
    return {name: answer for name, answer in taken.items() if isinstance(answer, ServerState)}
