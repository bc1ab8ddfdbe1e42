"""One trial: the probe writes and reads while faults and actions come by a schedule; then every ledger is read."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TypeVar, cast

from sandbox.core.errors import ExitCode, SandboxError, states
from sandbox.failure.actions.common.failed_join import final_state
from sandbox.failure.breaker import Breaking
from sandbox.failure.guard import Guard
from sandbox.failure.registry import action_named
from sandbox.load.common.workload import Progress
from sandbox.measure.counters import connections_refused, restarted, take_snapshots
from sandbox.measure.run import Run, RunEndedError, TrialRequest, idle_servers, prove_settings, servers_of_group
from sandbox.measure.sampler import Sampler
from sandbox.measure.trial.conductor import BACK_S, Conductor, prepare_first
from sandbox.measure.trial.ledger_on_servers import (
    NodeReading,
    end_abandoned,
    make_ledger,
    reachable,
    read_ledgers_of,
    schema_of,
    wait_for_readers,
)
from sandbox.measure.trial.load_beside import CAPACITY_S, NicedStack, TrialLoad
from sandbox.measure.trial.prober import ClockOffset, ProbePlan, RunningProbe
from sandbox.measure.trial.result import is_brownout_over, judge_trial
from sandbox.measure.trial.schedule import Step
from sandbox.measure.trial.watch import ChangeLog
from sandbox.record.record import Status
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode, followers

Started = TypeVar("Started")
TAIL_S = 6.0
"""The probe goes on for so long after the stack is whole: a brownout ends with five good seconds."""
BROWNOUT_LIMIT_S = 60.0
"""…and for so much longer, where a brownout has not ended by then."""
_BROWNOUT_LOOK_S = 2.0
PROBE_WEIGHT = 16
"""Of the client node beside a server's 1, while the probe runs; load and sampler give way within it (`NICENESS`)."""
OTHER_S = 3.0
"""For the estimate: what comes before the probe and after it."""
_STATUS: Mapping[ExitCode, Status] = {
    ExitCode.BAD_INPUT: "failed",
    ExitCode.FAILED: "failed",
    ExitCode.UNKNOWN: "skipped",
    ExitCode.ENVIRONMENT: "infra_error",
}


def probe_plan(
    stack: RunningStack,
    entry: EntryPoint,
    nodes: Sequence[StackNode],
    roles: Mapping[str, ServerRole | None],
    trial: TrialRequest,
    seed: int,
) -> ProbePlan:
    """Where the probe goes: through a proxy, or as a client that knows every server of the group and tries the next."""
    servers = [node for node in nodes if node.is_server and node.group_index == entry.group_index and node.port]
    direct = sorted(servers, key=lambda node: node.name != entry.node)
    through_proxy = any(node.kind == "proxy" for node in nodes if node.name == entry.node)
    write = [(entry.node, entry.port)] if through_proxy else _ports(direct)
    readers = [node for node in servers if roles.get(node.name) == "reader"]
    own_port = _read_port(stack, entry) if through_proxy else []
    # Of a cluster whose every member takes writes, the others are read while the first one is written to.
    others = [node for node in direct[1:] if node.topology not in (None, "single")]
    read, schema = own_port or _ports(readers or others) or write, schema_of(entry)
    ours = [node for node in servers if node.has_container]
    return ProbePlan(write, read, ours, schema, trial.rates, trial.timeout_s, trial.transaction, seed=seed)


def _ports(nodes: Sequence[StackNode]) -> list[tuple[str, int]]:
    return [(node.name, node.port) for node in nodes if node.port is not None]


def _read_port(stack: RunningStack, entry: EntryPoint) -> list[tuple[str, int]]:
    """The proxy's port for reads, where it has one."""
    with suppress(SandboxError):
        return [(entry.node, stack.entry_point(f"{entry.node}:ro").port)]
    return []


