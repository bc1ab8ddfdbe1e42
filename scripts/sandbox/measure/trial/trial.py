"""One trial: the prober writes and reads while faults and actions come by a schedule; then every
ledger is read.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sandbox.consistency.oracle import compare
from sandbox.consistency.sets import sets_of
from sandbox.core.errors import ExitCode, SandboxError, states
from sandbox.failure.actions.common.joining import final_states
from sandbox.failure.breaker import Breaking
from sandbox.failure.guard import Guard
from sandbox.load.common.workload import Event, Progress, Session
from sandbox.measure.counters import connections_refused, restarted, take_snapshots
from sandbox.measure.execute import EXIT_CODES, Procedure, run_alone
from sandbox.measure.run import (
    Opening,
    RunEndedError,
    RunPlace,
    idle_servers,
    nodes_lost,
    open_run,
    prove_assignments,
    prove_settings,
)
from sandbox.measure.sampler import Sampler
from sandbox.measure.trial.conductor import Conductor, prepare_first
from sandbox.measure.trial.driver_client import DriverClient
from sandbox.measure.trial.ledger_on_servers import (
    OF_DRIVER,
    NodeReading,
    end_abandoned,
    make_ledger,
    reachable,
    read_ledgers_of,
    schema_of,
    wait_for_readers,
)
from sandbox.measure.trial.load_beside import TrialLoad, giving_way
from sandbox.measure.trial.prober import ClockOffset, Prober
from sandbox.measure.trial.result import is_brownout_over, judge_trial
from sandbox.measure.trial.run import TrialRequest, TrialRun, driver_plan, prober_plan
from sandbox.measure.trial.watch import ChangeLog
from sandbox.record.consistency import ConsistencyRecord
from sandbox.record.record import CheckRecord, Record, Status
from sandbox.record.store import ResultFolder
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import RunningStack, StackNode, followers

TAIL_S = 6.0
"""The prober goes on for so long after the stack is whole: a brownout ends with five good
seconds.
"""
BROWNOUT_LIMIT_S = 60.0
"""…and for so much longer, where a brownout has not ended by then."""
_BROWNOUT_LOOK_S = 2.0
PROBER_WEIGHT = 16
"""Of the client node beside a server's 1, while the prober runs; load and sampler give way within
it (`NICENESS`).
"""
_STATUS: Mapping[ExitCode, Status] = {
    ExitCode.BAD_INPUT: "failed",
    ExitCode.FAILED: "failed",
    ExitCode.UNKNOWN: "skipped",
    ExitCode.ENVIRONMENT: "infra_error",
}


def trial(
    stack: RunningStack, request: TrialRequest, results: Path, on_event: Callable[[Event], None]
) -> tuple[Record, ResultFolder]:
    """Breaks a stack once; as `run_alone`, which says what it leaves and raises."""
    return run_alone(TRIAL, stack, request, results, on_event)


def exit_code(record: Record) -> ExitCode:
    """1 also for a trial that went well and found what must not be, such as a lost write."""
    failed = any(check.verdict == "fail" for check in record.checks)
    return ExitCode.FAILED if record.status == "ok" and failed else EXIT_CODES[record.status]


def open_trial(opening: Opening[TrialRequest], place: RunPlace) -> TrialRun:
    """The trial before its first step: its guard is there from here on, its prober waits."""
    beside = {"prober": _prober(opening), "driver": _driver(opening)}
    run = open_run(TrialRun, opening, place, breaking=_breaking(opening.stack), **beside)
    run.closing.callback(run.breaking.close)
    return run


def _breaking(stack: RunningStack) -> Breaking:
    """A guard in a process of its own: it heals even if this process is killed."""
    return Guard(stack)


def _prober(opening: Opening[TrialRequest]) -> Prober:
    """The prober by its plan; what it observes of the servers' states is shown as events."""
    stack = opening.stack
    session = opening.session
    request = opening.request
    seed = session.seed
    plan = prober_plan(stack, session.entry, opening.nodes, opening.roles, request, seed)
    changes = ChangeLog(plan.observe, lambda text: session.on_event(Progress("state", text)))
    return Prober(stack, session.client, plan, changes.take)


def _driver(opening: Opening[TrialRequest]) -> DriverClient | None:
    """The driver by its plan, where one is asked for."""
    session = opening.session
    plan = driver_plan(session.entry, opening.nodes, opening.request, session.seed)
    return DriverClient(opening.stack, session.client, plan) if plan else None


def prepare_ledger(run: TrialRun) -> None:
    """An empty ledger on every server, and the data of the workload, whether it runs or not.

    Raises RunEndedError where a server that is read in the end does not get it.
    """
    _refuse_idle(run)
    run.preparation = run.workload.prepare(run.session, run.keep("prepare_log", "prepare.log"))
    session = run.session
    schema = schema_of(run.session.entry)
    make_ledger(session, schema, *([OF_DRIVER] if run.driver else []))
    servers = followers(session.servers, session.writer.node)
    if behind := wait_for_readers(session, servers):
        why = behind | _broken(run, servers)  # an error of replication says more than an old row
        raise RunEndedError("infra_error", f"the ledger is not on every server: {states(why)}")


