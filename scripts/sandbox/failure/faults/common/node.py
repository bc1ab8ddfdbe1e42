"""What faults do to a node alike: run a script in it, end its server and start it again, change its
limits.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from sandbox.core.errors import MachineError
from sandbox.failure.fault import SETTLE_S, done, soon
from sandbox.profile.library import Kind
from sandbox.stack.protocol import ExecResult, NodeControl

NODES: frozenset[Kind] = frozenset({"database", "replica", "proxy", "manager"})
"""Kinds of nodes whose container can be broken; the client, which measures, is none of them."""
SERVERS: frozenset[Kind] = frozenset({"database", "replica"})
"""Kinds with a server under a supervisor (profile/supervisor.sh)."""
DATA = "/var/lib/mysql"
SERVER_PORT = 3306
LimitName = Literal["cpus", "memory_bytes"]
# The supervisor writes it; its content is also the number of the process group.
_PID_FILE = "/sandbox/server.pid"
_PROCESS_STATE = f"""\
read -r pid <{_PID_FILE} && read -r stat <"/proc/$pid/stat" || exit
stat=${{stat##*) }}
printf '%s' "${{stat%% *}}"
"""
_LISTENING = (
    f"cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | grep -q ':{SERVER_PORT:04X} 0*:0000 0A'"
)


def is_up(node: NodeControl) -> bool:
    """Whether its container runs, and not merely exists or is paused."""
    return node.state().startswith("running")


def has_ended(node: NodeControl) -> bool:
    """Whether its container ended, so that it can be started again."""
    return node.state().startswith(("exited", "created", "dead"))


def missing_end(node: NodeControl) -> str | None:
    """What shows that the container has not ended."""
    return None if has_ended(node) else f"its container is {node.state()}"


def answer(node: NodeControl, script: str, timeout_s: float = 10.0) -> ExecResult:
    """Runs a script in the container, however it ends. Raises SandboxError (exit 4) where it lasts
    longer than that.
    """
    try:
        return node.execute(script, timeout_s)
    except TimeoutError as problem:
        raise MachineError(
            f"{node.name} does not answer", f"no end after {timeout_s:g} s", "try: make ps"
        ) from problem


def inside(node: NodeControl, script: str, what: str, timeout_s: float = 10.0) -> str:
    """Output of a script in the container. Raises SandboxError (exit 4) where it fails or lasts
    longer than that.
    """
    result = answer(node, script, timeout_s)
    done(result, what)
    return result.stdout


def beside(node: NodeControl, script: str, what: str) -> str:
    """Output of a script that runs in the node's network namespace. Raises SandboxError (exit 4)
    where it fails.
    """
    return _in_helper(node.in_network, script, what)


def beside_disk(node: NodeControl, script: str, what: str) -> str:
    """Like `beside`, with the data directory at /data."""
    return _in_helper(node.beside_disk, script, what)


def _in_helper(run: Callable[[str], ExecResult], script: str, what: str) -> str:
    try:
        result = run(script)
    except TimeoutError as problem:
        raise MachineError(f"{what} failed", "no end after 10 s", "try: make ps") from problem
    done(result, what)
    return result.stdout


def has_processes(node: NodeControl) -> bool:
    """Whether its container runs or is paused: its network namespace and its control group end with
    its processes.
    """
    return node.state().startswith(("running", "paused"))


def process_state(node: NodeControl) -> str:
    """Letter of the server's process, as ``T`` for stopped; empty where there is none. Source:
    proc(5), stat.
    """
    return answer(node, _PROCESS_STATE).stdout.strip()


def server_lives(node: NodeControl) -> bool:
    """Whether the server's process exists, stopped or not."""
    return process_state(node) not in ("", "Z", "X")


def listens(node: NodeControl) -> bool:
    """Whether anything listens on the server's port. Source: proc(5), /proc/net/tcp; state 0A is
    LISTEN.
    """
    return answer(node, _LISTENING).code == 0


def wait_for_end(node: NodeControl, limit_s: float) -> None:
    """Until a server that shuts down has ended, or listens anew; what it ceases first is to
    listen.
    """
    if is_up(node) and not listens(node):
        # One that was killed has ended already.
        patience_s = limit_s if server_lives(node) else SETTLE_S
        soon(lambda: None if has_ended(node) or listens(node) else "it ends", patience_s)


def signal_server(node: NodeControl, name: str) -> None:
    """Sends a signal to the server and all that it started, and not to its supervisor."""
    # dash refuses `kill -STOP -- -PID`.
    inside(
        node, f'kill -s {name} -- "-$(cat {_PID_FILE})"', f"SIG{name} to the server of {node.name}"
    )


def kill_server(node: NodeControl) -> None:
    """Kills the server and keeps its container. Raises SandboxError (exit 4) where it does not end
    within seconds.
    """
    node.signal("USR1")
    if soon(lambda: "it still runs" if server_lives(node) else None):
        raise MachineError(
            f"the server of {node.name} does not end",
            "it was killed, but still runs",
            "try: make ps",
        )


def start_without_server(node: NodeControl) -> None:
    """Leaves the container running and its server ended, whatever they were."""
    if has_ended(node):
        node.start()
        # Until then the signal would be lost.
        soon(lambda: None if server_lives(node) else "not there yet")
    kill_server(node)


def revive(node: NodeControl) -> None:
    """Starts a killed server again, or the container where that ended too; harmless where the
    server runs.
    """
    if is_up(node):
        node.signal("USR2")
    elif has_ended(node):
        node.start()


def limit_now(node: NodeControl, name: LimitName) -> dict[str, str]:
    """One of a container's limits as `restore_limit` takes it; an empty text for none.

    A fault keeps only the limit that it sets: the other one may be another fault's, healed earlier
    or later.
    """
    limit = getattr(node.limits(), name)
    return {name: "" if limit is None else str(limit)}


def restore_limit(node: NodeControl, name: LimitName, before: Mapping[str, str]) -> None:
    """Sets the limit that `limit_now` had read, and leaves the other one as it is."""
    if node.state() != "gone":
        now, text = node.limits(), before[name]
        if name == "cpus":
            node.limit(replace(now, cpus=float(text) if text else None))
        else:
            node.limit(replace(now, memory_bytes=int(text) if text else None))
