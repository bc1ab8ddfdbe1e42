"""A repro on a running stack: its data, its steps, what is expected, and its record."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.consistency.oracle import compare_stack
from sandbox.consistency.verdict import checks_of
from sandbox.core.errors import SandboxError
from sandbox.judge.repros import verdict_of
from sandbox.load.common.registry import resolve_workload
from sandbox.load.common.workload import Parameters, Progress
from sandbox.measure.counters import ServerState, take_snapshots
from sandbox.measure.execute import Procedure
from sandbox.measure.run import (
    NO_LOAD,
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
from sandbox.record.record import CheckRecord, Environment, Record
from sandbox.record.redaction import mask
from sandbox.record.repro import ExpectationRecord, ReproRecord, Side, StepRecord
from sandbox.repro.affected import expected_side
from sandbox.repro.definition import Data, Repro
from sandbox.repro.dump_loading import DumpError, load_dump
from sandbox.repro.evidence import keep_evidence
from sandbox.repro.expectation import Expectation
from sandbox.repro.sessions import Sessions
from sandbox.repro.stage import SCHEMA, LiveStage
from sandbox.repro.step import StepError
from sandbox.stack.client_python import QueryResult, Target, ask, targets_of
from sandbox.stack.protocol import StackNode, followers

PREPARE = "prepare"
STEPS = "steps"
_CHUNK = 1000
"""Generated rows in one statement."""
_DATA_S = 600.0
_EVERYWHERE_S = 60.0
_FIRST_LOOK_S = 0.005
_LOOK_S = 0.05
"""The last of the times between two looks, which become longer from the first one on."""


@dataclass
class SharedByRepeats:
    """What the repeats on one stack share, so that it is asked for once and not by each."""

    sessions: Sessions
    states: Mapping[str, ServerState]
    """Its servers as they were seen last, which is just before the next repeat."""
    environment: Environment = field(default_factory=Environment)
    proofs: list[CheckRecord] | None = None
    """That its settings and variables are in effect; None: not proved yet."""
    logged: set[tuple[str, str]] = field(default_factory=set)
    """Cells and verdicts whose repeats have kept the logs: those of the next ones say no more."""


@dataclass(frozen=True)
class ReproRequest(RunRequest):
    """The request to carry out a repro once. ``shared``: of the stack, None where it has none;
    ``evidence``: whether that of the stack is kept after a crash, a hang or what nobody expected.
    """

    repro: Repro | None = None
    shared: SharedByRepeats | None = None
    patience_s: float | None = None
    """The most that any statement may take, whatever its own `within`; None: what that says."""
    evidence: bool = True

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def has_load(self) -> bool:
        return False

    @property
    def asked(self) -> Repro:
        """Its repro."""
        assert self.repro is not None  # noqa: S101  (a request is made with one)
        return self.repro


def request_of(repro: Repro, seed: int | None, command: Sequence[str]) -> ReproRequest:
    """The request for a repro; its steps bring their own loads."""
    return ReproRequest(
        resolve_workload(NO_LOAD), Parameters(), None, seed, tuple(command), repro=repro
    )


@dataclass
class ReproRun(Run[ReproRequest]):
    """A repro in progress."""

    stage: LiveStage | None = None
    trouble: str | None = None
    """Why the steps ended before the last one."""
    seconds: float = 0.0
    judged: ReproRecord | None = None

    @property
    def on(self) -> LiveStage:
        """The stage of its steps."""
        assert self.stage is not None  # noqa: S101  (made when it opens)
        return self.stage

    @property
    def logged_nodes(self) -> Sequence[StackNode]:
        """None where an earlier repeat of the cell on this stack came to the same."""
        shared = self.request.shared
        if shared is None or self.judged is None or self.judged.verdict == "unknown":
            return self.nodes
        return () if (self.cell, self.judged.verdict) in shared.logged else self.nodes

    def completed(self, record: Record) -> Record:
        return record.model_copy(update={"repro": self.judged})


def open_repro(opening: Opening[ReproRequest], place: RunPlace) -> ReproRun:
    """The run before its first step."""
    run = open_run(ReproRun, opening, place)
    shared = opening.request.shared
    if shared is None:
        sessions = Sessions(opening.stack, opening.session.client)
        run.closing.callback(sessions.close)
    else:
        sessions = shared.sessions
        run.environment = shared.environment
    run.stage = LiveStage(opening.stack, opening.session, sessions, run.keep)
    run.stage.patience_s = opening.request.patience_s
    run.closing.callback(run.stage.close)
    return run


def prepare(run: ReproRun) -> None:
    """What the servers are, then an empty schema with the repro's data, on every server."""
    shared = run.request.shared
    if shared is None:
        run.before, _ = take_snapshots(run.stack, run.session.client, run.live_servers)
    else:
        run.before = dict(shared.states)
    _prove(run)
    run.on.sessions.start()
    through_proxy = any(node.kind == "proxy" and node.port for node in run.nodes)
    grants = [f"GRANT ALL ON {SCHEMA}.* TO sbtest@'%'"] if through_proxy else []
    fresh = [f"DROP DATABASE IF EXISTS {SCHEMA}", f"CREATE DATABASE {SCHEMA}", *grants]
    _on_writer(run, fresh, None)
    _on_independent(run, fresh)
    _make_data(run, run.request.asked.load)
    _wait_everywhere(run)