def _refuse_idle(run: TrialRun) -> None:
    """A server that neither writes nor follows the writer would keep an earlier ledger, whose ids
    are the same.
    """
    option = name_option(run.stack.name)
    step = f"make ps{option} shows why; make down{option} and make up start a stack that is whole"
    servers = followers(run.servers_of_group, run.session.writer.node)
    if idle := idle_servers(servers, run.roles):
        raise RunEndedError(
            "infra_error",
            f"a server neither writes nor follows the writer: {states(idle)} ({step})",
        )
    if broken := _broken(run, servers):
        raise RunEndedError(
            "infra_error", f"a server does not get what is written: {states(broken)} ({step})"
        )


def _broken(run: TrialRun, servers: Sequence[StackNode]) -> dict[str, str]:
    """Servers that have left their cluster, or whose replication has stopped with an error; each
    with why.
    """
    names = {server.name for server in servers}
    return final_states(names, run.stack.readiness())


def start_prober(run: TrialRun) -> None:
    """The prober and its load, before anything breaks; and what the servers are before it."""
    session = run.session
    before, silent = take_snapshots(run.stack, session.client, run.live_servers)
    if silent:
        raise RunEndedError("infra_error", f"a server does not answer: {states(silent)}")
    run.before = before
    prove_assignments(run)
    if run.request.loaded:
        load = TrialLoad(run)
        run.closing.callback(load.stop)
        run.load = load
    favour_prober(run)
    _start_sampler(run)
    with refusals():
        prepare_first(run, run.request.schedule.in_time())
    if run.driver is not None:  # before the prober, whose slots its start would delay
        run.driver.start(run.keep("driver", "driver.log"))
        run.closing.callback(run.driver.close)
    run.prober.start(run.keep("probe", "probe.log"))
    run.closing.callback(run.prober.close)
    run.prober.wait_for_writes()
    if run.driver is not None:
        run.driver.begin_slots(run.prober.began_ns)
        run.driver.wait_for_writes()


def _start_sampler(run: TrialRun) -> None:
    """The sampler gives way to the prober; it runs until the prober has ended."""
    path = run.keep("samples", "samples.jsonl")
    sampler = Sampler(giving_way(run.stack), run.session.client, run.live_servers, path)
    run.closing.callback(run.sampling.close)
    run.sampling.enter_context(sampler)
    sampler.wait_for_first()


def favour_prober(run: TrialRun) -> None:
    """Gives the client node precedence where processors are short: a prober that waits for one
    measures the host.

    The guard is there already: it takes the precedence back where this process is killed.
    """
    client = run.stack.control(run.session.client)
    run.closing.callback(client.weigh, 1)
    client.weigh(PROBER_WEIGHT)


def break_and_heal(run: TrialRun) -> None:
    """The schedule, then the wait until the stack is whole again, and a tail for what a brownout
    needs.
    """
    clock = run.prober.clock()
    run.timeline.clock_us = clock.uncertainty_us
    conductor = Conductor(run, clock)
    run.closing.callback(conductor.close)
    # Last in, first out: what is broken is healed before anything else ends.
    run.closing.callback(run.breaking.close)
    with refusals():
        conductor.carry_out(run.request.schedule.in_time())
        conductor.wait_until_whole(run.request.redundancy_limit_s)
        time.sleep(TAIL_S)
        _outlast_brownout(run, clock)
        if run.driver is not None:
            run.driver.is_back_within()
        run.timeline.end_us = clock.prober_us(time.monotonic_ns())
        _stop_clients(run)
        run.breaking.close()
        conductor.close()
    run.sampling.close()
    if run.load is not None:
        run.load.save(run.keep("load_seconds", "load-seconds.csv"), clock.prober_us)


def _stop_clients(run: TrialRun) -> None:
    """The driver first: whoever has the prober's newest row then has all of the driver's."""
    if run.driver is not None and run.driver.started:
        run.driver.stop()
    run.prober.stop()


def _outlast_brownout(run: TrialRun, clock: ClockOffset) -> None:
    """Until writes are as quick as before the fault again, bounded; what is open then is censored
    there.
    """
    end_s = time.monotonic() + BROWNOUT_LIMIT_S
    while time.monotonic() < end_s and not is_brownout_over(
        run, clock.prober_us(time.monotonic_ns())
    ):
        time.sleep(_BROWNOUT_LOOK_S)


@contextmanager
def refusals() -> Iterator[None]:
    """Turns what cannot be done into the end of the run: a wrong target, a fault that this machine
    cannot have.
    """
    try:
        yield
    except SandboxError as error:
        if error.exit_code not in _STATUS:
            raise
        raise RunEndedError(_STATUS[error.exit_code], f"{error.what}: {error.known}") from error


