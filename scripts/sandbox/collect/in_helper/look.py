"""Runs in a container beside a node, with its processes, files and network: asks its server, runs
scripts, dumps its core.

The request is a line of JSON on the input. Each answer is one on the output, as soon as it is
there: ``file`` and ``text``, or ``missing`` and ``reason``; of a core ``file`` and ``base64``, part
by part. The last line is ``{"done": true}``. Nothing outlives ``deadline_s``.
"""

import base64
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pymysql

ROOT = "/proc/1/root"
NODE = Path("/proc/1/ns/mnt")
"""What the node's own processes have, and this container's have not."""
PROGRAMS = ("mysqld", "mariadbd", "garbd", "haproxy", "mysqlrouter", "proxysql", "maxscale")
CONNECTIONS = 3
"""To a server at once: one statement that hangs must not keep the others from being asked."""
SCRIPTS = 4
"""At once, beside the connections."""
LAST_S = 1.5
"""For what a script that is cut has said by then."""
LARGEST = 32_000_000
"""Characters of one answer: of a longer one the end is kept."""
PART = 3_000_000
SESSION = (
    # None of what is asked may wait for locks, for the cluster, or for longer than we do.
    "set session lock_wait_timeout = 2",
    "set session innodb_lock_wait_timeout = 2",
    "set session max_statement_time = 5",
    "set session max_execution_time = 5000",
    "set session wsrep_sync_wait = 0",
    "set session wsrep_dirty_reads = 1",
    "set session group_replication_consistency = 'EVENTUAL'",
    "set session transaction isolation level read uncommitted",
)
"""A server that does not know one of them goes on without it."""
ESCAPES = str.maketrans({"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\0": "\\0"})
_saying = threading.Lock()


def say(**answer: Any) -> None:
    """One answer."""
    line = json.dumps(answer)
    with _saying:
        print(line, flush=True)


def shown(cell: Any) -> str:
    """A value as text."""
    if cell is None:
        return "NULL"
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell)


def written(names: list[str], rows: list[tuple[Any, ...]], layout: str) -> str:
    """Rows as the text of a file."""
    if layout == "text":
        return "\n".join(shown(row[-1]) for row in rows) + "\n"
    if layout == "vertical":
        lines = []
        for number, row in enumerate(rows, 1):
            lines.append(f"*** row {number} of {len(rows)} ***")
            lines += [f"{name}: {shown(cell)}" for name, cell in zip(names, row, strict=True)]
        return "\n".join([*lines, ""]) if rows else "no rows\n"
    lines = ["\t".join(names)]
    lines += ["\t".join(shown(cell).translate(ESCAPES) for cell in row) for row in rows]
    return "\n".join(lines) + "\n"


class ServerIsSilentError(Exception):
    """Nothing more can be asked on a connection."""