def _prove(run: ReproRun) -> None:
    """Once a stack: the variables of every later repeat are compared with those of a new one."""
    shared = run.request.shared
    if shared is not None and shared.proofs is not None:
        if run.block == 1:
            run.checks += shared.proofs
        return
    prove_settings(run)
    prove_assignments(run)
    if shared is not None:
        shared.proofs = list(run.checks)


def _on_writer(run: ReproRun, statements: Sequence[str], schema: str | None = SCHEMA) -> None:
    at = run.session.writer
    target = Target(at.node, at.host, at.port, "root", schema)
    answer = ask(run.stack, run.session.client, [target], statements, _DATA_S)[at.node]
    if answer.error:
        raise RunEndedError("failed", f"its data cannot be made: {answer.error}")


def _followers(run: ReproRun) -> list[StackNode]:
    """The servers that get what the writer has."""
    writer = run.session.writer.node
    found = followers(run.session.servers, writer)
    return [server for server in found if server.name != writer]


def _on_independent(run: ReproRun, statements: Sequence[str]) -> None:
    """The empty schema on servers that follow nobody: sessions are in it there, too."""
    with_data = {run.session.writer.node, *(server.name for server in _followers(run))}
    others = [server for server in run.session.servers if server.name not in with_data]
    if not others:
        return
    answers = ask(run.stack, run.session.client, targets_of(others), statements, _DATA_S)
    for name, answer in answers.items():
        if answer.error:
            raise RunEndedError("failed", f"{name}: its schema cannot be made: {answer.error}")


def _make_data(run: ReproRun, data: Data) -> None:
    if data.file:
        try:
            load_dump(run.stack, run.session.client, run.session.writer, Path(data.file), SCHEMA)
        except DumpError as problem:
            raise RunEndedError("failed", f"load.file: {problem}") from problem
    if data.sql:
        session = "load"
        place = run.on.place(None)
        sessions = run.on.sessions
        sessions.open(session, place.host, place.port, place.account, SCHEMA)
        sent = sessions.send(session, [data.sql])
        if not sessions.wait(sent, _DATA_S) or sent.error is not None:
            raise RunEndedError("failed", f"its data cannot be made: {sent.error or 'no answer'}")
        sessions.close_session(session)
    for table, rows in data.rows.items():
        for first in range(1, rows.count + 1, _CHUNK):
            numbers = range(first, min(first + _CHUNK, rows.count + 1))
            values = ", ".join(f"({rows.values.replace('{n}', str(n))})" for n in numbers)
            _on_writer(run, [f"INSERT INTO {table} VALUES {values}"])  # noqa: S608  (the user's)


def _wait_everywhere(run: ReproRun) -> None:
    """Until every server that follows has the schema and its data."""
    servers = _followers(run)
    if not servers:
        return
    mark = f"CREATE TABLE {SCHEMA}.sandbox_is_here (id int primary key)"
    _on_writer(run, [mark], None)
    question = f"SHOW TABLES FROM {SCHEMA} LIKE 'sandbox_is_here'"
    end_s = time.monotonic() + _EVERYWHERE_S
    pause_s = _FIRST_LOOK_S
    while without := _without(run, servers, question):
        if time.monotonic() > end_s:
            text = "; ".join(f"{name}: {why}" for name, why in without.items())
            raise RunEndedError("infra_error", f"the data is not on every server: {text}")
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, _LOOK_S)
    _on_writer(run, [f"DROP TABLE {SCHEMA}.sandbox_is_here"], None)


def _without(run: ReproRun, servers: Sequence[StackNode], question: str) -> dict[str, str]:
    targets = targets_of(servers)
    answers: dict[str, QueryResult] = ask(run.stack, run.session.client, targets, [question])
    return {
        name: answer.error or "not there yet"
        for name, answer in answers.items()
        if not (answer.rows(0) and answer.rows(0)[0][0])
    }