def prepare_ledger(run: Run) -> None:
    """An empty ledger on every server, and the data of the workload, whether it runs or not.

    Raises RunEndedError where a server that is read in the end does not get it.
    """
    _refuse_idle(run)
    run.preparation = run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))
    session, schema = run.session, schema_of(run.session.entry)
    make_ledger(session, schema)
    servers = followers(session.servers, session.writer.node)
    if behind := wait_for_readers(session, servers):
        why = behind | _broken(run, servers)  # an error of replication says more than an old row
        raise RunEndedError("infra_error", f"the ledger is not on every server: {states(why)}")


def _refuse_idle(run: Run) -> None:
    """A server that neither writes nor follows the writer would keep an earlier ledger, whose ids are the same."""
    option = name_option(run.stack.name)
    step = f"make ps{option} shows why; make down{option} and make up start a stack that is whole"
    servers = followers(servers_of_group(run), run.session.writer.node)
    if idle := idle_servers(servers, run.roles):
        raise RunEndedError("infra_error", f"a server neither writes nor follows the writer: {states(idle)} ({step})")
    if broken := _broken(run, servers):
        raise RunEndedError("infra_error", f"a server does not get what is written: {states(broken)} ({step})")


def _broken(run: Run, servers: Sequence[StackNode]) -> dict[str, str]:
    """Servers that have left their cluster, or whose replication has stopped with an error; each with why."""
    names = {server.name for server in servers}
    answers = run.stack.readiness()
    late = {name: answers[name].text for name in answers if name in names and not answers[name].ready}
    return {name: state for name, text in late.items() if (state := final_state(text))}


def start_probe(run: Run) -> None:
    """The probe and its load, before anything breaks; and what the servers are before it."""
    session, trial = run.session, _trial(run)
    before, silent = take_snapshots(run.stack, session.client, run.live_servers)
    if silent:
        raise RunEndedError("infra_error", f"a server does not answer: {states(silent)}")
    run.before = before
    if trial.loaded:
        load = TrialLoad(run)
        run.closing.callback(load.stop)
        run.load = load
    run.breaking = _breaking(run)
    run.closing.callback(run.breaking.close)
    favour_probe(run)
    niced = cast("RunningStack", NicedStack(run.stack))
    run.sampler = Sampler(niced, session.client, run.live_servers, run.keep("samples", "samples.jsonl"))
    run.closing.enter_context(run.sampler)
    run.sampler.wait_for_first()
    with refusals():
        prepare_first(run, run.breaking, trial.schedule.in_time())
    plan = probe_plan(run.stack, session.entry, run.nodes, run.roles, trial, session.seed)
    changes = ChangeLog(plan.observe, lambda text: session.on_event(Progress("state", text)))
    run.probe = RunningProbe(run.stack, session.client, plan, run.keep("probe", "probe.log"), changes.take)
    run.closing.callback(run.probe.close)
    run.probe.wait_for_writes()


def favour_probe(run: Run) -> None:
    """Gives the client node precedence where processors are short: a probe that waits for one measures the host.

    The guard is there before: it takes the precedence back where this process is killed.
    """
    client = run.stack.control(run.session.client)
    run.closing.callback(client.weigh, 1)
    client.weigh(PROBE_WEIGHT)


def break_and_heal(run: Run) -> None:
    """The schedule, then the wait until the stack is whole again, and a tail for what a brownout needs."""
    trial, probe = _trial(run), _given(run.probe, "the probe")
    clock = probe.clock()
    run.timeline.clock_us = clock.uncertainty_us
    breaking = _given(run.breaking, "the guard")
    conductor = Conductor(run, probe, breaking, clock)
    run.closing.callback(conductor.close)
    run.closing.callback(breaking.close)  # last in, first out: what is broken is healed before anything else ends
    with refusals():
        conductor.carry_out(trial.schedule.in_time())
        conductor.wait_until_whole(trial.redundancy_limit_s)
        time.sleep(TAIL_S)
        _outlast_brownout(run, clock)
        run.timeline.end_us = clock.probe_us(time.monotonic_ns())
        probe.stop()
        breaking.close()
        conductor.close()
    if run.sampler is not None:
        run.sampler.end()
    if run.load is not None:
        run.load.save(run.keep("load_seconds", "load-seconds.csv"), clock.probe_us)


