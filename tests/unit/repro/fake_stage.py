"""A stage without servers: sessions answer from a script, faults and states are noted."""

import itertools
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from sandbox.failure.fault import FaultRequest
from sandbox.record.repro import StepRecord
from sandbox.repro.sessions import Sent
from sandbox.repro.step import ReproStep, SqlPlace, Stage, StepError, step_of
from sandbox.stack.protocol import ExecResult, StackNode
from sandbox.stack.server_status import ServerStatus
from unit.fake_stack import server

Answer = Mapping[str, Any] | None
"""Fields of what comes of a statement; None: it does not end."""


class FakeSessions:
    """Answers by ``script``: SQL → what comes, or what comes the first, second, … time."""

    def __init__(self, script: Mapping[str, Answer | Sequence[Answer]]) -> None:
        self._script = {
            sql: itertools.chain(each, itertools.repeat(each[-1]))
            if isinstance(each, Sequence)
            else itertools.repeat(each)
            for sql, each in script.items()
        }
        self.pending: dict[str, Sent] = {}
        self.sent: list[tuple[str, tuple[str, ...]]] = []
        self.places: dict[str, str] = {}
        self.closed: list[str] = []
        self.half: list[str] = []
        self.was_cut: list[str] = []

    def is_open(self, session: str) -> bool:
        return session in self.places

    def host_of(self, session: str) -> str | None:
        return self.places.get(session)

    def open(self, session: str, host: str, *_: object) -> None:
        self.places[session] = host

    def send(
        self, session: str, sql: Sequence[str], warnings: bool = False, half: bool = False
    ) -> Sent:
        self.sent.append((session, tuple(sql)))
        self.half += [sql[-1]] if half else []
        came = next(self._script[sql[-1]]) if sql[-1] in self._script else {}
        if came is None:
            return Sent(session, began_us=0, connection=7)
        fields = {key: value for key, value in came.items() if key != "took_us"}
        return Sent(session, began_us=0, ended_us=came.get("took_us", 1000), **fields)

    def wait(self, sent: Sent, _limit_s: float) -> bool:
        return sent.ended_us is not None

    def cut(self, session: str) -> None:
        self.pending.pop(session, None)
        self.was_cut.append(session)

    def close_session(self, session: str) -> None:
        self.places.pop(session, None)
        self.closed.append(session)

    def connections(self) -> dict[int, str]:
        return {7: "s2"}


class FakeStack:
    """The stack of a fake stage: logs, states, shell lines."""

    def __init__(self) -> None:
        self.logs: dict[str, str] = {}
        self.states: dict[str, ServerStatus] = {}
        self.ran: list[tuple[str, tuple[str, ...]]] = []
        self.result = ExecResult(0, "", "")

    def log(self, node: str, _since: datetime | None = None) -> str:
        return self.logs.get(node, "")

    def server_states(self) -> Mapping[str, ServerStatus]:
        return self.states

    def run(self, node: str, argv: Sequence[str], timeout_s: float = 0.0) -> ExecResult:
        self.ran.append((node, tuple(argv)))
        return self.result


class FakeStage:
    """Two servers, mysql1 (the writer) and replica1."""

    schema = "repro"
    client = "client1"

    def __init__(self, script: Mapping[str, Answer | Sequence[Answer]] | None = None) -> None:
        self.sessions = FakeSessions(script or {})
        self.stack = FakeStack()
        self.steps: list[StepRecord] = []
        self.began_utc = datetime.now(UTC)
        self.injected: list[tuple[FaultRequest, float | None]] = []
        self.healed: list[str | None] = []
        self.missing: dict[str, str] = {}

    def limit_s(self, within: float | None) -> float:
        return within or 30.0

    def servers(self) -> list[StackNode]:
        return [server("mysql1"), server("replica1", "replica")]

    def place(self, word: str | None) -> SqlPlace:
        known = {"writer": "mysql1", None: "mysql1", "reader": "replica1"}
        node = known.get(word, word)
        if node not in ("mysql1", "replica1"):
            raise StepError(f"@{word}: there is no such place")
        return SqlPlace(str(node), str(node), 3306, "root")

    def node(self, word: str | None) -> str:
        return "client1" if word == "client1" else self.place(word).node

    def node_of(self, session: str) -> str | None:
        return self.sessions.host_of(session)

    def server_of(self, _session: str) -> StackNode | None:
        return None

    def hit(self, target: str) -> list[str]:
        return [self.place(target).node]

    def inject(self, request: FaultRequest, length_s: float | None) -> Mapping[str, str]:
        self.injected.append((request, length_s))
        return self.missing

    def heal(self, fault: str | None) -> bool:
        self.healed.append(fault)
        return bool(self.injected)

    def now_ms(self) -> float:
        return 5.0

    def session_ms(self, us: int | None) -> float:
        return 0.0 if us is None else us / 1000

    @property
    def as_stage(self) -> Stage:
        """Itself, as steps take it."""
        return cast("Stage", self)


def done(stage: FakeStage, step: Mapping[str, Any]) -> StepRecord:
    """A step of a file, carried out; its record is among the stage's."""
    made = step_of(step)
    assert isinstance(made, ReproStep)
    record = made.carry_out(stage.as_stage, len(stage.steps) + 1)
    stage.steps.append(record)
    return record


Script = Callable[[], FakeStage]
