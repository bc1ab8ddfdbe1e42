"""A node without Docker. Scripts run for real, with the few programs of a minimal image, in a
folder instead of a root.

Its server is a process that sleeps; `iptables`, `tc` and `ip` keep their state in files.
"""

import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.core.errors import MachineError
from sandbox.failure.fault import Peer, Scene
from sandbox.profile.library import Kind
from sandbox.stack.control import asking
from sandbox.stack.protocol import ExecResult, Limits, NodeControl

MINIMAL = [
    *(
        "bash",
        "cat",
        "cp",
        "date",
        "dd",
        "find",
        "grep",
        "head",
        "kill",
        "mkdir",
        "mktemp",
        "mv",
        "printf",
        "rm",
    ),
    *("sed", "sh", "sort", "tail", "timeout", "tr", "uniq", "wc"),
]
"""Programs of every server's image."""
PEERS = (
    Peer("galera1", "database", "172.18.0.2"),
    Peer("galera2", "database", "172.18.0.3"),
    Peer("galera3", "database", "172.18.0.4"),
    Peer("haproxy1", "proxy", "172.18.0.5"),
    Peer("client1", "client", "172.18.0.6"),
    Peer("mysql1", "database", "172.18.0.7"),
)
GROUP = {"galera1": 1, "galera2": 1, "galera3": 1, "haproxy1": 1, "client1": None, "mysql1": 2}
_STOPS = re.compile(r"kill -s (STOP|CONT)\b")
_MOVED = re.compile(
    r"(?<![\w/])(/sandbox\b|/var/lib/mysql\b|/proc/(?:net|self|1)\b|/run/sandbox-clock\b|/sys\b)"
)
_TOOLS = {
    "iptables": (
        """\
[ "$1" = -w ] && shift
rules=$ROOT/rules
case $1 in
  -S) cat "$rules" ;;
  -N) ! grep -qxF -e "-N $2" "$rules" && echo "-N $2" >>"$rules" ;;
  -A | -I) echo "-A ${*:2}" | sed -E 's#( -[sd] [0-9.]+)#\\1/32#' >>"$rules" ;;
  -D) grep -qxF -e "-A ${*:2}" "$rules" && sed -i "/^-A ${*:2}\\$/d" "$rules" ;;
  -F) sed -i "/^-A $2 /d" "$rules" ;;
  -X) ! grep -q -e "-j $2\\$" "$rules" && sed -i "/^-N $2\\$/d" "$rules" ;;
  *) exit 2 ;;
esac
"""
    ),
    "iptables-restore": (
        """\
while read -r word rest; do
  case $word in
    :*) iptables -N "${word#:}" ;;
    -A | -I) iptables "$word" $rest ;;
  esac
done
"""
    ),
    "tc": (
        """\
disciplines=$ROOT/disciplines
case $2 in
  show) cat "$disciplines" ;;
  add) [ "$4" = eth1 ] || exit 1
    grep -q 'dev eth1' "$disciplines" && echo 'Error: File exists' >&2 && exit 2
    echo "qdisc $6 8001: dev $4 root refcnt 2 ${*:7}" >>"$disciplines" ;;
  del) sed -i "/ dev $4 /d" "$disciplines" ;;
esac
"""
    ),
    "ip": (
        """\
echo '1: lo    inet 127.0.0.1/8 scope host lo'
echo '9: eth1    inet 172.18.0.2/16 brd 172.18.255.255 scope global eth1'
"""
    ),
    "python3": (
        """\
[[ ${*: -1} != *0x8004587D* ]] || { cp "$ROOT/rules" "$ROOT/rules-before"; : >"$ROOT/powerless"; }
"""
    ),
    "timeout": (
        """\
[[ $4 =~ /dev/tcp/([0-9.]+)/ ]]
[[ $(cat "$ROOT/accepting") != *"${BASH_REMATCH[1]}"* ]] || exit 0
[[ $(cat "$ROOT/hanging") != *"${BASH_REMATCH[1]}"* ]] || exit 124
exit 1
"""
    ),
}


