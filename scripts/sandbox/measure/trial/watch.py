"""Watches the servers of a running stack: a line for each change of a server's role, state or view,
with its time.
"""

import json
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from sandbox.core.errors import MachineError, SandboxError
from sandbox.measure.trial.prober import HEADER, addresses_of, prober_files
from sandbox.stack.client_python import end_stream, folder_of, ship
from sandbox.stack.protocol import RunningStack, StackNode
from sandbox.stack.server_states import server_states
from sandbox.stack.server_status import OUT_OF_SERVICE, ServerFacts, ServerStatus

_FOLLOWS_NOBODY = "detached: read-only and follows nobody"


@dataclass(frozen=True, slots=True)
class ObservedServer:
    """A server to be observed. ``members``: of its cluster, as planned; ``group``: its place in the
    profile.
    """

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
        """The part in which two changes differ: each attempt to reach a server may fail in other
        words.
        """
        reason = self.state.reason
        if self.state.word in ("no answer", "connecting"):
            reason = "".join(re.findall(r", error \d+", reason))
        return self.role, self.state.word, self.state.view, reason

    @property
    def text(self) -> str:
        """``galera1  writer  2 of 3 members  sees galera2, galera3``."""
        view = f"sees {', '.join(self.state.view)}" if self.state.view else ""
        parts = (
            f"{self.node:<10}",
            f"{self.role:<6}",
            f"{self.state.word:<14}",
            self.state.reason or view,
        )
        return "  ".join(parts).rstrip()


def _role_of(seen: Mapping[str, Any], channels: Sequence[Any]) -> str:
    """The role of a server that has answered."""
    if seen.get("read_only") == 0:
        return "writer"
    return "reader" if channels else _FOLLOWS_NOBODY


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
            facts = replace(
                facts,
                status=seen.get("status", {}),
                channels=channels,
                role=_role_of(seen, channels),
                log="",
            )
        self._facts[node] = facts
        self._writable[node] = seen.get("read_only") == 0
        return self._changes(server.group)

    def container(self, node: str, state: str) -> list[ServerChange]:
        """The engine's word about a container that has ended, or that runs again."""
        server = self._servers[node]
        if state == "running":
            if node in self._ended:
                self._ended.discard(node)
                self._facts[node] = ServerFacts(
                    server.topology, server.members, error="it is starting"
                )
            return self._changes(server.group)
        self._ended.add(node)
        self._facts[node] = ServerFacts(server.topology, server.members, container=state)
        self._writable[node] = False
        return self._changes(server.group)

    def silent(self) -> list[str]:
        """Servers that do not answer, though their container runs: their log may say what they
        do.
        """
        return [
            node
            for node, each in self._facts.items()
            if each.status is None and node not in self._ended
        ]

    def log(self, node: str, text: str) -> list[ServerChange]:
        """The log of a silent server since it was started."""
        facts = self._facts[node]
        if facts.status is not None:
            return []
        self._facts[node] = replace(facts, container="running", log=text)
        return self._changes(self._servers[node].group)

    def _changes(self, group: int) -> list[ServerChange]:
        facts = {
            node: each for node, each in self._facts.items() if self._servers[node].group == group
        }
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
            return (
                "writer"
                if facts.status.get("role") == "PRIMARY" and self._writable[node]
                else "reader"
            )
        return "writer" if self._writable[node] else "reader"


INTERVAL_S = 0.2
"""How often each server is asked."""
_LOOK_S = 1.0
"""How often it looks for containers that have ended, and for addresses that have changed."""
_END_S = 5.0
_LOG_SPAN = timedelta(minutes=2)
"""So much of its log says what a server does that does not answer."""