def carry_out(run: ReproRun) -> None:
    """Every step in turn. One that does not go as the file says ends them; so does one that cannot
    be carried out.
    """
    stage = run.on
    stage.begin()
    for number, step in enumerate(run.request.asked.steps, 1):
        run.session.on_event(Progress(f"step {number}", step.text))
        try:
            record = step.carry_out(stage, number)
        except StepError as problem:
            run.trouble = f"step {number} ({step.text}) cannot be carried out: {problem}"
            return
        except TimeoutError as problem:
            run.trouble = f"step {number} ({step.text}): {problem}"
            return
        stage.steps.append(record)
        if record.problem and not record.name:
            return


def judge(run: ReproRun) -> None:
    """Looks at what is expected, and says what that means."""
    stage = run.on
    repro = run.request.asked
    expectations: list[ExpectationRecord] = []
    has_failed = any(each.problem and not each.name for each in stage.steps)
    if run.trouble is None and not has_failed:
        for side, each in _by_side(repro):
            expectations.append(_looked(stage, side, each))
    run.seconds = stage.now_ms() / 1000
    _record(run, expectations)
    if run.request.evidence:
        keep_evidence(run, run.judged)
    stage.close()
    run.consistency = compare_stack(run.stack, run.session.client)
    run.checks += checks_of(run.consistency)
    # With a fault this is what was to be expected; whether it is says the reader.
    run.checks += [
        CheckRecord(name="load_beside", verdict="unknown", detail=failure)
        for failure in stage.load_failures
    ]


def _by_side(repro: Repro) -> list[tuple[Side, Expectation]]:
    return [
        *(("bug", each) for each in repro.expect.bug),
        *(("fixed", each) for each in repro.expect.fixed),
    ]


def _looked(stage: LiveStage, side: Side, expectation: Expectation) -> ExpectationRecord:
    try:
        found = expectation.look(stage)
        met, seen = found.met, found.seen
    except (SandboxError, TimeoutError) as problem:
        met, seen = None, str(problem)
    return ExpectationRecord(side=side, text=expectation.text, met=met, seen=seen)


def _record(run: ReproRun, expectations: Sequence[ExpectationRecord]) -> None:
    repro = run.request.asked
    verdict, seen = verdict_of(run.on.steps, expectations, run.trouble)
    writer = run.before.get(run.session.writer.node)
    family = next((node.family for node in run.nodes if node.family is not None), None)
    version = writer.version if writer else None
    expected = expected_side(repro.affected, family, version) if family and version else None
    run.judged = ReproRecord(
        name=repro.name,
        title=repro.title,
        question=repro.question,
        links=repro.links,
        sha256=repro.sha256,
        verdict=verdict,
        seen=mask(seen, run.secrets),
        expected=expected,
        version=version,
        seconds=round(run.seconds, 3),
        steps=[_masked(each, run.secrets) for each in run.on.steps],
        expectations=[_masked(each, run.secrets) for each in expectations],
    )
    run.checks += _checks(run.judged)


def _masked(part: StepRecord | ExpectationRecord, secrets: frozenset[str]) -> object:
    return type(part).model_validate_json(mask(part.model_dump_json(), secrets))


def _checks(judged: ReproRecord) -> list[CheckRecord]:
    """One for each expectation: of the side that is expected, or else of the bug."""
    side = judged.expected or "bug"
    found = []
    for number, each in enumerate((e for e in judged.expectations if e.side == side), 1):
        verdict = "unknown" if each.met is None else "pass" if each.met else "fail"
        detail = f"{each.text}: {each.seen}"
        found.append(CheckRecord(name=f"{side}_{number}", verdict=verdict, detail=detail))
    return found


def keep_figures(run: ReproRun) -> list[str]:
    """What was interrupted has no verdict; its steps so far are kept, and what is broken heals."""
    said = []
    try:
        run.trouble = "interrupted"
        _record(run, [])
        run.on.close()
    except SandboxError as error:
        said.append(f"{error.what}: {error.known}")
    return said


def died(run: ReproRun) -> dict[str, str]:
    """Nodes that ended before the first step: later it is what the repro shows."""
    return {} if run.on.steps else nodes_lost(run)


REPRO = Procedure(
    "repro", open_repro, {PREPARE: prepare, STEPS: carry_out, "expectations": judge}, died,
    keep_figures,
)  # fmt: skip