@dataclass
class FakeNode(NodeControl):
    """Everything that a test may change is a field; ``calls`` holds what was done to it."""

    root: Path
    name: str = "galera1"
    kind: Kind = "database"
    calls: list[str] = field(default_factory=list)
    status: str = "running"
    at: str | None = "172.18.0.2"
    now: Limits = field(default_factory=lambda: Limits(2.0, None))
    used_bytes: int = 400_000_000
    refuses_less_than_used: bool = False
    """As control groups of version 1."""
    late: bool = False
    """No command in it ends in time."""
    stays_alive: bool = False
    """Its server survives every signal."""
    _server: "subprocess.Popen[bytes] | None" = None

    def __post_init__(self) -> None:
        for folder in (
            "sandbox",
            "var/lib/mysql",
            "proc/net",
            "proc/self",
            "proc/1",
            "sys/fs/cgroup",
            "bin",
            "helper",
        ):
            (self.root / folder).mkdir(parents=True)
        for name in ("rules", "disciplines", "accepting", "hanging"):
            (self.root / name).write_text("")
        shutil.copy("/proc/self/oom_score_adj", self.root / "proc/1/oom_score_adj")
        for name in MINIMAL:
            (self.root / "bin" / name).symlink_to(shutil.which(name) or f"/bin/{name}")
        for name, text in _TOOLS.items():
            self.tool(name, text, "helper")
        self._use(self.used_bytes)
        self._run_server()

    def tool(self, name: str, text: str, folder: str = "bin") -> None:
        """Puts a program of the test's own in place of one."""
        path = self.root / folder / name
        path.unlink(missing_ok=True)
        path.write_text(f"#!/bin/bash\n{text}")
        path.chmod(0o755)

    def state(self) -> str:
        return self.status

    def address(self) -> str | None:
        return self.at if self.status == "running" else None

    def signal(self, name: str) -> None:
        self._called(f"signal {name}")
        if self.status != "running":
            raise MachineError("the container does not run", self.status, "try: make ps")
        if name == "USR1" and not self.stays_alive:
            self._end_server()
        elif name == "USR2" and self._server is None:
            self._run_server()
        elif name == "KILL":
            self.end("exited (137)")

    def pause(self) -> None:
        self._called("pause")
        self.status = "paused"

    def unpause(self) -> None:
        self._called("unpause")
        self.status = "running" if self.status == "paused" else self.status

    def stop(self, grace_s: float) -> None:
        self._called(f"stop {grace_s:g}")
        self.end("exited (0)")

    def start(self) -> None:
        self._called("start")
        if self.status != "running":
            self.status = "running"
            self._run_server()

    def in_volumes(self, script: str) -> ExecResult:
        self._called("in_volumes")
        return self._run("sh", _MOVED.sub(rf"{self.root}\1", script), "bin")

    def empty_data(self) -> None:
        self._called("empty_data")

    def disconnect(self) -> None:
        self._called("disconnect")
        self.at = None

    def connect(self) -> None:
        self._called("connect")
        self.at = "172.18.0.9"

    def limits(self) -> Limits:
        return self.now

    def limit(self, limits: Limits) -> None:
        self._called(f"limit {limits.cpus} {limits.memory_bytes}")
        too_little = limits.memory_bytes is not None and limits.memory_bytes < self.used_bytes
        if too_little and self.refuses_less_than_used:
            raise MachineError("device or resource busy", "", "")
        self.now = limits
        if too_little and limits.memory_bytes is not None:
            # What is only cached can be given back.
            self._use(max(limits.memory_bytes, 300_000_000))
            if limits.memory_bytes < self.used_bytes:
                self.end("exited (137), out of memory")

    def weigh(self, weight: float) -> None:
        self._called(f"weigh {weight:g}")

    def execute(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._called("execute")
        if self.late:
            raise TimeoutError
        if self.status != "running":
            return ExecResult(1, "", f"Error response from daemon: container is {self.status}")
        if "/dev/zero | tail" in script:
            self.end("exited (137), out of memory")
            return ExecResult(137, "", "")
        answer = self._run("sh", _MOVED.sub(rf"{self.root}\1", script), "bin")
        if (sent := _STOPS.search(script)) and answer.code == 0:
            self._settle({"STOP": "T", "CONT": "S"}[sent[1]])
        return answer

    def ask(self, statement: str, timeout_s: float = 10.0) -> ExecResult:
        return self.execute(asking(statement), timeout_s)

    def in_network(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._called("in_network")
        if self.late:
            raise TimeoutError
        return self._run("bash", script, "helper:bin")

    def beside_disk(self, script: str, timeout_s: float = 10.0) -> ExecResult:
        self._called("beside_disk")
        if self.late:
            raise TimeoutError
        return self._run("bash", script, "helper:bin")

    def write_limit(self, bytes_per_s: int | None) -> None:
        self._called(f"write_limit {bytes_per_s}")

    def release(self) -> None:
        self._called("release")

    def end(self, status: str) -> None:
        """The container ends; its network and its rules go with it."""
        self._end_server()
        self.status = status
        for name in ("rules", "disciplines"):
            (self.root / name).write_text("")

    def close(self) -> None:
        """Ends its server."""
        self._end_server()

    @property
    def whole(self) -> bool:
        """Whether it runs, with a server that does not hang, on the network, unfiltered and
        unlimited.
        """
        rules = (self.root / "rules").read_text() + (self.root / "disciplines").read_text()
        running = self.status == "running" and self._server is not None and self._letter() != "T"
        return running and not rules and self.at is not None and self.now == Limits(2.0, None)

    def page(self, number: int) -> bytes:
        """The number that a page of the ledger has in its header."""
        return (self.root / "var/lib/mysql/sandbox/ledger.ibd").read_bytes()[number * 16384 + 4 :][
            :4
        ]

    def _called(self, what: str) -> None:
        self.calls.append(what)

    def _letter(self) -> str:
        assert self._server is not None
        return Path(f"/proc/{self._server.pid}/stat").read_text().rpartition(")")[2].split()[0]

    def _settle(self, letter: str) -> None:
        """A signal is sent at once, and takes effect when the process next runs."""
        end = time.monotonic() + 10
        while self._letter() != letter:
            assert time.monotonic() < end, f"its server does not get into the state {letter}"
            time.sleep(0.001)

    def _use(self, size: int) -> None:
        self.used_bytes = size
        (self.root / "sys/fs/cgroup/memory.current").write_text(f"{size}\n")

    def _run_server(self) -> None:
        self._server = subprocess.Popen(["sleep", "300"], start_new_session=True)
        (self.root / "sandbox/server.pid").write_text(f"{self._server.pid}\n")
        self._listen("   1: 00000000:0CEA 00000000:0000 0A 00000000:00000000 00:00000000\n")

    def _end_server(self) -> None:
        if self._server is not None:
            os.killpg(self._server.pid, signal.SIGKILL)
            self._server.wait()
        self._server = None
        # A client's, in TIME_WAIT.
        self._listen("   2: 020012AC:0CEA 060012AC:BEEF 06 00000000:00000000 03:00000000\n")

    def _listen(self, sockets: str) -> None:
        (self.root / "proc/net/tcp").write_text("  sl  local_address rem_address   st\n" + sockets)

    def _run(self, shell: str, script: str, folders: str) -> ExecResult:
        path = ":".join(str(self.root / folder) for folder in folders.split(":"))
        env = {"PATH": path, "ROOT": str(self.root)}
        done = subprocess.run(
            [f"/bin/{shell}", "-c", script],
            capture_output=True,
            text=True,
            env=env,
            cwd=self.root,
            check=False,
        )
        return ExecResult(done.returncode, done.stdout, done.stderr)


def scene(targets: Sequence[str] = ("galera1",)) -> Scene:
    """A cluster of three behind a proxy, its client, and a server of another group."""
    return Scene(targets, PEERS, GROUP)