class Questioner(threading.Thread):
    """One connection, which asks what is in a queue until it is empty."""

    def __init__(self, asked: "queue.SimpleQueue[dict[str, Any]]", request: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self._asked = asked
        self._request = request
        self._connection: Any = None
        self.trouble = ""
        """Why it could not connect."""

    def run(self) -> None:
        while True:
            if self._connection is None and not self._connect():
                return
            try:
                piece = self._asked.get_nowait()
            except queue.Empty:
                return
            try:
                say(file=piece["file"], text=self._answer(piece)[-LARGEST:])
            except ServerIsSilentError as problem:
                say(missing=piece["file"], reason=str(problem))
                with suppress(pymysql.MySQLError, OSError):
                    self._connection.close()
                self._connection = None
            except pymysql.MySQLError as problem:  # one that the server refuses
                say(missing=piece["file"], reason=f"{type(problem).__name__}{problem.args}")

    def _connect(self) -> bool:
        limit_s = self._request["limit_s"]
        try:
            self._connection = pymysql.connect(
                read_default_file=self._request["account"],
                **self._request["address"],
                connect_timeout=max(1, int(limit_s)),
                read_timeout=limit_s,
                write_timeout=limit_s,
                charset="utf8mb4",
                autocommit=None,
                conv={},
            )
        except (pymysql.MySQLError, OSError, RuntimeError) as problem:
            self.trouble = f"no connection within {limit_s:g} s: {problem}"
            return False
        for statement in SESSION:
            with suppress(pymysql.MySQLError), self._connection.cursor() as cursor:
                cursor.execute(statement)
        return True

    def _answer(self, piece: dict[str, Any]) -> str:
        """The answer to the first statement that the server knows. Raises what the last one did."""
        *others, last = piece["statements"]
        for statement in others:
            with suppress(pymysql.MySQLError):
                return self._rows(statement, piece["layout"])
        return self._rows(last, piece["layout"])

    def _rows(self, statement: str, layout: str) -> str:
        began_s = time.monotonic()
        try:
            with self._connection.cursor() as cursor:
                cursor.execute(statement)
                names = [column[0] for column in cursor.description or ()]
                return written(names, list(cursor.fetchall()), layout)
        except (pymysql.err.OperationalError, pymysql.err.InterfaceError, OSError) as problem:
            code = problem.args[0] if problem.args else None
            if isinstance(code, int) and code not in (0, 2006, 2013, 2014, 2055):
                raise
            after_s = time.monotonic() - began_s
            text = f"no answer within {after_s:.1f} s: {problem}"
            raise ServerIsSilentError(text) from problem


def ask_server(request: dict[str, Any]) -> None:
    """Asks over a few connections; what none of them comes to has the reason of their end."""
    asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    for piece in request["pieces"]:
        asked.put(piece)
    questioners = [Questioner(asked, request) for _ in range(CONNECTIONS)]
    for each in questioners:
        each.start()
    for each in questioners:
        each.join()
    trouble = next((each.trouble for each in questioners if each.trouble), "")
    while not asked.empty():
        say(missing=asked.get()["file"], reason=trouble)


def run_scripts(
    asked: "queue.SimpleQueue[dict[str, Any]]", functions: str, known: dict[str, str], end_s: float
) -> None:
    """Runs the scripts of a queue, one after the other; none begins after ``end_s``."""
    with suppress(queue.Empty):
        while True:
            piece = asked.get_nowait()
            if time.monotonic() < end_s:
                run_script(piece, functions, known, end_s)
            else:
                say(missing=piece["file"], reason="the others left no time for it")


def run_script(piece: dict[str, Any], functions: str, known: dict[str, str], end_s: float) -> None:
    """The output of a script, as far as it came within its time; of one that fails also its
    errors. ``known``: variables of its environment.
    """
    limit_s = max(0.1, min(piece["limit_s"], end_s - time.monotonic()))
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            ["bash", "-c", f"{functions}\n{piece['script']}"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            env={**os.environ, **known, "SANDBOX_LIMIT_S": f"{max(0.5, limit_s - 1.5):.1f}"},
        )
        reason = ""
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            reason = f"no end within {limit_s:.1f} s"
        with suppress(ProcessLookupError):  # what it left behind would become the node's
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        text, said = content(output), content(errors)
    last = said.strip().rpartition("\n")[2]
    if process.returncode and not reason:
        reason = last or f"exit code {process.returncode}"
    if text or not reason:
        more = f"\n[errors]\n{said}" if said else ""
        say(file=piece["file"], text=text + more)
    if reason and (not text or reason.startswith("no end")):
        say(missing=piece["file"], reason=f"{reason}{', cut there' if text else ''}")


def own_processes() -> list[str]:
    """Process ids of the node itself, without this container's own."""
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):  # it has ended, or has no files
            if (path / "ns" / "mnt").readlink() == NODE.readlink():
                found.append(path.name)
    return sorted(found, key=int)


