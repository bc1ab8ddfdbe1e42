"""Shared by faults: scripts in a node, its server, its limits, its data directory."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Literal

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.fault import SETTLE_S, done, soon
from sandbox.profile.library import Kind
from sandbox.stack.protocol import ExecResult, NodeControl

NODES: frozenset[Kind] = frozenset({"database", "replica", "arbitrator", "proxy", "manager"})
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
_LOOP_DEVICES = "/dev/loop"
_SHUT_DOWN = ("ext4", "xfs")
_STEP = "try: make up PROFILE=mysql@9.7 DISK=ext4:4g"
LARGEST = 64 * 1024**3
_UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}


def is_up(node: NodeControl) -> bool:
    """Whether its container runs, and not merely exists or is paused."""
    return node.state().startswith("running")


def has_ended(node: NodeControl) -> bool:
    """Whether its container ended, so that it can be started again."""
    return node.state().startswith(("exited", "created", "dead"))


def missing_end(node: NodeControl) -> str | None:
    """The sign that the container has not ended."""
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
    """Output of a script as from `beside`, with the data directory at /data."""
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
    if node.state() == "gone":
        return
    limits = node.limits()
    text = before[name]
    if name == "cpus":
        limits = replace(limits, cpus=float(text) if text else None)
    else:
        limits = replace(limits, memory_bytes=int(text) if text else None)
    node.limit(limits)


def refuse_shared_disk(node: NodeControl) -> None:
    """Raises SandboxError (exit 3: skipped) unless the data directory has a file system of its own,
    at most 64 GiB.

    The device number is not enough: a volume has another one than the container's root, and yet is
    the host's disk.
    """
    mount = _mount_of(node)
    known = mount.get("shared")
    if known is None:
        size = mount.get("size") or _blocks(node, mount)
        if size is None:
            known = "of unknown size"
        elif int(size) > LARGEST:
            known = f"{int(size) / 1024**3:.0f} GiB; at most 64"
    if known is not None:
        what = f"the fault disk-full is skipped: the disk of {node.name} may be the host's"
        raise SandboxError(what, f"{DATA}: {known}", _STEP, ExitCode.UNKNOWN)


def refuse_powered_disk(node: NodeControl) -> None:
    """Raises SandboxError (exit 3: skipped) unless the data directory is the whole ext4 or XFS of a
    loop device.

    No other can be shut down without flushing.
    """
    mount = _mount_of(node)
    reason = mount.get("shared")
    if not reason and (mount["root"] != "/" or not mount["source"].startswith(_LOOP_DEVICES)):
        reason = f"it is {mount['root']} of {mount['source']}"
    if not reason and mount["kind"] not in _SHUT_DOWN:
        reason = f"{mount['kind']} cannot be shut down without flushing"
    if reason:
        what = (
            f"the fault power-loss is skipped: {node.name} has no disk of its own that can lose"
            " power"
        )
        raise SandboxError(what, f"{DATA}: {reason}", _STEP, ExitCode.UNKNOWN)


def _mount_of(node: NodeControl) -> dict[str, str]:
    return data_mount(
        inside(node, "cat /proc/self/mountinfo", f"reading the mounts of {node.name}")
    )


def data_mount(mountinfo: str) -> dict[str, str]:
    """The data directory's ``device``, ``root``, ``kind``, ``source``, ``size`` (of a tmpfs), or
    how it is ``shared``.

    Source: proc(5), mountinfo: number, parent, device, root, mount point, options…, ``-``, type,
    source, options.
    """
    mounts = [line.split() for line in mountinfo.splitlines()]
    found = [words for words in mounts if words[4] == DATA]
    if not found:
        return {"shared": "it is on the file system of the container"}
    mine = found[-1]
    kind, source, options = mine[mine.index("-") + 1 :][:3]
    others = [words[4] for words in mounts if words[2] == mine[2] and words[4] != DATA]
    if others:
        return {"shared": f"its file system is mounted at {others[0]}, too"}
    if kind != "tmpfs" and mine[3] != "/" and not source.startswith(_LOOP_DEVICES):
        return {"shared": f"it is the folder {mine[3]} of {source}"}
    limit = next(
        (word.removeprefix("size=") for word in options.split(",") if word.startswith("size=")), ""
    )
    mount = {"device": mine[2], "root": mine[3], "kind": kind, "source": source}
    if limit:
        mount["size"] = str(_bytes(limit))
    return mount


def _bytes(text: str) -> int:
    """``4194304k`` as bytes."""
    if text[-1] in _UNITS:
        return int(text[:-1]) * _UNITS[text[-1]]
    return int(text)


def _blocks(node: NodeControl, mount: dict[str, str]) -> int | None:
    """Size of a block device; None of what is none, such as a tmpfs without a limit."""
    # A Btrfs has a device number of its own, which is not that of its disk.
    of_source = f"/sys/class/block/{mount['source'].rpartition('/')[2]}/size"
    result = answer(
        node, f"cat /sys/dev/block/{mount['device']}/size 2>/dev/null || cat {of_source}"
    )
    return None if result.code else int(result.stdout) * 512
