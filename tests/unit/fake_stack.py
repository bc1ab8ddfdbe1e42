"""A running stack without Docker: a source, its replica and a client, which answer what a test
gives them.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

from sandbox.core.errors import MachineError, SandboxError
from sandbox.record.record import Inputs
from sandbox.stack.protocol import (
    Engine,
    EntryPoint,
    ExecResult,
    NodeControl,
    ReadyAnswer,
    RunningStack,
    ServerRole,
    SettingProof,
    StackNode,
    Standing,
    Stream,
)
from sandbox.stack.server_status import ServerStatus

PASSWORD = "S3cretOfTheRootUser0000x"
CAPTURED = Path(__file__).parent / "load" / "captured"
VARIABLES = {
    "innodb_flush_log_at_trx_commit": "1",
    "wsrep_sst_auth": "sst:pw",
    "report_host": PASSWORD,
}
MOUNTS = "overlay / overlay rw 0 0\n/dev/vda1 /var/lib/mysql ext4 rw 0 0\ntmpfs /run tmpfs rw 0 0\n"
FINGERPRINT = {
    "cpu_model": "Test CPU",
    "cpu_governor": "performance",
    "memory_bytes": 8_000_000_000,
    "kernel": "6.1.0",
    "virtualization": "none",
}


def captured(name: str) -> list[str]:
    """Lines of real sysbench output."""
    return (CAPTURED / f"{name}.txt").read_text(encoding="utf-8").splitlines()


def server(name: str, kind: Any = "database", **changed: Any) -> StackNode:
    """A database node."""
    given: dict[str, Any] = {
        "name": name,
        "term": "mysql@9.7" if kind == "database" else "replica1",
        "component": "mysql" if kind == "database" else "replica",
        "kind": kind,
        "group_index": 1,
        "family": "mysql",
        "topology": "single",
        "image": "sandbox/mysql:9.7-sid",
        "image_id": "sha256:1",
        "image_source": "built",
        "digest": None,
        "package_version": "9.7.4-2",
        "host": name,
        "port": 3306,
    }
    return StackNode(**{**given, **changed})


CLIENT = server(
    "client1", "client", term="client", component="client", family=None, topology=None, port=None
)


class FakeStream:
    """Lines that come one by one; the sampler's end only when its input does."""

    def __init__(self, lines: Sequence[str], code: int = 0, until_closed: bool = False) -> None:
        self.closed = threading.Event()
        self.sent: list[str] = []
        self._lines = lines
        self._code = code
        self._until_closed = until_closed

    def lines(self) -> Iterator[str]:
        yield from self._lines
        if self._until_closed:
            assert self.closed.wait(10), "nobody ended the sampler"

    def send(self, line: str) -> None:
        self.sent.append(line)

    def close_stdin(self) -> None:
        self.closed.set()

    def wait(self, timeout_s: float) -> int:
        return self._code

    def kill(self) -> None:
        self.closed.set()