def _outlast_brownout(run: Run, clock: ClockOffset) -> None:
    """Until writes are as quick as before the fault again, bounded; what is open then is censored there."""
    end_s = time.monotonic() + BROWNOUT_LIMIT_S
    while time.monotonic() < end_s and not is_brownout_over(run, clock.probe_us(time.monotonic_ns())):
        time.sleep(_BROWNOUT_LOOK_S)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what cannot be done into the end of the run: a wrong target, a fault that this machine cannot have."""
    try:
        yield
    except SandboxError as error:
        if error.exit_code not in _STATUS:
            raise
        raise RunEndedError(_STATUS[error.exit_code], f"{error.what}: {error.known}") from error


def _breaking(run: Run) -> Breaking:
    """A guard in a process of its own, so that what is broken is healed even if this process is killed."""
    return Guard(run.stack)


def read_ledgers(run: Run) -> None:
    """Every node's rows, once no abandoned statement is left; then the figures and the verdicts."""
    schema, roles = schema_of(run.session.entry), run.stack.roles()
    there, gone = reachable(run.stack, followers(servers_of_group(run), run.session.writer.node))
    end_abandoned(run.session, there)
    writer = next((each for each in there if roles.get(each.name) == "writer" or not each.has_container), None)
    session, behind, idle = run.session, dict[str, str](), dict[str, str]()
    if writer is not None and writer.port is not None:
        entry = replace(session.writer, node=writer.name, host=writer.host, port=writer.port)
        session = replace(session, writer=entry)
        if run.timeline.whole_us is None:
            idle = idle_servers(there, roles)
        behind = wait_for_readers(session, [node for node in there if node.name not in idle])
        behind |= {name: f"out of its group ({role})" for name, role in idle.items()}
    readings = read_ledgers_of(session, schema, there)
    readings |= {name: NodeReading(None, None, state) for name, state in gone.items()}
    after, _ = take_snapshots(run.stack, session.client, there)
    run.refused = connections_refused(run.before, after)
    known = {name: state for name, state in after.items() if name in run.before}
    run.after = {name: state for name, state in known.items() if not restarted(run.before[name], state)}
    judge_trial(run, writer.name if writer else None, readings, behind, idle)


TRIAL_STEPS: dict[str, Callable[[Run], None]] = {
    "prove settings": prove_settings,
    "prepare": prepare_ledger,
    "probe": start_probe,
    "faults": break_and_heal,
    "ledger": read_ledgers,
}


@dataclass(frozen=True, slots=True)
class TypicalTimes:
    """Seconds of an outage whose fault has no length, and from a heal until every node is ready again."""

    outage_s: float
    return_s: float


def trial_s(trial: TrialRequest, typical: TypicalTimes) -> float:
    """About how long a trial takes, without its stack's start: the schedule, the way back, the tail, the ledgers."""
    ends = [_whole_s(step, typical) for step in trial.schedule.steps]
    return max(ends, default=0.0) + TAIL_S + OTHER_S + (CAPACITY_S if trial.loaded else 0)


def _whole_s(step: Step, typical: TypicalTimes) -> float:
    """When the stack is whole again after a step."""
    if step.action is not None:
        return step.at_s + action_named(step.action, step.options).typical_s
    healed_s = step.at_s + typical.outage_s + BACK_S if step.end_s is None else step.end_s
    return healed_s + typical.return_s


def _trial(run: Run) -> TrialRequest:
    if run.request.trial is None:
        raise TypeError("the run is no trial")
    return run.request.trial


def _given(started: Started | None, what: str) -> Started:
    if started is None:
        raise TypeError(f"{what} was not started")
    return started
