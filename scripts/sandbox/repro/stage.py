"""The stage of a repro: a running stack, its sessions, what was broken on it, loads beside."""

import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path

from sandbox.core.errors import SandboxError
from sandbox.failure.breaker import Breaking
from sandbox.failure.fault import FaultRequest
from sandbox.failure.guard import Guard
from sandbox.failure.targets import chosen_nodes
from sandbox.load.common.registry import NamedWorkload
from sandbox.load.common.workload import Session, WorkloadError
from sandbox.measure.run import AT_WORK, writer_for
from sandbox.measure.trial.load_beside import NicedStack
from sandbox.record.repro import StepRecord
from sandbox.repro.sessions import Sessions
from sandbox.repro.step import USUAL_S, EndedLoad, SqlPlace, StepError
from sandbox.stack.client_python import ask, targets_of
from sandbox.stack.protocol import RunningStack, StackNode

SCHEMA = "repro"
_READERS = ("reader", "one-reader")


@dataclass
class LiveStage:
    """A stack on which one repro is carried out, from `begin` until `close`."""

    stack: RunningStack
    session: Session
    sessions: Sessions
    keep: Callable[[str, str], Path]
    """Path of a file beside the record, by its label and its name."""
    schema: str = SCHEMA
    patience_s: float | None = None
    """The most that any statement may take, whatever its own `within`; None: what that says."""
    steps: list[StepRecord] = field(default_factory=list)
    began_utc: datetime = field(default_factory=lambda: datetime.now(UTC))
    closing: ExitStack = field(default_factory=ExitStack)
    load_failures: list[str] = field(default_factory=list)
    """Why loads ended that ran beside steps."""
    _began_ns: int = 0
    _places: dict[str, SqlPlace] = field(default_factory=dict)
    _injected: dict[str, str] = field(default_factory=dict)
    """Key → fault, of what is not healed yet."""
    _turn: threading.Lock = field(default_factory=threading.Lock)

    @property
    def client(self) -> str:
        """The node that has the sessions and the loads."""
        return self.session.client

    @cached_property
    def breaking(self) -> Breaking:
        """A guard of its own, once a step breaks something: it heals even if we are killed."""
        guard = Guard(self.stack)
        self.closing.callback(guard.close)
        return guard

    def begin(self) -> None:
        """The time from which all others count."""
        self.began_utc = datetime.now(UTC)
        self._began_ns = time.monotonic_ns()

    def close(self) -> None:
        """Ends its loads, heals what is broken, ends its sessions. Raises SandboxError where it
        cannot be healed.
        """
        try:
            self.closing.close()
        finally:
            self._kill_pending()
            self.sessions.close_all()

    def _kill_pending(self) -> None:
        """Ends statements that still wait: a server does not notice that their client has gone."""
        for session, sent in self.sessions.pending.items():
            server = self.server_of(session)
            if server is not None and sent.connection is not None:
                with suppress(SandboxError, TimeoutError):
                    ask(self.stack, self.client, targets_of([server]), [f"KILL {sent.connection}"])

    def limit_s(self, within: float | None) -> float:
        limit_s = within or USUAL_S
        return limit_s if self.patience_s is None else min(limit_s, self.patience_s)

    def servers(self) -> list[StackNode]:
        return [node for node in self.stack.nodes() if node.is_server and node.port is not None]

    def place(self, word: str | None) -> SqlPlace:
        if word in (None, "writer", *_READERS):
            return self._of_role("writer" if word in (None, "writer") else "reader")
        server = next((node for node in self.servers() if node.name == word), None)
        if server is not None:
            return _of_server(server)
        try:
            entry = self.stack.entry_point(word)
        except SandboxError as problem:
            raise StepError(f"@{word}: {problem.what}; {problem.known}") from problem
        return SqlPlace(entry.node, entry.host, entry.port, "app")

    def node(self, word: str | None) -> str:
        if word in {node.name for node in self.stack.nodes()}:
            return str(word)
        return self.place(word).node

    def node_of(self, session: str) -> str | None:
        at = self.sessions.host_of(session)
        return next((node.name for node in self.stack.nodes() if node.host == at), None)

    def server_of(self, session: str) -> StackNode | None:
        at = self.sessions.host_of(session)
        return next((node for node in self.servers() if node.host == at), None)

    def hit(self, target: str) -> list[str]:
        try:
            return chosen_nodes(self.stack, target, None, self.session.seed)
        except SandboxError as problem:
            raise StepError(f"{problem.what}; {problem.known}") from problem

    def inject(self, request: FaultRequest, length_s: float | None) -> Mapping[str, str]:
        key = str(len(self.steps) + 1)
        self.breaking.prepare(key, request)
        with self._turn:
            injection = self.breaking.inject(key)
            self._injected[key] = request.fault
        if length_s is not None:
            timer = threading.Timer(length_s, self._heal_in_time, (key,))
            timer.daemon = True
            self.closing.callback(timer.cancel)
            timer.start()
        return injection.missing

    def heal(self, fault: str | None) -> bool:
        keys = [key for key, name in self._injected.items() if fault in (None, name)]
        for key in reversed(keys):
            self._heal(key)
        return bool(keys)

    def load(
        self, workload: NamedWorkload, via: str | None, threads: int, length_s: int, beside: bool
    ) -> EndedLoad:
        niced = NicedStack(self.stack)
        entry = self.session.entry if via is None else self.stack.entry_point(via)
        given = {"threads": threads, "seconds": length_s, "warmup_s": 0}
        parameters = self.session.parameters.model_copy(update=given)
        roles = self.stack.roles()
        servers = [node for node in self.servers() if roles.get(node.name) in AT_WORK]
        writer = writer_for(entry, servers, roles, self.stack.name)
        session = replace(
            self.session, entry=entry, writer=writer, parameters=parameters, servers=servers
        )
        label = f"load_{len(self.steps) + 1}"
        workload.workload.prepare(session, self.keep(f"{label}_prepare", f"{label}-prepare.log"))
        running = replace(session, stack=niced.as_stack())
        log = self.keep(label, f"{label}.log")
        if not beside:
            return _loaded(workload, running, log)

        ended = threading.Event()

        def run_beside() -> None:
            failure = _loaded(workload, running, log).failure
            if failure is not None and not ended.is_set():  # by itself, not by us
                self.load_failures.append(f"{workload.name}: {failure}")

        thread = threading.Thread(target=run_beside, daemon=True)
        thread.start()
        self.closing.callback(thread.join, 15.0)
        self.closing.callback(niced.end)
        self.closing.callback(ended.set)
        return EndedLoad()

    def now_ms(self) -> float:
        return (time.monotonic_ns() - self._began_ns) / 1e6

    def session_ms(self, us: int | None) -> float:
        if us is None:
            return self.now_ms()
        return max(0.0, (self.sessions.our_ns(us) - self._began_ns) / 1e6)

    def _heal(self, key: str) -> None:
        with self._turn:
            if key in self._injected:
                self.breaking.heal(key)
                del self._injected[key]

    def _heal_in_time(self, key: str) -> None:
        with suppress(SandboxError):  # the guard tries again when the repro ends, and says why
            self._heal(key)

    def _of_role(self, role: str) -> SqlPlace:
        servers = self.servers()
        if role == "writer" and len(servers) == 1:  # it is always meant
            return _of_server(servers[0])
        roles = self.stack.standing(with_readiness=False).roles
        found = next((each for each in servers if roles.get(each.name) == role), None)
        if found is None:
            said = ", ".join(f"{name} {each or 'no role'}" for name, each in roles.items())
            raise StepError(f"there is no {role} ({said})")
        return _of_server(found)


def _of_server(server: StackNode) -> SqlPlace:
    assert server.port is not None  # noqa: S101  (one without a port is no server to ask)
    account = "root" if server.has_container else "app"
    return SqlPlace(server.name, server.host, server.port, account)


def _loaded(workload: NamedWorkload, session: Session, log: Path) -> EndedLoad:
    try:
        outcome = workload.workload.load(session, "measure", log)
    except (WorkloadError, SandboxError) as problem:
        return EndedLoad(failure=str(problem))
    return EndedLoad(outcome.failure, outcome.metrics.tps)
