"""Runs beside driver.py: the programs that use a driver, and their answers (docs/drivers.md)."""

import itertools
import queue
import subprocess
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from sandbox.measure.trial.in_client import prober_links as links
else:
    import prober_links as links  # shipped into the same folder

CONNECT, SENT = "connect", "sent"
NO_ANSWER, ENDED = "no-answer", "program-ended"
GIVEN_UP = (NO_ANSWER, ENDED)
"""Codes after which a program is not asked again: it is stuck, or gone."""
READY_LIMIT_S = 30.0
"""A Java machine on a busy host takes seconds."""
ANSWER_LIMIT_S = 30.0
"""Longer than a driver takes that tries each of its hosts: then its program is given up."""
NOTHING = "SELECT 1, 0, NULL"
"""What a program reads before the first slot: a connection is there, as in a warm pool."""


class Answer(NamedTuple):
    """The end of one statement. ``code``: `links.NONE` for one that went well.

    ``phase``: `CONNECT`, where nothing was sent that may take effect; else `SENT`.
    """

    fields: tuple[str, ...] = ()
    phase: str = SENT
    code: links.Code = links.NONE
    text: str = ""


class ProgramError(Exception):
    """A program that does not start."""


def answer_of(kind: str, fields: Sequence[str]) -> Answer:
    """The answer of a program's line. Raises ValueError for one that is none."""
    if kind == "ok":
        return Answer(tuple(fields))
    if kind != "error":
        raise ValueError(kind)
    phase, code, text = fields
    # An SQL state such as 08000 is no number of an error.
    is_number = code.isdecimal() and not code.startswith("0")
    known = int(code) if is_number else code.replace(" ", "-") or "error"
    return Answer((), CONNECT if phase == CONNECT else SENT, known, text)


class Program:
    """One process of a program: a line in for each statement, a line out for its end."""

    def __init__(self, argv: Sequence[str], folder: str, opening: str) -> None:
        self.last_words = ""
        self.ended = False
        self.version = ""
        self._ready = threading.Event()
        self._numbers = itertools.count(1)
        self._waiting: dict[str, queue.SimpleQueue[Answer]] = {}
        self._guard = threading.Lock()
        self._process = subprocess.Popen(
            argv,
            cwd=folder,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            encoding="utf-8",
            errors="replace",
            bufsize=1,
        )
        threading.Thread(target=self._read, daemon=True).start()
        self._send(opening)

    def wait_until_ready(self) -> None:
        """Raises ProgramError where it does not get there."""
        if not self._ready.wait(READY_LIMIT_S) or self.ended:
            self.kill()
            raise ProgramError(self.last_words or f"not ready after {READY_LIMIT_S:.0f} s")

    def ask(self, verb: str, sql: str, limit_s: float = ANSWER_LIMIT_S) -> Answer:
        """Sends a statement and waits for its end."""
        number = str(next(self._numbers))
        box: queue.SimpleQueue[Answer] = queue.SimpleQueue()
        with self._guard:
            self._waiting[number] = box
        self._send(f"{verb}\t{number}\t{sql}")
        if self.ended:
            self._give_up()
        try:
            return box.get(timeout=limit_s)
        except queue.Empty:
            return Answer((), SENT, NO_ANSWER, f"the driver did not return in {limit_s:g} s")
        finally:
            self._waiting.pop(number, None)

    def kill(self) -> None:
        """Ends it at once."""
        with suppress(OSError):
            self._process.kill()

    def _send(self, line: str) -> None:
        stdin: Any = self._process.stdin
        with suppress(OSError, ValueError), self._guard:
            stdin.write(line + "\n")
            stdin.flush()

    def _read(self) -> None:
        for line in self._process.stdout or ():
            kind, *fields = line.rstrip("\n").split("\t")
            if kind == "ready":
                self.version = " ".join(fields)
                self._ready.set()
                continue
            try:
                number, *rest = fields
                answer = answer_of(kind, rest)
            except ValueError:  # a warning of the driver
                self.last_words = line.strip() or self.last_words
                continue
            if box := self._waiting.get(number):
                box.put(answer)
        self.ended = True
        self._ready.set()
        self._give_up()

    def _give_up(self) -> None:
        """The end of every statement under way in a program that has ended."""
        with self._guard:
            waiting = list(self._waiting.values())
        for box in waiting:
            box.put(Answer((), SENT, ENDED, self.last_words or "its program ended"))


class Programs:
    """All processes of a driver: one that works concurrently, or as many as there are connections,
    each of which has one statement at a time, as the workers of an application server.
    """

    def __init__(
        self, begin: Callable[[], Program], connections: int, concurrent: bool, free_s: float
    ) -> None:
        """``free_s``: how long a statement waits for a process that is free."""
        self._begin = begin
        self._free_s = free_s
        self._free: queue.LifoQueue[Program] = queue.LifoQueue()
        begun = [begin() for _ in range(1 if concurrent else connections)]
        for each in begun:
            each.wait_until_ready()
            each.ask("read", NOTHING)
        self.version = begun[0].version
        self._concurrent = begun[0] if concurrent else None
        self._restarting = threading.Lock()
        """Guards the one that works concurrently, where it has ended."""
        for each in begun:
            self._free.put(each)

    def ask(self, verb: str, sql: str) -> Answer:
        """The end of a statement, in the process that is free."""
        if self._concurrent is not None:
            return self._alive().ask(verb, sql)
        try:
            program = self._free.get(timeout=self._free_s)
        except queue.Empty:
            text = f"no connection was free within {self._free_s:g} s"
            return Answer((), CONNECT, "none-free", text)
        answer = program.ask(verb, sql)
        if answer.code in GIVEN_UP:
            program.kill()
            program = self._begin()
        self._free.put(program)
        return answer

    def _alive(self) -> Program:
        with self._restarting:
            if self._concurrent is None or self._concurrent.ended:
                self._concurrent = self._begin()
            return self._concurrent
