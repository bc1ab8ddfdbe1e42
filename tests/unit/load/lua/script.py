"""A workload's Lua without sysbench: real LuaJIT states and threads, a server that a test answers
for.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from lupa.luajit21 import LuaRuntime

import sandbox.load

WORKLOADS = Path(sandbox.load.__file__).parent
Answer = Callable[[str], Sequence[Sequence[Any]]]

_SYSBENCH = """
package.path = ...
sysbench = {opt = {mysql_host = {"mysql1"}}, hooks = {}, cmdline = {PARALLEL_COMMAND = true}, tid = 0}
"""  # noqa: E501
# A clock that moves only when it is asked.
_CLOCK = """
local tick_s = ...
local ffi, now = require("ffi"), 0
local function clock_gettime(_, time)
   now = now + tick_s
   time.seconds, time.nanoseconds = math.floor(now), now % 1 * 1e9
end
local C = setmetatable({clock_gettime = clock_gettime}, {__index = ffi.C})
package.loaded.ffi = setmetatable({C = C}, {__index = ffi})
"""
# A refused statement comes back as its code and message: an error that is a table cannot pass
# through Python.
_MYSQL = """
local connect, query, close = ...
local function checked(rows, code, message)
   if code then error({code = code, message = message}, 0) end
   return rows
end
package.preload["mysql"] = function()
   return {connect = function(_, host)
      checked(connect(host))
      return {query = function(_, statement) return checked(query(statement)) end, close = close}
   end}
end
"""


class ServerError(Exception):
    """What a server refuses with."""

    def __init__(self, code: int, message: str = "refused by a test") -> None:
        super().__init__(message)
        self.code = code


class Server:
    """``answer`` gives the rows of a statement, or raises ServerError."""

    def __init__(self, answer: Answer = lambda _: ()) -> None:
        self.answer = answer
        self.sent: list[str] = []
        self.connected = self.closed = 0
        self.hosts: list[str] = []
        """Of each connection, in order."""

    def connect(self) -> None:
        """Counts a connection."""
        self.connected += 1

    def close(self, *_: Any) -> None:
        """Counts a disconnection."""
        self.closed += 1

    def query(self, statement: str) -> Sequence[Sequence[Any]]:
        """The rows of a statement."""
        self.sent.append(statement)
        return self.answer(statement)


class State:
    """One Lua state, as sysbench has one for each thread."""

    def __init__(self, server: Server, options: dict[str, Any], printed: list[str]) -> None:
        self.printed = printed
        self.lua = LuaRuntime(unpack_returned_tuples=True)
        path = f"{WORKLOADS}/common/?.lua;{WORKLOADS}/?.lua"
        self.lua.execute(_SYSBENCH, path)
        for name, value in options.items():
            self.lua.globals().sysbench.opt[name] = value
        self.lua.globals().io.write = lambda *parts: printed.append("".join(map(str, parts)))
        self.lua.globals().io.flush = lambda: None

        def connect(host: str) -> None:
            server.hosts.append(host)
            server.connect()

        self.lua.execute(
            _MYSQL, self._refusable(connect), self._refusable(server.query), server.close
        )

    def _refusable(self, call: Callable[..., Any]) -> Callable[..., Any]:
        def guarded(*arguments: Any) -> Any:
            try:
                rows = call(*arguments)
            except ServerError as refused:
                return None, refused.code, str(refused)
            return self.lua.table_from([self.lua.table_from(_cells(row)) for row in rows or ()])

        return guarded

    def run(self, script: str) -> Any:
        """Runs a file of the workloads; returns what it returns."""
        return self.lua.eval("dofile(...)", str(WORKLOADS / script))

    def require(self, module: str) -> Any:
        """A module of the workloads."""
        return self.lua.eval("require(...)", module)


def _cells(row: Sequence[Any]) -> dict[int, str]:
    """Cells as the client library gives them: text; a NULL is missing."""
    return {place: str(cell) for place, cell in enumerate(row, start=1) if cell is not None}


class Load:
    """A whole load as sysbench runs it: threads on states of their own, a report every second, a
    summary.

    With ``tick_s`` the clock moves by that much whenever a thread asks for the time: a bound in
    work, on any machine.
    """

    def __init__(
        self,
        script: str,
        server: Server,
        *,
        threads: int = 2,
        seconds: float = 0.2,
        tick_s: float | None = None,
        **options: Any,
    ) -> None:
        background = options.get("background_threads", 0)
        given = {"seed": 7, "background_threads": background, **options}
        self.options: dict[str, Any] = {name: str(value) for name, value in given.items()}
        self.options |= {"threads": threads + background, "time": seconds}
        self.printed: list[str] = []
        self.server, self.tick_s = server, tick_s
        self.main = self.state(script)
        self.states = [self.state(script) for _ in range(self.options["threads"])]

    def state(self, script: str) -> State:
        """Another state with the script loaded."""
        made = State(self.server, self.options, self.printed)
        if self.tick_s:
            made.lua.execute(_CLOCK, self.tick_s)
        made.run(script)
        return made

    def run(self) -> list[dict[str, Any]]:
        """The lines that it printed."""
        self.main.lua.globals().init()
        for number, state in enumerate(self.states):
            state.lua.globals().thread_init(number)
        threads = [threading.Thread(target=state.lua.globals().thread_run) for state in self.states]
        for thread in threads:
            thread.start()
        self._report_while(threads)
        self.main.lua.globals().sysbench.hooks.report_cumulative()
        return self.lines()

    def _report_while(self, threads: list[threading.Thread]) -> None:
        due = time.monotonic() + 1
        while any(thread.is_alive() for thread in threads):
            time.sleep(0.005)
            if time.monotonic() >= due:
                due += 1
                self.main.lua.globals().sysbench.hooks.report_intermediate()

    def lines(self) -> list[dict[str, Any]]:
        """What was printed so far."""
        return [json.loads(line) for line in "".join(self.printed).splitlines()]