class ChangeLog:
    """Turns the lines of observers into lines for the user. Safe in any thread."""

    def __init__(self, servers: Sequence[StackNode], say: Callable[[str], None]) -> None:
        """``say`` gets a line for each change: ``02:31:07.412  galera1  -  evicted  …`` (UTC)."""
        counts = {
            each.group_index: sum(
                other.group_index == each.group_index and other.kind == "database"
                for other in servers
            )
            for each in servers
        }
        self._changes = ServerChanges(
            [
                ObservedServer(
                    each.name,
                    each.topology or "single",
                    counts[each.group_index],
                    each.group_index or 0,
                )
                for each in servers
            ]
        )
        self._say = say
        self._guard = threading.Lock()
        self._began_utc_s = 0.0

    def take(self, line: str) -> None:
        """A line of the observers: their first one, or ``w<TAB>node<TAB>µs<TAB>what a server
        answered``.
        """
        if line.startswith(HEADER):
            self._began_utc_s = float(json.loads(line)["began_utc_s"])
        elif line.startswith("w\t"):
            _, node, at_us, text = line.split("\t", 3)
            with self._guard:
                self._tell(
                    self._began_utc_s + int(at_us) / 1e6, self._changes.take(node, json.loads(text))
                )

    def container(self, node: str, state: str) -> None:
        """``running``, or how a container has ended, as the engine reports it."""
        with self._guard:
            self._tell(datetime.now(UTC).timestamp(), self._changes.container(node, state))

    def silent(self) -> list[str]:
        """Servers that do not answer, though their container runs."""
        with self._guard:
            return self._changes.silent()

    def log(self, node: str, text: str) -> None:
        """The log of a silent server."""
        with self._guard:
            self._tell(datetime.now(UTC).timestamp(), self._changes.log(node, text))

    def _tell(self, at_utc_s: float, changes: Sequence[ServerChange]) -> None:
        clock = datetime.fromtimestamp(at_utc_s, UTC).strftime("%H:%M:%S.%f")[:-3]
        for each in changes:
            self._say(f"{clock}  {each.text}")


class Watch:
    """A context: while it is open, changes are said. Raises SandboxError (exit 4) where the client
    cannot observe.
    """

    def __init__(self, stack: RunningStack, say: Callable[[str], None]) -> None:
        self._stack = stack
        nodes = stack.nodes()
        self._client = next((node.name for node in nodes if node.kind == "client"), "client1")
        self._servers = [
            each for each in nodes if each.is_server and each.has_container and each.topology
        ]
        self._log = ChangeLog(self._servers, say)
        self._ended = threading.Event()
        self._addresses: dict[str, str] = {}

    def __enter__(self) -> Self:
        contents = prober_files()
        self._addresses = {each.name: "0.0.0.0" for each in self._servers}  # noqa: S104  (a node that is down has none)
        self._addresses |= addresses_of(self._servers, self._stack)
        ship(self._stack, self._client, contents)
        argv = ["python3", f"{folder_of(contents)}/prober_watch.py", json.dumps(self._request())]
        self._stream = self._stack.stream(self._client, argv)
        threads = (self._read, self._look)
        self._threads = [
            threading.Thread(target=each, name="watch", daemon=True) for each in threads
        ]
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        end_stream(self._stream, _END_S)
        for thread in self._threads:
            thread.join(_END_S)

    def wait(self) -> None:
        """Until it is interrupted. Raises SandboxError (exit 4) where it cannot go on."""
        while not self._ended.wait(_LOOK_S):
            pass
        raise MachineError(
            "nothing is watched any more", "the client node has ended", "try: make ps"
        )

    def _request(self) -> dict[str, Any]:
        observed = [
            {
                "node": each.name,
                "address": self._addresses[each.name],
                "port": each.port,
                "topology": each.topology,
                "family": each.family,
            }
            for each in self._servers
        ]
        return {
            "observe": observed, "observe_interval_s": INTERVAL_S, "schema": "sandbox",
            "root_file": "/sandbox/root.cnf",
        }  # fmt: skip

    def _read(self) -> None:
        for line in self._stream.lines():
            self._log.take(line)
        self._ended.set()

    def _look(self) -> None:
        """Follows containers that end or start, and what servers do that do not answer yet."""
        while not self._ended.wait(_LOOK_S):
            with suppress(SandboxError):
                self._look_once()

    def _look_once(self) -> None:
        dead = self._stack.dead_nodes()
        for server in self._servers:
            state = dead.get(server.name, "running")
            self._log.container(server.name, "running" if state.startswith("running") else state)
        alive = [each for each in self._servers if each.name not in dead]
        for node, address in addresses_of(alive, self._stack).items():
            if self._addresses[node] != address:
                self._addresses[node] = address
                self._stream.send(f"address {node} {address}")
        for node in self._log.silent():
            self._log.log(node, self._stack.log(node, datetime.now(UTC) - _LOG_SPAN))