@dataclass
class FakeStack:
    """Everything a test may change is a field; ``ran`` and ``streamed`` hold the commands that were
    given.
    """

    members: list[StackNode] = field(
        default_factory=lambda: [server("mysql1"), server("replica1", "replica"), CLIENT]
    )
    role_of: dict[str, ServerRole | None] = field(
        default_factory=lambda: {"mysql1": "writer", "replica1": "reader"}
    )
    entry: EntryPoint = field(
        default_factory=lambda: EntryPoint("mysql1", "mysql1", 3306, 1, "writer")
    )
    load_lines: list[str] = field(default_factory=lambda: captured("conflicts-mysql-9.7"))
    load_code: int = 0
    prepare_lines: list[str] = field(default_factory=lambda: ["Creating table 'sbtest1'..."])
    prepare_code: int = 0
    statements_per_load: int = 7100
    conflicts_per_load: int = 31
    polls_behind: int = 0
    proofs: list[SettingProof] = field(default_factory=list)
    dead: dict[str, str] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    """Nodes that do not say what they used."""
    cpu_s: float = 0.0
    """Processor time of every node so far; each load adds its share."""
    cpu_s_per_load: float = 0.71
    marks: dict[str, list[Any]] = field(default_factory=dict)
    """What stands prepared, by the prefix of its tables: family, tables, rows, details."""
    shipped: dict[str, str] = field(default_factory=dict)
    answers: dict[str, list[list[Any]]] = field(default_factory=dict)
    """Rows for statements that begin so, before all else."""
    tables: list[str] = field(default_factory=list)
    on_load: Callable[[], None] = lambda: None
    fail_sql: dict[str, tuple[int, str]] = field(default_factory=dict)
    differences: list[dict[str, Any]] = field(default_factory=list)
    """What differs between its servers, as the program that compares rows says it."""
    status: dict[str, dict[str, int]] = field(default_factory=dict)
    ran: list[list[str]] = field(default_factory=list)
    streamed: list[list[str]] = field(default_factory=list)
    asked: list[tuple[str, str]] = field(default_factory=list)
    streams: list[FakeStream] = field(default_factory=list)
    name: str = "default"
    project: str = "sandbox-default-123456"
    controls: dict[str, Any] = field(default_factory=dict)
    """Node → what a test breaks it with."""
    started: dict[str, str] = field(
        default_factory=lambda: {"mysql1": "1", "replica1": "1", "client1": "1"}
    )
    not_ready: dict[str, str] = field(default_factory=dict)
    states: dict[str, ServerStatus] = field(default_factory=dict)
    within: dict[str, list[str]] = field(default_factory=dict)
    """Node → what a program beside it prints."""
    lacks: dict[str, str] = field(default_factory=dict)
    """What its engine's kernel cannot do → the reason."""
    profile: str = "mysql@9.7+replica1"
    inputs: Inputs = field(
        default_factory=lambda: Inputs(assignments=["innodb_io_capacity=200"], cpus="1")
    )
    variables: dict[str, str] = field(
        default_factory=lambda: {
            "innodb_flush_log_at_trx_commit": "1",
            "wsrep_sst_auth": "sst:pw",
            "report_host": PASSWORD,
        }
    )
    _watermark: Any = None

    def nodes(self) -> list[StackNode]:
        return self.members

    def roles(self) -> Mapping[str, ServerRole | None]:
        return self.role_of

    def entry_point(
        self, via: str | None, roles: Mapping[str, ServerRole | None] | None = None
    ) -> EntryPoint:
        if via == "nowhere":
            raise SandboxError("there is no node 'nowhere'", "known: mysql1", "make ps")
        return self.entry

    def dead_nodes(self) -> Mapping[str, str]:
        return self.dead

    def readiness(self) -> Mapping[str, ReadyAnswer]:
        late = self.not_ready
        return {
            each.name: ReadyAnswer(each.name not in late, late.get(each.name, "ready"))
            for each in self.members
        }

    def standing(self, with_readiness: bool = True) -> Standing:
        return Standing(self.readiness() if with_readiness else {}, self.roles())

    def server_states(self) -> Mapping[str, ServerStatus]:
        return self.states

    def wait_until_ready(self, timeout_s: float) -> None:
        if self.not_ready:
            raise MachineError(
                f"{next(iter(self.not_ready))} is not ready", f"after {timeout_s} s", "try: make ps"
            )

    def control(self, node: str) -> NodeControl:
        found: NodeControl = self.controls[node]
        return found

    def upgrade(self, node: str, version: str) -> None:
        raise MachineError(
            f"{node} cannot be upgraded to {version}", "it is a fake", "try: make ps"
        )

    def lacking(self) -> Mapping[str, str]:
        return self.lacks

    def starts(self) -> Mapping[str, str]:
        return {**self.started}

    def log(self, node: str, since: datetime | None = None) -> str:
        return f"2025-01-31T23:59:59Z {node}: ready, root password is {PASSWORD}\n"

    def engine(self) -> Engine:
        return Engine(
            "28.2.2", "Debian GNU/Linux 13", "6.1.0", "x86_64", "2", "overlay2", 4, 8_000_000_000
        )

    def prove_settings(self) -> Sequence[SettingProof]:
        return self.proofs

    def secrets(self) -> frozenset[str]:
        return frozenset({PASSWORD})

    def run(
        self, node: str, argv: Sequence[str], stdin: str | None = None, timeout_s: float = 60.0
    ) -> ExecResult:
        self.ran.append(list(argv))
        if argv[0] == "cat":
            return ExecResult(0, MOUNTS, "")
        if argv[0] == "rm" or any("mv " in word for word in argv):
            return ExecResult(0, "", "")
        if any("reads /proc and /sys" in word for word in argv):
            return ExecResult(0, json.dumps(FINGERPRINT), "")
        request = json.loads(stdin or "")
        if "files" in request:
            self.shipped |= request["files"]
            return ExecResult(0, json.dumps(request["folder"]), "")
        if "held" in request:
            return ExecResult(0, json.dumps(self._comparison(request)), "")
        answers = {
            target["name"]: self._answer(target["name"], request["statements"])
            for target in request["targets"]
        }
        return ExecResult(0, json.dumps(answers), "")

    def ask_session(
        self, node: str, argv: Sequence[str], line: str, timeout_s: float = 60.0
    ) -> ExecResult:
        if argv[0] == "sh":
            counters = f"cpu.stat;cpu.stat usage_usec {self.cpu_s * 1e6:.0f};io.stat;"
            return (
                ExecResult(1, "", "exited")
                if node in self.silent | set(self.dead)
                else ExecResult(0, counters, "")
            )
        return self.run(node, argv, line, timeout_s)

    def stream(self, node: str, argv: Sequence[str]) -> Stream:
        self.streamed.append(list(argv))
        words = argv[3:] if argv[0] == "nice" else argv
        if words[0] == "python3":
            stream = FakeStream(self._samples(json.loads(words[3])), until_closed=True)
        elif argv[-1] in ("prepare", "create", "fill"):
            stream = FakeStream(self.prepare_lines, self.prepare_code)
        else:
            stream = FakeStream(self.load_lines, self.load_code)
            self._count_load()
        self.streams.append(stream)
        return stream

    def stream_beside(self, node: str, image: str, argv: Sequence[str], weight: float) -> Stream:
        raise MachineError(f"nothing runs beside {node}", "it is a fake", "try: make ps")

    def _comparison(self, request: dict[str, Any]) -> dict[str, Any]:
        """Every server holds the same, but for what a test plants."""
        return {
            "problem": None,
            "unread": {},
            "positions": {},
            "held_ms": 12.0,
            "compared": [server["name"] for server in request["servers"]],
            "tables": 2,
            "rows": 400,
            "differences": self.differences,
            "more": 0,
            "unread_tables": {},
        }

    def stream_within(self, node: str, argv: Sequence[str]) -> Stream:
        self.streamed.append([node, *argv])
        stream = FakeStream(self.within.get(node, []))
        self.streams.append(stream)
        return stream

    def described(self, node: str) -> Mapping[str, Any]:
        return {"Name": node, "Config": {"Env": ["LANG=C.UTF-8", "ADMIN_PASSWORD=hidden"]}}

    def _count_load(self) -> None:
        counters = self._status(self.entry.node)
        counters["Questions"] += self.statements_per_load
        counters["conflicts"] += self.conflicts_per_load
        self.cpu_s += self.cpu_s_per_load
        self.on_load()

    def _status(self, name: str) -> dict[str, int]:
        return self.status.setdefault(
            name, {"Questions": 1000, "Com_select": 500, "Uptime": 60, "conflicts": 2}
        )

    def _answer(self, name: str, statements: list[tuple[str, list[Any] | None]]) -> dict[str, Any]:
        results: list[list[list[Any]]] = []
        for text, values in statements:
            self.asked.append((name, text))
            failure = next(
                (failure for start, failure in self.fail_sql.items() if text.startswith(start)),
                None,
            )
            if failure or name in self.dead:
                code, message = failure or (2003, "cannot connect")
                return {"results": results, "error": message, "error_code": code}
            results.append(self._rows(name, text, values))
        return {"results": results, "error": None, "error_code": None}

    def _rows(self, name: str, text: str, values: list[Any] | None) -> list[list[Any]]:
        """What a server says; the tables of `prepared` are kept as two fields."""
        status = self._status(name)
        if text.startswith("SELECT family"):
            mark = self.marks.get((values or [""])[0])
            return [mark] if mark else []
        scripted = next(
            (rows for start, rows in self.answers.items() if text.startswith(start)), None
        )
        if scripted is not None:
            return scripted
        if text.startswith("REPLACE INTO sandbox_prepared"):
            prefix, *mark = values or [""]
            self.marks[prefix] = mark
        elif text.startswith("DELETE FROM sandbox_prepared"):
            self.marks.pop((values or [""])[0], None)
        elif text.startswith("REPLACE INTO sandbox_watermark"):
            self._watermark = (values or [None])[0]
        elif text.startswith("SELECT watermark"):
            return self._applied(name)
        elif text.startswith("SELECT table_name"):
            return [[table] for table in self.tables]
        elif text.startswith("SELECT @@version"):
            return [["9.7.4-2", "(Debian)", "/var/lib/mysql/"]]
        elif text.startswith("SHOW GLOBAL VARIABLES"):
            return [[variable, value] for variable, value in self.variables.items()]
        elif text.startswith("SHOW GLOBAL STATUS"):
            counted = {**status, "Uptime": status["Uptime"] + int(time.monotonic())}
            return [[counter, str(value)] for counter, value in counted.items()] + [
                ["wsrep_cluster_status", "Primary"]
            ]
        elif "events_errors" in text:
            return [[1213, status["conflicts"]], [1205, 0]]
        return []

    def _applied(self, name: str) -> list[list[Any]]:
        if name != self.entry.node and self.polls_behind:
            self.polls_behind -= 1
            return []
        return [[self._watermark]]

    def _samples(self, request: dict[str, Any]) -> list[str]:
        lines: list[dict[str, Any]] = [{"node": None, "began_utc_s": 1.0}]
        for slot in range(3):
            ticks = {
                "user": 100 * slot,
                "system": 0,
                "idle": 90 * slot,
                "iowait": 0,
                "steal": 10 * slot,
            }
            stalled = {
                "cpu": {"some": 500_000 * slot},
                "io": {"some": 0, "full": 0},
                "memory": None,
            }
            host = {"cpu_ticks": ticks, "stalled_us": stalled, "load_average": 1.5}
            lines.append({"node": None, "slot": slot, "t_s": float(slot), "host": host})
            for target in request["targets"]:
                lines.append(
                    {
                        "node": target["name"],
                        "slot": slot,
                        "t_s": float(slot),
                        "status": {"Questions": slot},
                    }
                )
        return [json.dumps(line) for line in lines]


def is_a_running_stack(stack: FakeStack) -> RunningStack:
    """The type checker's word for it that the fake keeps to the protocol."""
    return stack
