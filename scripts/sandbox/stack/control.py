"""The means to break and mend one node: signals, pauses, its network namespace, its limits.
Implements the protocol.
"""

import io
import shlex
import tarfile
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Never

from sandbox.core.errors import MachineError, SandboxError
from sandbox.profile.names import CPU_SHARES, DATA_DIRECTORY, ROTATION_SQL, Identity
from sandbox.stack.engine import ANSWER_LIMIT_S, Docker, PatientDocker, RefusedError
from sandbox.stack.engine_facts import CONTROL_GROUPS, WRITE_LIMIT, engine_facts
from sandbox.stack.entry import client_argv, login
from sandbox.stack.inventory import (
    ABSENT,
    Container,
    death,
    helper_options,
    inspected,
    offline_options,
)
from sandbox.stack.nodes import StackNodes
from sandbox.stack.protocol import EntryPoint, ExecResult, Limits, NodeControl

if TYPE_CHECKING:  # a word of Pydantic's models: a `sql` starts without them
    from sandbox.profile.library import Kind

# Source: proc(5), mountinfo: number, parent, device, root, mount point, options…, ``-``, type,
# source. A Btrfs has a device number of its own, which is not that of its disk.
_DEVICE = f"""\
while read -r _ _ device _ at rest; do
  [ "$at" != {DATA_DIRECTORY} ] || {{ found=$device; source=${{rest##* - }}; }}
done </proc/self/mountinfo
source=${{source#* }} source=${{source%% *}}
own=/sys/class/block/${{source##*/}}/dev
[ -e "/sys/dev/block/$found" ] || [ ! -e "$own" ] || found=$(cat "$own")
printf '%s' "$found"
"""

# runc tries for two seconds, then lets the container run again: with a process just starting in it,
# it may take more. Source: https://github.com/opencontainers/runc/issues/2753
_UNFROZEN = "unable to freeze"
_FREEZE_ATTEMPTS = 3

_EMPTYING = "find /var/lib/mysql -mindepth 1 -delete"


def _empty_file(path: str) -> str:
    """A tar archive with an empty file that everybody may read."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        entry = tarfile.TarInfo(path.lstrip("/"))
        entry.mode = 0o444
        archive.addfile(entry)
    return packed.getvalue().decode()


def asking(statement: str) -> str:
    """The script that runs a statement as root through the node's own client."""
    return f"""\
client=$(command -v mariadb || command -v mysql) || {{ echo 'there is no client here' >&2; exit 1; }}
exec "$client" --defaults-file=/sandbox/client.cnf -N -B -e {shlex.quote(statement)}
"""  # noqa: E501


