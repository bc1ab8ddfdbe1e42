"""What changes in a group of servers, from what observers of each of them see: role, state, view. Asks nobody."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sandbox.plan.server_states import server_states
from sandbox.plan.server_status import OUT_OF_SERVICE, ServerFacts, ServerStatus

_FOLLOWS_NOBODY = "detached: read-only and follows nobody"


@dataclass(frozen=True, slots=True)
class ObservedServer:
    """A server to be observed. ``members``: of its cluster, as planned; ``group``: its place in the profile."""

    node: str
    topology: str
    members: int
    group: int


@dataclass(frozen=True, slots=True)
class ServerChange:
    """One server as it is from now on."""

    node: str
    role: str
    state: ServerStatus

    @property
    def news(self) -> tuple[object, ...]:
        """What makes it differ from another: each attempt to reach a server may fail in other words."""
        reason = self.state.reason
        if self.state.word in ("no answer", "connecting"):
            reason = "".join(re.findall(r", error \d+", reason))
        return self.role, self.state.word, self.state.view, reason

    @property
    def text(self) -> str:
        """``galera1  writer  2 of 3 members  sees galera2, galera3``."""
        view = f"sees {', '.join(self.state.view)}" if self.state.view else ""
        parts = (f"{self.node:<10}", f"{self.role:<6}", f"{self.state.word:<14}", self.state.reason or view)
        return "  ".join(parts).rstrip()


class ServerChanges:
    """Keeps what is known of each server, and finds what a further observation changes."""

    def __init__(self, servers: Sequence[ObservedServer]) -> None:
        self._servers = {each.node: each for each in servers}
        self._facts: dict[str, ServerFacts] = {}
        self._writable: dict[str, bool] = {}
        self._ended: set[str] = set()
        """Servers whose container has ended, as far as is known."""
        self._known: dict[str, tuple[object, ...]] = {}

    def take(self, node: str, seen: Mapping[str, Any]) -> list[ServerChange]:
        """An observer's answer: ``status`` or ``channels``, with ``read_only``; or ``error``."""
        server = self._servers[node]
        if "error" not in seen:
            self._ended.discard(node)
        elif node in self._ended:
            return []  # the engine has said more about it
        known = self._facts.get(node)
        log = known.log if known is not None else ""
        facts = ServerFacts(server.topology, server.members, error=seen.get("error", ""), log=log)
        if "error" not in seen:
            channels = seen.get("channels", ())
            role = "writer" if seen.get("read_only") == 0 else "reader" if channels else _FOLLOWS_NOBODY
            facts = replace(facts, status=seen.get("status", {}), channels=channels, role=role, log="")
        self._facts[node] = facts
        self._writable[node] = seen.get("read_only") == 0
        return self._changes(server.group)

    def container(self, node: str, state: str) -> list[ServerChange]:
        """The engine's word about a container that has ended, or that runs again."""
        server = self._servers[node]
        if state == "running":
            if node in self._ended:
                self._ended.discard(node)
                self._facts[node] = ServerFacts(server.topology, server.members, error="it is starting")
            return self._changes(server.group)
        self._ended.add(node)
        self._facts[node] = ServerFacts(server.topology, server.members, container=state)
        self._writable[node] = False
        return self._changes(server.group)

    def silent(self) -> list[str]:
        """Servers that do not answer, though their container runs: their log may say what they do."""
        return [node for node, each in self._facts.items() if each.status is None and node not in self._ended]

    def log(self, node: str, text: str) -> list[ServerChange]:
        """The log of a silent server since it was started."""
        facts = self._facts[node]
        if facts.status is not None:
            return []
        self._facts[node] = replace(facts, container="running", log=text)
        return self._changes(self._servers[node].group)

    def _changes(self, group: int) -> list[ServerChange]:
        facts = {node: each for node, each in self._facts.items() if self._servers[node].group == group}
        now = [
            ServerChange(node, self._role(node, state), state)
            for node, state in server_states(facts, at_once=False).items()
        ]
        changed = [each for each in now if each.news != self._known.get(each.node)]
        self._known |= {each.node: each.news for each in changed}
        return changed

    def _role(self, node: str, state: ServerStatus) -> str:
        facts = self._facts[node]
        if facts.status is None or state.word in OUT_OF_SERVICE:
            return "-"
        if facts.topology == "gr":
            return "writer" if facts.status.get("role") == "PRIMARY" and self._writable[node] else "reader"
        return "writer" if self._writable[node] else "reader"
