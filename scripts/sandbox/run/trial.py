"""One trial: the probe writes and reads while faults and actions come by a schedule; then every ledger is read."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace

from sandbox.actions.common.registry import action_named
from sandbox.errors import ExitCode, SandboxError
from sandbox.faults.common.breaker import Breaking
from sandbox.faults.common.guard import Guard
from sandbox.results.record import Status
from sandbox.run.conductor import BACK_S, Conductor
from sandbox.run.counters import connections_refused, restarted, take_snapshots
from sandbox.run.judge import states
from sandbox.run.ledger import NodeReading, end_abandoned, make_ledger, reachable, read_ledgers_of, wait_for_readers
from sandbox.run.load import CAPACITY_S, TrialLoad
from sandbox.run.probe import ProbePlan, RunningProbe
from sandbox.run.sampler import Sampler
from sandbox.run.schedule import Step
from sandbox.run.state import Run, RunEndedError, TrialRequest, followers, prove_settings
from sandbox.run.trial_result import judge_trial
from sandbox.stack.protocol import EntryPoint, RunningStack, ServerRole, StackNode

TAIL_S = 6.0
"""The probe goes on for so long after the stack is whole: a brownout ends with five good seconds."""
PROBE_WEIGHT = 16
"""Of the client node beside a server's 1, while the probe runs; its load gives way within the node (`NICENESS`)."""
TYPICAL_OUTAGE_S, TYPICAL_RETURN_S, OTHER_S = 5.0, 6.0, 4.0
"""For the estimate: an outage, from the heal to whole again, and what comes before and after."""
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
    read = _read_port(stack, entry) if through_proxy else _ports(readers or _other_members(direct))
    read, schema = read or _ports(readers) or write, schema_of(entry)
    ours = [node for node in servers if node.has_container]
    return ProbePlan(write, read, ours, schema, trial.rates, trial.timeout_s, seed=seed)


def _other_members(servers: Sequence[StackNode]) -> Sequence[StackNode]:
    """Of a cluster whose every member takes writes, those that are read while the first one is written to."""
    return [node for node in servers[1:] if node.topology not in (None, "single")]


def _ports(nodes: Sequence[StackNode]) -> list[tuple[str, int]]:
    return [(node.name, node.port) for node in nodes if node.port is not None]


def _read_port(stack: RunningStack, entry: EntryPoint) -> list[tuple[str, int]]:
    """The proxy's port for reads, where it has one."""
    with suppress(SandboxError):
        return [(entry.node, stack.entry_point(f"{entry.node}:ro").port)]
    return []


def prepare_ledger(run: Run) -> None:
    """An empty ledger on every server, and the load's data where there is a load.

    Raises RunEndedError where a server that follows the writer does not get it.
    """
    if _trial(run).loaded:
        run.preparation = run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))
    session, schema = run.session, schema_of(run.session.entry)
    make_ledger(session, schema)
    if behind := wait_for_readers(session, schema, followers(session.servers, session.writer.node)):
        raise RunEndedError("infra_error", f"the ledger is not on every server: {states(behind)}")


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
    favour_probe(run)
    run.sampler = Sampler(run.stack, session.client, run.live_servers, run.keep("samples", "samples.jsonl"))
    run.closing.enter_context(run.sampler)
    plan = probe_plan(run.stack, session.entry, run.nodes, run.roles, trial, session.seed)
    run.probe = RunningProbe(run.stack, session.client, plan, run.keep("probe", "probe.log"))
    run.closing.callback(run.probe.close)
    run.probe.wait_for_writes()


def favour_probe(run: Run) -> None:
    """Gives the client node precedence where processors are short: a probe that waits for one measures the host."""
    client = run.stack.control(run.session.client)
    run.closing.callback(client.weigh, 1)
    client.weigh(PROBE_WEIGHT)


def break_and_heal(run: Run) -> None:
    """The schedule, then the wait until the stack is whole again, and a tail for what a brownout needs."""
    trial, probe = _trial(run), _probe(run)
    clock = probe.clock()
    run.timeline.clock_us = clock.uncertainty_us
    breaking = _breaking(run)
    conductor = Conductor(run, probe, breaking, clock)
    run.closing.callback(conductor.close)
    run.closing.callback(breaking.close)  # last in, first out: what is broken is healed before anything else ends
    with refusals():
        conductor.carry_out(trial.schedule.in_time())
        conductor.wait_until_whole(trial.redundancy_limit_s)
        time.sleep(TAIL_S)
        run.timeline.end_us = clock.probe_us(time.monotonic_ns())
        probe.stop()
        breaking.close()
        conductor.close()
    if run.sampler is not None:
        run.sampler.end()
    if run.load is not None:
        run.load.save(run.keep("load_seconds", "load-seconds.csv"), clock.probe_us)


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
    group, schema, roles = run.session.entry.group_index, schema_of(run.session.entry), run.stack.roles()
    servers = [node for node in run.nodes if node.is_server and node.group_index == group]
    there, gone = reachable(run.stack, followers(servers, run.session.writer.node))
    end_abandoned(run.session, there)
    writer = next((each for each in there if roles.get(each.name) == "writer" or not each.has_container), None)
    session, behind = run.session, dict[str, str]()
    if writer is not None and writer.port is not None:
        entry = replace(session.writer, node=writer.name, host=writer.host, port=writer.port)
        session = replace(session, writer=entry)
        behind = wait_for_readers(session, schema, there)
    readings = read_ledgers_of(session, schema, there)
    readings |= {name: NodeReading(None, None, state) for name, state in gone.items()}
    after, _ = take_snapshots(run.stack, session.client, there)
    run.refused = connections_refused(run.before, after)
    known = {name: state for name, state in after.items() if name in run.before}
    run.after = {name: state for name, state in known.items() if not restarted(run.before[name], state)}
    judge_trial(run, writer.name if writer else None, readings, behind)


TRIAL_STEPS: dict[str, Callable[[Run], None]] = {
    "prove settings": prove_settings,
    "prepare": prepare_ledger,
    "probe": start_probe,
    "faults": break_and_heal,
    "ledger": read_ledgers,
}


def trial_s(trial: TrialRequest) -> float:
    """About how long a trial takes, without its stack's start: the schedule, the way back, the tail, the ledgers."""
    ends = [step.end_s or step.at_s + _typical_s(step) for step in trial.schedule.steps]
    return max(ends, default=0.0) + TYPICAL_RETURN_S + TAIL_S + OTHER_S + (CAPACITY_S if trial.loaded else 0)


def _typical_s(step: Step) -> float:
    if step.action is not None:
        return action_named(step.action, step.options).typical_s
    return BACK_S + TYPICAL_OUTAGE_S


def schema_of(entry: EntryPoint) -> str:
    """On a server of ours the ledger stands beside the sandbox's own tables; elsewhere in the load's schema."""
    return entry.schema if entry.via == "external" else "sandbox"


def _trial(run: Run) -> TrialRequest:
    if run.request.trial is None:
        raise TypeError("the run is no trial")
    return run.request.trial


def _probe(run: Run) -> RunningProbe:
    if run.probe is None:
        raise TypeError("the probe was not started")
    return run.probe