class Control(NodeControl):
    """One node of a stack on the engine, by its container's id, which stays the same whatever
    happens to it.
    """

    def __init__(
        self,
        docker: Docker,
        identity: Identity,
        container: Container,
        client_image: Callable[[], str],
    ) -> None:
        """``client_image``: gives what a helper is made from; ``identity``: of the stack, to which
        it belongs.
        """
        self.name = container.node
        self.kind = container.kind  # type: ignore[assignment]
        docker = PatientDocker(docker)
        self._docker = docker
        self._identity = identity
        self._client_image = client_image
        self._id = container.id
        self._container = container
        self._in_network = NodeHelper(docker, identity, container, "network", ["NET_ADMIN"])
        # A data directory may be closed to all but its owner: root needs DAC_READ_SEARCH to open
        # it.
        rights = ["NET_ADMIN", "SYS_ADMIN", "DAC_READ_SEARCH"]
        self._beside_disk = NodeHelper(docker, identity, container, "disk", rights)
        self._network = f"{identity.project}_stack"

    def state(self) -> str:
        return death(self._docker, self._container)

    def address(self) -> str | None:
        # Empty where it has ended.
        return self._networks().get(self._network, {}).get("IPAddress") or None

    def signal(self, name: str) -> None:
        self._docker.ask("kill", "--signal", name, self._id)

    def pause(self) -> None:
        self._bring(self._is_paused, "pause", self._id)

    def unpause(self) -> None:
        if self._is_paused():
            self._docker.ask("unpause", self._id)

    def stop(self, grace_s: float) -> None:
        patient = PatientDocker(self._docker, grace_s + ANSWER_LIMIT_S)
        patient.ask("stop", "-t", str(round(grace_s)), self._id)

    def start(self) -> None:
        self.unpause()
        self._docker.ask("start", self._id)

    def in_volumes(self, script: str) -> ExecResult:
        return self._run_once(["--volumes-from", self._id], "sh", "-c", script)

    def empty_data(self) -> None:
        if not self.state().startswith(("exited", "created")):
            known = f"its container is {self.state()}"
            raise MachineError(
                f"the data directory of {self.name} is in use", known, "try: make ps"
            )
        answer = self.in_volumes(_EMPTYING)
        if answer.code:
            raise RefusedError(("run", _EMPTYING), answer)
        # It renews the passwords of a restored directory, and would fail in a new one, which has
        # the right ones.
        self._docker.ask("cp", "-", f"{self._id}:/", stdin=_empty_file(ROTATION_SQL))

    def disconnect(self) -> None:
        argv = ("network", "disconnect", "--force", self._network, self._id)
        self._bring(lambda: not self._is_connected(), *argv)

    def connect(self) -> None:
        argv = ("network", "connect", "--alias", self.name, self._network, self._id)
        self._bring(self._is_connected, *argv)

    def limits(self) -> Limits:
        known = self._inspect("{{json .HostConfig}}") or {}
        return Limits(known.get("NanoCpus", 0) / 1e9 or None, known.get("Memory") or None)

    def limit(self, limits: Limits) -> None:
        now = self.limits()
        options: list[str] = []
        if limits.cpus != now.cpus:
            # The engine cannot take a limit back: all of its processors are none.
            options += [f"--cpus={limits.cpus or engine_facts(self._docker).cpus:g}"]
        if limits.memory_bytes != now.memory_bytes:
            memory = limits.memory_bytes or engine_facts(self._docker).memory_bytes
            options += [f"--memory={memory}", f"--memory-swap={limits.memory_bytes or -1}"]
        if options:
            self._docker.ask("update", *options, self._id)

    def weigh(self, weight: float) -> None:
        self._docker.ask("update", f"--cpu-shares={round(weight * CPU_SHARES)}", self._id)

    def execute(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        return self._docker.answer(
            "exec", "--user", "0", self._id, "sh", "-c", script, timeout_s=timeout_s
        )

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        return self.execute(asking(statement), timeout_s)

    def in_network(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        return self._in_network.run(script, timeout_s, self._client_image)

    def beside_disk(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        return self._beside_disk.run(script, timeout_s, self._client_image, self._data_mounts)

    def _data_mounts(self) -> list[str]:
        """Mounts the volume of the data directory at /data. Raises SandboxError (exit 4) where
        there is none.
        """
        mounts = self._inspect("{{json .Mounts}}") or []
        own = [each for each in mounts if each["Destination"] == DATA_DIRECTORY]
        volumes = [each["Name"] for each in own if each["Type"] == "volume"]
        if not volumes:
            raise MachineError(
                f"{self.name} has no volume for its data directory", DATA_DIRECTORY, "try: make ps"
            )
        return [f"type=volume,source={volumes[0]},target=/data"]

    def write_limit(self, bytes_per_s: int | None) -> None:
        device = self._device()
        words = ("-c", WRITE_LIMIT, "limit", self._id, device, str(bytes_per_s or ""))
        answer = self._run_once(["--volume", CONTROL_GROUPS], "bash", *words)
        if answer.code:
            raise self._unlimited(answer.last_error or f"exit code {answer.code}")

    def _run_once(self, mounts: Sequence[str], program: str, *words: str) -> ExecResult:
        """Runs a program as root in a container that reaches no network and is gone afterwards."""
        options = [*offline_options(self._identity), "--user", "0", *mounts]
        command = ["--entrypoint", program, self._client_image(), *words]
        return self._docker.answer("run", "--rm", *options, *command)

    def _device(self) -> str:
        """Numbers of the block device of the data directory: ``8:1``."""
        answer = self.execute(_DEVICE)
        if answer.code:
            raise self._unlimited(answer.last_error or f"exit code {answer.code}")
        if not answer.stdout.strip():
            raise self._unlimited("its data directory is on the file system of the container")
        return answer.stdout.strip()

    def _unlimited(self, reason: str) -> MachineError:
        return MachineError(
            f"the writes of {self.name} cannot be limited", reason, "try: make doctor"
        )

    def release(self) -> None:
        remove_helpers(self._docker, self._beside_disk, self._in_network)

    def _bring(self, is_so: Callable[[], bool], *argv: str) -> None:
        """Runs a command at once, without a look before; a refusal is harmless where all is as it
        should be.
        """
        for _ in range(_FREEZE_ATTEMPTS):
            answer = self._docker.answer(*argv)
            if _UNFROZEN not in answer.stderr:
                break
        if answer.code and not is_so():
            raise RefusedError(argv, answer)

    def _is_paused(self) -> bool:
        return self.state().startswith("paused")

    def _is_connected(self) -> bool:
        return self._network in self._networks()

    def _networks(self) -> dict[str, Any]:
        return self._inspect("{{json .NetworkSettings.Networks}}") or {}

    def _inspect(self, template: str) -> Any:
        return inspected(self._docker, self._id, template)


LIFE_S = 900
"""Life of a helper after its last script began: if its starter is killed, nobody removes it."""
_NOTE_USE = "kill -s USR1 1; "


def living(life_s: float) -> str:
    """The script of a helper: ends so long after the last signal USR1, and at once at TERM."""
    return f"""\
trap 'exit 0' TERM INT
trap 'used=1' USR1
used=1
while [ "$used" ]; do
  used=
  sleep {life_s} &
  wait $!
  kill $! 2>/dev/null || true
done
"""


class NodeHelper:
    """A container beside a node, started by its first script; root with the capabilities given."""

    def __init__(
        self,
        docker: Docker,
        identity: Identity,
        container: Container,
        purpose: str,
        capabilities: Sequence[str],
    ) -> None:
        """``purpose``: distinguishes the helpers of one node, in their names."""
        self.name = f"{identity.project}-{container.node}-{purpose}"
        self._docker = docker
        self._node = container.id
        labels = helper_options(identity, node=f"{container.node}-{purpose}")
        network = ["--network", f"container:{container.id}"]
        rights = ["--user", "0", "--cap-drop", "ALL"]
        rights += [word for each in capabilities for word in ("--cap-add", each)]
        self._options = ["--name", self.name, *labels, *network, *rights]

    def run(
        self,
        script: str,
        timeout_s: float,
        image: Callable[[], str],
        mounts: Callable[[], Sequence[str]] = tuple,
    ) -> ExecResult:
        """Runs ``bash -c script``; ``image`` and ``mounts`` (as ``--mount`` takes them) are asked
        for its start only.

        Raises RefusedError where it does not start, TimeoutError past ``timeout_s``.
        """
        if not self.runs():
            remove_helpers(self._docker, self)
            self._start(image(), mounts())
        return self._docker.answer(
            "exec", self.name, "bash", "-c", _NOTE_USE + script, timeout_s=timeout_s
        )

    def runs(self) -> bool:
        """Whether it runs in the node's present namespace: each start of the node makes another
        one.
        """
        template = "{{.State.Running}} {{.State.StartedAt}}"
        answer = self._docker.answer("inspect", "--format", template, self._node, self.name)
        lines = answer.stdout.splitlines()
        if len(lines) < 2:
            return False
        node_began = lines[0].split()[1]
        running, began = lines[1].split()
        is_later = datetime.fromisoformat(began) > datetime.fromisoformat(node_began)
        return running == "true" and is_later

    def _start(self, image: str, mounts: Sequence[str]) -> None:
        options = [*self._options, *(word for each in mounts for word in ("--mount", each))]
        command = ("--entrypoint", "bash", image, "-c", living(LIFE_S))
        argv = ("run", "--detach", "--rm", *options, *command)
        answer = self._docker.answer(*argv)
        if answer.code and not self.runs():  # another command may be quicker
            raise RefusedError(argv, answer)


def remove_helpers(docker: Docker, *helpers: NodeHelper) -> None:
    """Removes the helpers that exist, in one call. Raises RefusedError."""
    argv = ("rm", "--force", *(each.name for each in helpers))
    answer = docker.answer(*argv)
    if answer.code and not all(ABSENT.search(line) for line in answer.stderr.splitlines()):
        raise RefusedError(argv, answer)


_CONNECT_S = 5
"""A host that is down must not use up the time of a statement."""


def _refuse(*given: Any, **_: Any) -> Never:
    """Stands for every verb that needs a container."""
    known = "somebody else runs it, and all that reaches it is a statement"
    raise SandboxError(
        f"{given[0].name} has no container here", known, "try: make trial FAULT=by-hand"
    )


class ExternalControl(NodeControl):
    """An external server, asked from the client node; the password is in the client's option
    file.
    """

    kind: "Kind" = "external"

    def __init__(self, stack: StackNodes, entry: EntryPoint) -> None:
        self.name = entry.node
        self._stack = stack
        self._entry = entry

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        client = self._stack.client
        account = login(self._stack.members, self._entry)
        options = [f"--connect-timeout={_CONNECT_S}", "-N", "-B"]
        argv = [*client_argv(client, self._entry, account), *options]
        return self._stack.run(client.node, argv, statement, timeout_s)

    def state(self) -> str:
        return "external"

    def release(self) -> None:
        pass

    address = signal = pause = unpause = stop = start = _refuse
    in_volumes = empty_data = disconnect = connect = _refuse
    limits = limit = weigh = execute = in_network = beside_disk = write_limit = _refuse