def read_ledgers(run: TrialRun) -> None:
    """Every node's rows, once no abandoned statement is left; then the figures and the verdicts."""
    schema = schema_of(run.session.entry)
    has_ledger = run.load is not None and bool(run.workload.verdicts_of_ledger)
    if run.load is not None:  # several writers have no common position while one is written to
        run.load.stop()
    roles = run.stack.roles()
    there, gone = reachable(run.stack, followers(run.servers_of_group, run.session.writer.node))
    end_abandoned(run.session, there)
    writer = next(
        (each for each in there if roles.get(each.name) == "writer" or not each.has_container), None
    )
    session = run.session
    behind = dict[str, str]()
    idle = dict[str, str]()
    if writer is not None and writer.port is not None:
        entry = replace(session.writer, node=writer.name, host=writer.host, port=writer.port)
        session = replace(session, writer=entry)
        if run.timeline.whole_us is None:
            idle = idle_servers(there, roles)
        behind = wait_for_readers(session, [node for node in there if node.name not in idle])
        behind |= {name: f"out of its group ({role})" for name, role in idle.items()}
    readings = read_ledgers_of(session, schema, there)
    readings |= {name: NodeReading(None, None, state) for name, state in gone.items()}
    if has_ledger:
        run.checks += _ledger_of_load(run, replace(session, servers=there), writer)
    of_driver: dict[str, NodeReading] = {}
    if run.driver is not None:
        of_driver = read_ledgers_of(session, schema, there, OF_DRIVER)
    after, _ = take_snapshots(run.stack, session.client, there)
    run.refused = connections_refused(run.before, after)
    known = {name: state for name, state in after.items() if name in run.before}
    run.after = {
        name: state for name, state in known.items() if not restarted(run.before[name], state)
    }
    run.consistency = _compared(run, there, gone)
    judge_trial(run, writer.name if writer else None, readings, behind, idle, of_driver)


def _compared(
    run: TrialRun, there: Sequence[StackNode], gone: Mapping[str, str]
) -> list[ConsistencyRecord]:
    """The rows and the transactions of all servers behind the entry point.

    Behind a stack that is not whole it is the servers' own affair what they hold: the roles say
    which are out of their group.
    """
    run.session.on_event(Progress("rows", "comparing every table on all servers"))
    sets = sets_of(there, run.stack.roles())
    out = [replace(each, out={**each.out, **gone}) for each in sets]
    return [compare(run.stack, run.session.client, each) for each in out]


def _ledger_of_load(
    run: TrialRun, session: Session, writer: StackNode | None
) -> Sequence[CheckRecord]:
    """The verdicts on the load's own ledger; unknown where there is nobody to ask."""
    if writer is not None:
        return run.workload.judge_ledger(session)
    names = run.workload.verdicts_of_ledger
    return [
        CheckRecord(name=name, verdict="unknown", detail="there is no writer") for name in names
    ]


def died(run: TrialRun) -> dict[str, str]:
    """Nodes that ended before anything was broken: later it is what the trial measures."""
    return {} if run.timeline.steps else nodes_lost(run)


def keep_figures(run: TrialRun) -> list[str]:
    """Heals first; then the prober ends in order, and its log is judged up to now.

    What the reason of its record says about that.
    """
    said: list[str] = []
    try:
        if run.prober.is_running:
            _heal_and_end(run)
        if run.judged is None and "probe" in run.files:
            judge_trial(run, None, {}, {})
            said.append("its figures end there, and no ledger was read")
            if _has_no_driver_figures(run):
                said.append("the driver had not ended in order, and has no figures")
    except RunEndedError as end:  # a log that cannot be judged leaves no figures
        said.append(end.reason)
    except SandboxError as error:  # a fault that cannot be healed
        said.append(f"{error.what}: {error.known}")
    except KeyboardInterrupt:  # of the second one nothing but the healing is waited for
        pass
    return said


def _has_no_driver_figures(run: TrialRun) -> bool:
    judged = run.judged
    return run.driver is not None and judged is not None and judged.driver is None


def _heal_and_end(run: TrialRun) -> None:
    clock = run.prober.clock()
    timeline = run.timeline
    timeline.end_us = clock.prober_us(time.monotonic_ns())
    run.breaking.close()
    healed_us = clock.prober_us(time.monotonic_ns())
    for each in timeline.steps:
        if each.step.fault is not None and each.healed_us is None:
            each.heal_began_us = timeline.end_us
            each.healed_us = healed_us
    _stop_clients(run)


STEPS: dict[str, Callable[[TrialRun], None]] = {
    "prove settings": prove_settings,
    "prepare": prepare_ledger,
    "prober": start_prober,
    "faults": break_and_heal,
    "ledger": read_ledgers,
}
TRIAL = Procedure("trial", open_trial, STEPS, died, keep_figures)
