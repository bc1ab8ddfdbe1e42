"""An engine without Docker: keeps containers, networks and volumes by label, starts Compose files,
answers as asked.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import yaml

from sandbox.stack.engine import CommandStream, Docker, Feed, Pending, RefusedError
from sandbox.stack.protocol import ExecResult

INFO = {
    "ServerVersion": "26.1.5",
    "OperatingSystem": "Debian GNU/Linux 13",
    "KernelVersion": "6.12",
    "Architecture": "x86_64",
    "CgroupVersion": "2",
    "Driver": "overlay2",
    "NCPU": 4,
    "MemTotal": 16 << 30,
    "DockerRootDir": "/nowhere",
    "Name": "elsewhere",
}

Reply = ExecResult | Callable[[tuple[str, ...]], ExecResult]


def answer(stdout: str = "", code: int = 0, stderr: str = "") -> ExecResult:
    """How a command ends."""
    return ExecResult(code, stdout, stderr)


HANGS = ExecResult(124, "", "")
"""The reply of a command that does not end."""


class FakePending(Pending):
    """A command that has ended already, or hangs."""

    def __init__(self, argv: Sequence[str], reply: ExecResult) -> None:
        self.argv, self._reply = argv, reply

    def answer(self, timeout_s: float | None = None) -> ExecResult:
        """The reply."""
        if self._reply is HANGS and timeout_s is not None:
            time.sleep(timeout_s)
            raise TimeoutError
        return self._reply

    def output(self, timeout_s: float | None = None) -> str:
        """Its standard output, or the three lines of its failure."""
        if self._reply.code:
            raise RefusedError(self.argv, self._reply)
        return self._reply.stdout

    def kill(self) -> None:
        """Nothing to end."""


class FakeProcess:
    """A stream that says its lines and has ended."""

    pid = -1
    stdin = None

    def __init__(self, reply: ExecResult) -> None:
        self.stdout: Iterator[str] = iter(reply.stdout.splitlines(keepends=True))
        self.returncode = reply.code

    def poll(self) -> int:
        """It has ended."""
        return self.returncode

    def wait(self, timeout: float | None = None) -> int:
        """Its exit code."""
        return self.returncode

    def communicate(self) -> tuple[str, None]:
        """What it says."""
        return "".join(self.stdout), None


class FakeDocker(Docker):
    """Answers from its own state; ``replies`` (pattern over the whole command → reply) come first,
    newest on top.
    """

    def __init__(self) -> None:
        self.containers: dict[str, dict[str, Any]] = {}
        self.networks: dict[str, dict[str, str]] = {}
        self.volumes: dict[str, dict[str, str]] = {}
        self.calls: list[tuple[str, ...]] = []
        self.inputs: list[str] = []
        self.fed: list[bytes | None] = []
        self.replies: list[tuple[str, Reply]] = []

    def on(self, pattern: str, reply: Reply) -> None:
        """What a command is answered whose words match a pattern."""
        self.replies.insert(0, (pattern, reply))

    def called(self, *words: str) -> list[tuple[str, ...]]:
        """The calls that begin with these words."""
        return [call for call in self.calls if call[: len(words)] == words]

    def begin(self, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()) -> Pending:
        """Runs at once."""
        self.inputs += [stdin] if stdin is not None else []
        return FakePending(argv, self._reply(argv, stdin))

    def stream(self, *argv: str, stdin: bool = False) -> CommandStream:
        """Runs at once."""
        return CommandStream(FakeProcess(self._reply(argv, None)))  # type: ignore[arg-type]

    def hand_over(self, *argv: str, feed: Feed | None = None) -> int:
        """Runs at once; the input that is given stands in ``fed``."""
        reply = self._reply(argv, None)
        self.fed.append(feed() if callable(feed) else feed)
        return reply.code

    def _reply(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        self.calls.append(argv)
        for pattern, reply in self.replies:
            if re.search(pattern, " ".join(argv), re.DOTALL):
                return reply if isinstance(reply, ExecResult) else reply(argv)
        name = (
            argv[0]
            if argv[0] not in ("network", "volume", "image", "container")
            else f"{argv[0]}_{argv[1]}"
        )
        handler = getattr(self, f"_{name}", None)
        return handler(argv, stdin) if handler else answer()

    def _compose(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        project = argv[argv.index("-p") + 1]
        document = yaml.safe_load(
            (stdin or "").replace("${COMPOSE_PROJECT_NAME}", project).replace("$$", "$")
        )
        for kind, known in (("networks", self.networks), ("volumes", self.volumes)):
            own = {name: body for name, body in document[kind].items() if not body.get("external")}
            known |= {f"{project}_{name}": body["labels"] for name, body in own.items()}
        for name, service in document["services"].items():
            state = "created" if "--no-start" in argv else "running"
            self.add(f"id-{project}-{name}", service["labels"], state, image=service["image"])
        return answer()

    def add(
        self, identifier: str, labels: dict[str, str], state: str = "running", **fields: str
    ) -> None:
        """A container."""
        self.containers[identifier] = {
            "labels": labels,
            "state": state,
            "ports": "",
            "image": "",
            **fields,
        }

    def state(self, node: str, state: str) -> None:
        """Puts the container of a node into a state."""
        for container in self.containers.values():
            if container["labels"].get("sandbox.node") == node:
                container["state"] = state

    def _ps(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        rows = [
            {
                "ID": key,
                "Image": each["image"],
                "State": each["state"],
                "Status": f"Up ({each['state']})",
                "Ports": each["ports"],
                "CreatedAt": "now",
                "labels": each["labels"],
            }
            for key, each in self.containers.items()
            if _fits(argv, each["labels"])
        ]
        return answer("\n".join(_formatted(argv, row) for row in rows))

    def _network_ls(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._things(argv, self.networks)

    def _volume_ls(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._things(argv, self.volumes)

    def _things(self, argv: tuple[str, ...], things: dict[str, dict[str, str]]) -> ExecResult:
        rows = [
            {"ID": name, "Name": name, "labels": labels}
            for name, labels in things.items()
            if _fits(argv, labels)
        ]
        return answer("\n".join(_formatted(argv, row) for row in rows))

    def _rm(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return _removed(self.containers, argv[1:])

    def _network_rm(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return _removed(self.networks, argv[2:])

    def _volume_rm(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return _removed(self.volumes, argv[2:])

    def _info(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return answer(json.dumps(INFO))

    def _start(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._become("running", argv)

    def _restart(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._become("running", argv)

    def _unpause(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        return self._become("running", argv)

    def _stop(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        is_bounded = argv[1] == "-t"
        return self._become("exited", argv[2:] if is_bounded else argv)

    def _become(self, state: str, argv: tuple[str, ...]) -> ExecResult:
        for identifier in argv[1:]:
            self.containers[identifier]["state"] = state
        return answer()

    def _inspect(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        container = self.containers.get(argv[-1])
        state = container and {
            "Status": container["state"],
            "ExitCode": 1,
            "OOMKilled": False,
            "Error": "",
        }
        return answer(json.dumps(state)) if state else answer(code=1, stderr="No such object")

    def _exec(self, argv: tuple[str, ...], stdin: str | None) -> ExecResult:
        if argv[-1] == "state":  # no node of the small library has that question
            return answer(code=2, stderr="no such question; here: ready role")
        return answer("ready yes\n") if any(part.startswith("ready") for part in argv) else answer()


def _fits(argv: tuple[str, ...], labels: dict[str, str]) -> bool:
    """Whether labels fit the ``--filter label=name[=value]`` of a command."""
    name, _, value = argv[argv.index("--filter") + 1].removeprefix("label=").partition("=")
    return name in labels and value in ("", labels[name])


def _formatted(argv: tuple[str, ...], row: dict[str, Any]) -> str:
    """A row through the command's own Go template, as far as we use them."""
    template = argv[argv.index("--format") + 1]
    text = re.sub(
        r'\{\{json \(\.Label "([^"]+)"\)\}\}',
        lambda found: json.dumps(row["labels"].get(found[1], "")),
        template,
    )
    return re.sub(r"\{\{json \.(\w+)\}\}", lambda found: json.dumps(row[found[1]]), text)


def _removed(things: dict[str, Any], words: Sequence[str]) -> ExecResult:
    for word in words:
        things.pop(word, None)
    return answer()
