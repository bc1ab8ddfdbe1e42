"""The state of every server of a stack, all asked at once; who repairs those that are broken."""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from sandbox.stack.inventory import Container, death
from sandbox.stack.naming import name_option
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import ExecResult, ReadyAnswer
from sandbox.stack.server_states import server_states, state_of
from sandbox.stack.server_status import ServerFacts, ServerStatus, facts_from

LOG_LINES = 2000
"""So many lines of a server's log are read where it does not say itself what is wrong."""
_NO_QUESTION = "no such question"
LEFT_S = 10.0
"""A server that has been broken for this long does not come back by itself."""
WITHOUT_CAUSE_S = 60.0
"""…but one that reports no error has this long: its forming script goes on, and takes its time on a
busy machine.
"""
_ASK_EVERY_S = 5.0
_STARTS = "[MY-010116]"
"""The first line of a MySQL server's life: one that has cloned another's data starts again in the
same container.
"""


@dataclass(frozen=True, slots=True)
class StackLook:
    """The answers of a stack's nodes now: role and state of each server, and whether each node is
    ready.
    """

    standings: Mapping[str, str | None]
    ready: Mapping[str, ReadyAnswer]
    states: Mapping[str, ServerStatus]


def repair_step(name: str) -> str:
    """The command that repairs the servers of a stack that do not return by themselves."""
    return f"make heal{name_option(name)} REPAIR=1 repairs it"


def rejoin_step(stack: StackNodes, node: str) -> str:
    """The means by which a detached server follows the writer again."""
    return (
        rejoining(stack, node)
        or f"make heal{name_option(stack.name)} REPAIR=1 makes it follow the writer"
    )


def rejoining(stack: StackNodes, node: str) -> str:
    """The node of its group that makes it follow the writer again by itself; empty: none."""
    group = stack.container(node).about["group"]
    for each in stack.members:
        if each.about["group"] == group and (how := each.about.get("rejoins")):
            return f"{each.node} makes it follow the writer again ({how})"
    return ""


def look(stack: StackNodes) -> StackLook:
    """All three questions at once: each costs a second on a busy machine."""
    with ThreadPoolExecutor(max_workers=3) as pool:
        standings = pool.submit(stack.standings)
        ready = pool.submit(stack.readiness)
        answers = pool.submit(stack.state_answers)
        states = _states(stack, answers.result(), standings.result(), ready.result())
        return StackLook(standings.result(), ready.result(), states)


def _states(
    stack: StackNodes,
    answers: Mapping[str, ExecResult],
    standings: Mapping[str, str | None],
    ready: Mapping[str, ReadyAnswer],
) -> dict[str, ServerStatus]:
    """Node → its state; without the servers of a stack that an earlier version of this tool
    started.
    """
    groups: dict[int | None, dict[str, ServerFacts]] = {}
    for server in (each for each in stack.members if each.is_server):
        answer = answers.get(server.node)
        if answer is not None and _NO_QUESTION in answer.stderr:
            continue
        said = ready[server.node].text if server.node in ready else ""
        role = standings.get(server.node) or said
        own = groups.setdefault(server.about["group"], {})
        own[server.node] = _facts(stack, server, answer, role, said)
    found: dict[str, ServerStatus] = {}
    for facts in groups.values():
        found |= server_states(facts)
    return {node: _with_helper(stack, node, state) for node, state in found.items()}


def _with_helper(stack: StackNodes, node: str, state: ServerStatus) -> ServerStatus:
    """A detached server comes back by itself where its proxy or manager sees to that."""
    if state.word not in ("stale", "detached") or state.repair != "rejoin":
        return state
    helper = rejoining(stack, node)
    return replace(state, reason=f"{state.reason}; {helper}", repair="wait") if helper else state


def _facts(
    stack: StackNodes, server: Container, answer: ExecResult | None, role: str, said: str
) -> ServerFacts:
    topology = server.about["topology"] or "single"
    members = server.about.get("members", 1)
    if not server.running:
        return ServerFacts(topology, members, death(stack.docker, server))
    if answer is None or answer.code:
        error = said
        if answer is not None and not said.startswith("nothing listens"):
            error = answer.last_error or said
        facts = ServerFacts(topology, members, error=error)
    else:
        status, channels = facts_from(answer.stdout)
        links = frozenset(server.about.get("links", ()))
        facts = ServerFacts(topology, members, "running", status, channels, links, role)
    if facts.status is not None and not state_of(facts).is_unexplained:
        return facts
    return replace(facts, log=_log_of_this_life(stack, server))


def _log_of_this_life(stack: StackNodes, server: Container) -> str:
    """The end of a server's log since it was started: an earlier life had other reasons."""
    started = stack.docker.answer("inspect", "--format", "{{.State.StartedAt}}", server.id)
    since = ["--since", started.stdout.strip()] if started.code == 0 else []
    log = stack.docker.stream("logs", *since, "--tail", str(LOG_LINES), server.id).text()
    return log.rpartition(_STARTS)[2]


class BrokenServers:
    """The servers of a stack that do not come back by themselves, asked for now and then."""

    def __init__(self, stack: StackNodes) -> None:
        self._stack = stack
        self._since_s: dict[str, float] = {}
        """Since when a server has been broken."""
        self._due_s = 0.0

    def found(self, now_s: float) -> Mapping[str, ServerStatus]:
        """Node → state once one has been broken for long enough; else empty. ``now_s``: of any
        clock.

        Servers that were ready are asked, too: one that hung may not have known yet that the others
        went on without it.
        """
        if now_s < self._due_s:
            return {}
        self._due_s = now_s + _ASK_EVERY_S
        now = look(self._stack)
        broken = {
            node: state
            for node, state in now.states.items()
            if state.needs_repair and not now.ready[node].ready
        }
        self._since_s = {node: self._since_s.get(node, now_s) for node in broken}
        for node, state in broken.items():
            patience_s = LEFT_S if state.has_cause else WITHOUT_CAUSE_S
            if state.is_final or now_s - self._since_s[node] >= patience_s:
                return broken
        return {}
