"""Waits until every node of a stack meets its ready condition: bounded, with progress, stopped by a
death.

Nodes are asked by a loop inside their own containers; the engine reports their deaths.
"""

import queue
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from importlib.resources import files
from typing import Literal

from sandbox.core.errors import MachineError, SandboxError
from sandbox.record.redaction import mask
from sandbox.stack.answers import explained, other_version, ready_question, server_role
from sandbox.stack.ask_states import BrokenServers, look, rejoin_step
from sandbox.stack.engine import CommandGroup, CommandStream, Docker
from sandbox.stack.inventory import LABEL, Container, death
from sandbox.stack.naming import name_option
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import LogTail, NodeEvent, NodeState, Note, OnEvent, ServerRole
from sandbox.stack.server_states import ready_in_words
from sandbox.stack.server_status import ServerStatus

MOVING_FACTOR = 5
"""Multiple of its bound that a node may take while its log still moves (docs/design.md, rule 4)."""
QUIET_S = 10.0
"""A log without a new line for this long does not move."""
_LOG_OUR_QUESTIONS = ("proxy", "manager")
"""Kinds of nodes whose log is no progress: it has a line for each question, and for each attempt to
reach a server.
"""
LOG_LINES = 20
_LOOK_EVERY_S = 2.0
_TICK_S = 0.5
_BROKEN_AT_MOST = 5
"""Failed questions in a row that are a failure, not a restart in progress."""
_PAUSE_S = 0.2
_LOOP = files(__package__).joinpath("ready.sh").read_text(encoding="utf-8")
_AGAIN = 75
"""The loop's exit code when it has asked for long enough, and must be started again."""


@dataclass(frozen=True, slots=True)
class News:
    """One piece of news of a node; ``broken``: the question about its readiness failed."""

    node: str
    kind: Literal["waiting", "role", "version", "ready", "broken", "died"]
    text: str = ""


NewsQueue = queue.SimpleQueue[News]


