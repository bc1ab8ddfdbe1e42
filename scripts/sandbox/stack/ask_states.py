"""Asks every server of a running stack what state it is in, all at once; its log is read where that
says more.
"""

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


@dataclass(frozen=True, slots=True)
class StackLook:
    """What the nodes of a stack say now: role and state of each server, and whether each node is
    ready.
    """

    standings: Mapping[str, str | None]
    ready: Mapping[str, ReadyAnswer]
    states: Mapping[str, ServerStatus]


def repair_step(name: str) -> str:
    """The command that repairs the servers of a stack that do not return by themselves."""
    return f"make heal{name_option(name)} REPAIR=1 repairs it"


def rejoin_step(stack: StackNodes, node: str) -> str:
    """Who makes a server that follows nobody follow the writer again."""
    return (
        rejoining(stack, node)
        or f"make heal{name_option(stack.name)} REPAIR=1 makes it follow the writer"
    )


def rejoining(stack: StackNodes, node: str) -> str:
    """Which node of its group makes it follow the writer again by itself; empty: none does."""
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
    topology, members = server.about["topology"] or "single", server.about.get("members", 1)
    if not server.running:
        return ServerFacts(topology, members, death(stack.docker, server))
    if answer is None or answer.code:
        error = (
            said
            if answer is None or said.startswith("nothing listens")
            else answer.last_error or said
        )
        facts = ServerFacts(topology, members, error=error)
    else:
        status, channels = facts_from(answer.stdout)
        facts = ServerFacts(topology, members, status=status, channels=channels, role=role)
    if facts.status is not None and not state_of(facts).is_unexplained:
        return facts
    return replace(facts, log=_log_of_this_life(stack, server))


def _log_of_this_life(stack: StackNodes, server: Container) -> str:
    """The end of a server's log since it was started: an earlier life had other reasons."""
    started = stack.docker.answer("inspect", "--format", "{{.State.StartedAt}}", server.id)
    since = ["--since", started.stdout.strip()] if started.code == 0 else []
    return stack.docker.stream("logs", *since, "--tail", str(LOG_LINES), server.id).text()