def programs(processes: list[str]) -> list[str]:
    """Those among some processes that run a program which serves."""
    found = []
    for process in processes:
        with suppress(OSError):
            name = Path(f"/proc/{process}/exe").readlink().name.removesuffix(" (deleted)")
            if name.startswith(PROGRAMS):
                found.append(process)
    return found


def content(file: Any) -> str:
    """The text of a file, of a long one its end."""
    length = file.seek(0, os.SEEK_END)
    file.seek(max(0, length - LARGEST))
    return str(file.read().decode("utf-8", "replace"))


def dump_cores(pids: list[str], limit_s: float) -> None:
    """The core of each program: it stands still meanwhile."""
    if not pids:
        say(missing="core", reason="no program that serves runs in the node")
    for pid in pids:
        name = f"core.{Path(f'/proc/{pid}/exe').readlink().name}.{pid}"
        was_stopped = is_stopped(pid)
        try:
            dump_core(pid, name, limit_s)
        except (OSError, subprocess.SubprocessError) as problem:
            say(missing=name, reason=str(problem))
        # The signal of a debugger that was ended too early would stop the server for good.
        if is_stopped(pid) and not was_stopped:
            os.kill(int(pid), signal.SIGCONT)


def is_stopped(pid: str) -> bool:
    """Whether a signal has stopped a process."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T"
    return False


def dump_core(pid: str, name: str, limit_s: float) -> None:
    """One core, compressed on its way. Raises OSError and SubprocessError."""
    with tempfile.TemporaryDirectory() as folder:
        core = Path(folder, "core")
        orders = [f"set sysroot {ROOT}", "set auto-load off", "set debuginfod enabled off"]
        orders += [f"attach {pid}", f"generate-core-file {core}", "detach"]
        argv = ["gdb", "-nx", "-batch", *(word for each in orders for word in ("-ex", each))]
        done = subprocess.run(
            argv, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit_s,
            check=False,
        )  # fmt: skip
        if not core.is_file():
            last = (done.stderr.strip() or done.stdout.strip()).rpartition("\n")[2]
            raise OSError(f"gdb: {last or f'exit code {done.returncode}'}")
        subprocess.run(["zstd", "-q", "-1", "-T0", "--rm", core], check=True, timeout=limit_s)
        with core.with_name("core.zst").open("rb") as file:
            while part := file.read(PART):
                say(file=name, base64=base64.b64encode(part).decode())


def begun(act: Callable[..., None], arguments: Iterable[tuple[Any, ...]]) -> list[threading.Thread]:
    """A thread for each."""
    threads = [threading.Thread(target=act, args=each, daemon=True) for each in arguments]
    for thread in threads:
        thread.start()
    return threads


def run_all(pieces: list[dict[str, Any]], functions: str, end_s: float) -> None:
    """Runs scripts, some at once; those that take seconds last, for they slow down the others."""
    own = own_processes()
    known = {"SANDBOX_OWN": " ".join(own), "SANDBOX_PROGRAMS": " ".join(programs(own))}
    for is_late in (False, True):
        asked: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
        for piece in pieces:
            if piece["is_late"] is is_late:
                asked.put(piece)
        for thread in begun(run_scripts, [(asked, functions, known, end_s)] * SCRIPTS):
            thread.join()


def main() -> None:
    """Everything at once, the core alone at the end."""
    request = json.loads(sys.stdin.readline())
    end_s = time.monotonic() + request["deadline_s"]
    threads = begun(ask_server, [(each,) for each in request["sql"]])
    threads += begun(run_all, [(request["scripts"], request["functions"], end_s - LAST_S)])
    for thread in threads:
        thread.join(max(0.0, end_s - time.monotonic()))
    if request["core_limit_s"]:
        dump_cores(programs(own_processes()), request["core_limit_s"])
    say(done=True)
    os._exit(0)  # what has not ended by now is not waited for


if __name__ == "__main__":
    main()