class ReadinessLoop:
    """A context: asks one node until it is ready, and puts its news into the queue."""

    def __init__(
        self,
        docker: Docker,
        node: str,
        container_id: str,
        question: str,
        then: tuple[str, ...],
        news: NewsQueue,
    ) -> None:
        """``container_id``, ``question``: where the node answers, and the readiness question.

        ``then``: the questions for it once the node is ready: its role, its version; or none.
        """
        self._docker = docker
        self._node = node
        self._news = news
        self._argv = ("exec", container_id, "sh", "-c", _LOOP, "ready.sh", question, *then)
        self._ended = threading.Event()
        self._commands = CommandGroup()
        self._thread = threading.Thread(target=self._ask, name=f"ready {node}", daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._commands.close()
        self._thread.join()

    def _ask(self) -> None:
        while stream := self._commands.begin(lambda: self._docker.stream(*self._argv)):
            last = self._listen(stream)
            code = stream.wait()
            if code == 0 or self._ended.is_set():
                return
            if code != _AGAIN:
                self._news.put(News(self._node, "broken", last or f"exit code {code}"))
                self._ended.wait(_PAUSE_S)

    def _listen(self, stream: CommandStream) -> str:
        """Passes answers on as they arrive; returns the last line that was not an answer."""
        last = ""
        for line in stream.lines():
            kind, _, text = line.partition(" ")
            if kind in ("waiting", "role", "version", "ready"):
                self._news.put(News(self._node, kind, text))  # type: ignore[arg-type]
            else:
                last = line.strip() or last
        return last


@contextmanager
def deaths(docker: Docker, project: str, news: NewsQueue) -> Iterator[None]:
    """Puts every container of the project that dies into the queue, from shortly before the block
    until its end.
    """
    filters = ("--filter", f"label={LABEL}={project}", "--filter", "event=die")
    template = '{{index .Actor.Attributes "sandbox.node"}}'
    stream = docker.stream("events", "--since", "2s", *filters, "--format", template)

    def listen() -> None:
        for line in stream.lines():
            news.put(News(line.strip(), "died"))

    thread = threading.Thread(target=listen, name="deaths", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stream.kill()
        thread.join()


class NotReadyError(MachineError):
    """A node did not become ready, or died meanwhile. ``log``: the end of its log, passwords
    masked.

    ``others``: what else is not ready, with its last answer: a member that never joined is why the
    others wait.
    """

    def __init__(
        self, node: str, predicate: str, log: tuple[str, ...], name_option: str, others: str = ""
    ) -> None:
        super().__init__(
            f"{node} {predicate}",
            f"{others}the stack is kept for you to inspect; the end of the node's log is above",
            f"try: make logs{name_option} NODE={node}   (make down{name_option} removes the stack)",
        )
        self.node = node
        self.log = log


class BrokenServerError(NotReadyError):
    """Servers that do not become ready by themselves: evicted, in no group any more, replication
    stopped.

    ``broken``: node → its state.
    """

    def __init__(self, broken: Mapping[str, ServerStatus], name: str) -> None:
        node = next(iter(broken))
        option = name_option(name)
        super().__init__(node, f"is {broken[node].text}", (), option)
        self.broken = dict(broken)
        others = [f"{other} is {state.text}" for other, state in broken.items() if other != node]
        they = "it does not come back by itself"
        if others:
            they = "they do not come back by themselves"
        self.known = "; ".join([*others, they])
        step = f"try: make heal{option} REPAIR=1"
        self.next_step = (
            f"{step}   (make ps{option} shows every server's state, make logs{option} NODE={node}"
            " why)"
        )


class OtherVersionError(MachineError):
    """A server reports another version than the exact one requested. ``other``: in words."""

    def __init__(self, container: Container, other: str, name_option: str) -> None:
        super().__init__(
            f"{container.node} {other}",
            f"its image is {container.image}; the stack is kept for you to inspect",
            f"try: make list WHAT=versions   (make down{name_option} removes the stack)",
        )


@dataclass
class _Waiting:
    """One node that is not ready yet; times in seconds since the wait started."""

    container: Container
    limit_s: float
    answer: str = ""
    broken: int = 0
    log_line: str = ""
    log_moved_s: float = 0.0
    log_asked_s: float = float("-inf")


class Readiness:
    """Waits for the nodes of one stack. ``timeout_s`` None: each node's own bound.

    ``end_if_broken``: a server that does not come back by itself ends the wait before its bound
    does.
    """

    def __init__(
        self,
        stack: StackNodes,
        on_event: OnEvent,
        timeout_s: float | None = None,
        clock: Callable[[], float] = time.monotonic,
        *,
        end_if_broken: bool = False,
    ) -> None:
        self._stack = stack
        self._docker = stack.docker
        self._on_event = on_event
        self._clock = clock
        self._began = clock()
        self._news: NewsQueue = queue.SimpleQueue()
        self.roles: dict[str, ServerRole | None] = {}
        """Every server's role when it became ready."""
        self.versions: dict[str, str] = {}
        """The version that every server reported when it became ready."""
        self._broken = BrokenServers(stack) if end_if_broken else None
        self._servers_ready_s = 0.0
        """When the last server so far became ready: what stands before servers cannot be ready
        earlier.
        """
        self._open = {
            each.node: _Waiting(each, timeout_s or float(each.about["timeout_s"]))
            for each in stack.members
        }

    def wait(self) -> None:
        """Returns when every node is ready.

        Raises SandboxError (exit 4) when a node's time is over or its container ends, after an
        event with its log; BrokenServerError where that is asked for.
        """
        with deaths(self._docker, self._stack.project, self._news), ExitStack() as loops:
            for waiting in list(self._open.values()):
                self._begin(waiting.container)
            for waiting in self._open.values():
                loops.enter_context(self._loop(waiting.container))
            while self._open:
                self._take_news()
                for name in list(self._open):
                    self._check_bound(name)
                self._check_broken()

    def _check_broken(self) -> None:
        if not self._open or self._broken is None:
            return
        broken = self._broken.found(self._clock() - self._began)
        if not broken:
            return
        for node, state in broken.items():
            self._publish(node, "failed", state.text)
        raise BrokenServerError(broken, self._stack.name)

    def _begin(self, container: Container) -> None:
        if not container.running:
            self._fail(container.node, f"is not running: {death(self._docker, container)}")
        self._publish(container.node, "starting")
        if container.about.get("ready") is None:
            self._ready(container.node, "runs")

    def _publish(self, node: str, state: NodeState, answer: str = "") -> None:
        self._on_event(NodeEvent(node, state, answer, self._clock() - self._began))

    def _ready(self, node: str, answer: str) -> None:
        waiting = self._open.pop(node)
        self._publish(node, "ready", answer)
        if waiting.container.is_server:
            self._servers_ready_s = self._clock() - self._began
        if explained(answer):
            self._on_event(Note(f"{node} is {answer}; {rejoin_step(self._stack, node)}"))

    def _take_news(self) -> None:
        try:
            news = self._news.get(timeout=_TICK_S)
        except queue.Empty:
            return
        if news.kind in ("died", "broken"):
            self._check_life(news)
        elif news.node in self._open:
            self._take_answer(self._open[news.node], news)

    def _take_answer(self, waiting: _Waiting, news: News) -> None:
        if news.kind == "role":
            self.roles[news.node] = server_role(news.text)
            return
        if news.kind == "version":
            self._take_version(waiting.container, news.text)
            return
        waiting.answer = _in_words(waiting.container, news.text)
        waiting.broken = 0
        if news.kind == "ready":
            self._ready(news.node, waiting.answer)
        else:
            self._publish(news.node, "waiting", waiting.answer)

    def _take_version(self, container: Container, reported: str) -> None:
        self.versions[container.node] = reported
        if other := other_version(container, reported):
            self._publish(container.node, "failed", other)
            raise OtherVersionError(container, other, name_option(self._stack.name))

    def _check_life(self, news: News) -> None:
        """Checks a death that the engine reports, or a failed question; a completed restart is
        neither.
        """
        container = next((each for each in self._stack.members if each.node == news.node), None)
        if container is None:
            return
        state = death(self._docker, container)
        if not state.startswith("running"):
            self._fail(news.node, f"is not running: {state}")
        if news.kind == "broken" and news.node in self._open:
            self._open[news.node].broken += 1
            if self._open[news.node].broken >= _BROKEN_AT_MOST:
                self._fail(news.node, f"does not answer whether it is ready: {news.text}")

    def _check_bound(self, name: str) -> None:
        waiting = self._open[name]
        seconds = self._clock() - self._began
        is_behind_servers = waiting.container.kind in _LOG_OUR_QUESTIONS
        if is_behind_servers and any(each.container.is_server for each in self._open.values()):
            return  # their bounds apply to it too
        limit_s = waiting.limit_s
        if is_behind_servers:
            limit_s += self._servers_ready_s
        elif seconds >= limit_s - QUIET_S:
            self._look_at_log(waiting, seconds)
            moves = seconds - waiting.log_moved_s < QUIET_S
            limit_s *= MOVING_FACTOR if moves else 1
        if seconds >= limit_s:
            self._fail(name, self._too_late(waiting, seconds))

    def _too_late(self, waiting: _Waiting, seconds: float) -> str:
        """The problem of a node whose time is over: the condition, its last answer, and a server's
        state.
        """
        container = waiting.container
        expected = _in_words(container, container.about.get("expected") or "success")
        last = waiting.answer or "none"
        text = f"is not ready after {seconds:.0f} s (condition: {expected}; last answer: {last}"
        if container.is_server and (state := look(self._stack).states.get(container.node)):
            text += f"; it is {state.text}"
        return f"{text})"

    def _look_at_log(self, waiting: _Waiting, seconds: float) -> None:
        """Notes whether the last line of the log has changed."""
        if seconds - waiting.log_asked_s < _LOOK_EVERY_S:
            return
        waiting.log_asked_s = seconds
        answer = self._docker.answer("logs", "--timestamps", "--tail", "1", waiting.container.id)
        line = answer.stdout + answer.stderr
        if line != waiting.log_line:
            waiting.log_line = line
            waiting.log_moved_s = seconds

    def _fail(self, name: str, predicate: str) -> None:
        self._publish(name, "failed", predicate)
        container = self._stack.container(name)
        log = self._docker.stream("logs", "--tail", str(LOG_LINES), container.id).text()
        passwords: frozenset[str] = frozenset()
        with suppress(SandboxError):  # its client cannot be asked yet
            passwords = self._stack.secrets()
        tail = tuple(mask(log, passwords).splitlines()[-LOG_LINES:])
        self._on_event(LogTail(name, tail))
        others = [node for node in self._open if node != name]
        texts = [f"{node} ({self._open[node].answer or 'no answer'})" for node in others]
        also = f"also not ready: {', '.join(texts)}; " if texts else ""
        raise NotReadyError(name, predicate, tail, name_option(self._stack.name), also)

    def _loop(self, container: Container) -> ReadinessLoop:
        where, question = ready_question(container, self._stack.client) or (container, "ready")
        then = ("role", "version") if container.is_server else ()
        return ReadinessLoop(self._docker, container.node, where.id, question, then, self._news)


def _in_words(container: Container, answer: str) -> str:
    """An answer of a cluster's member in the words of its field."""
    about = container.about
    return ready_in_words(about.get("topology"), about.get("members", 1), answer)
