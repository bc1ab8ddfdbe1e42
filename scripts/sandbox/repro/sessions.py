"""The sessions of a repro from this side: one program in the client node that holds them all."""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.record.repro import Row, Warned
from sandbox.repro import in_client
from sandbox.stack.client_python import end_stream, script_argv
from sandbox.stack.protocol import RunningStack, Stream

_ANSWER_S = 10.0
_END_S = 5.0
_CLOCK_LOOKS = 4


@dataclass(slots=True)
class Sent:
    """A statement that was sent, and what has come of it. Times are µs of the program's clock."""

    session: str
    began_us: int | None = None
    """Null: the session has not come to it yet."""
    connection: int | None = None
    """The server's number of the session's connection."""
    ended_us: int | None = None
    rows: list[list[Row]] = field(default_factory=list)
    affected: int | None = None
    warnings: list[Warned] = field(default_factory=list)
    error_code: int | None = None
    error: str | None = None


class Sessions:
    """Opens sessions, sends statements, hears what comes. Harmless to close twice."""

    def __init__(self, stack: RunningStack, client: str) -> None:
        self._stack = stack
        self._client = client
        self._stream: Stream | None = None
        self._changed = threading.Condition()
        self._sent: dict[int, Sent] = {}
        self._places: dict[str, tuple[str, int, str, str]] = {}
        self._clocks: dict[int, int] = {}
        self._offset_us = 0.0
        self._last_words = "it printed nothing"
        self._ended = False
        self.pending: dict[str, Sent] = {}
        """Session → its statement that has not ended when its step was over."""

    def is_open(self, session: str) -> bool:
        """Whether a session of that name is known."""
        return session in self._places

    def host_of(self, session: str) -> str | None:
        """The host at which a session was opened."""
        at = self._places.get(session)
        return at[0] if at else None

    def open(self, session: str, host: str, port: int, account: str, schema: str) -> None:
        """Names a session; an earlier one of the name with another place is closed."""
        at = (host, port, account, schema)
        if self._places.get(session) == at:
            return
        if session in self._places:
            self.close_session(session)
        self._places[session] = at
        request = {"open": session, "host": host, "port": port}
        self._send({**request, "account": account, "schema": schema})

    def send(
        self, session: str, sql: Sequence[str], warnings: bool = False, half: bool = False
    ) -> Sent:
        """Sends statements to a session; what comes of the last of them. ``half``: only the first
        half of its packet is sent.
        """
        with self._changed:
            number = len(self._sent) + 1
            sent = self._sent[number] = Sent(session)
        request = {"run": number, "session": session, "sql": list(sql), "warnings": warnings}
        self._send({**request, "half": half})
        return sent

    def wait(self, sent: Sent, limit_s: float) -> bool:
        """Whether a statement ended within the limit. Raises MachineError where the program
        ended.
        """
        with self._changed:
            self._changed.wait_for(lambda: sent.ended_us is not None or self._ended, limit_s)
            if sent.ended_us is None and self._ended:
                raise self._broken()
        return sent.ended_us is not None

    def wait_until_begun(self, sent: Sent, limit_s: float) -> bool:
        """Whether a statement was sent to its server within the limit, or has ended."""
        with self._changed:
            self._changed.wait_for(
                lambda: sent.began_us is not None or sent.ended_us is not None or self._ended,
                limit_s,
            )
        return sent.began_us is not None

    def connections(self) -> dict[int, str]:
        """The server's number of a connection → the session that has it."""
        with self._changed:
            known = [each for each in self._sent.values() if each.connection is not None]
        return {each.connection: each.session for each in known if each.connection is not None}

    def cut(self, session: str) -> None:
        """Ends a session's connection as a killed client does; what it waits for is forgotten."""
        self.pending.pop(session, None)
        self._send({"cut": session})

    def close_session(self, session: str) -> None:
        """Ends a session, whatever it waits for."""
        self._places.pop(session, None)
        self.pending.pop(session, None)
        self._send({"close": session})

    def close_all(self) -> None:
        """Ends every session; the program stays for the next ones."""
        for session in list(self._places):
            self.close_session(session)

    def close(self) -> None:
        """Ends the program and with it every session."""
        stream, self._stream = self._stream, None
        if stream is not None:
            end_stream(stream, _END_S)
        self._places.clear()
        self.pending.clear()

    def start(self) -> None:
        """Starts the program, if it does not run, and reads its clock. Raises MachineError."""
        if self._stream is not None:
            return
        self._ended = False
        argv = script_argv(in_client.__name__, "sessions")
        self._stream = self._stack.stream(self._client, argv)
        reader = threading.Thread(target=self._read, args=(self._stream,), daemon=True)
        reader.start()
        self._read_clock()

    def our_ns(self, us: int) -> float:
        """A time of the program's clock on our monotonic one, ns."""
        return (us + self._offset_us) * 1000

    def _read_clock(self) -> None:
        """The middle of a question and its answer: the client may be in a machine of its own.

        Of several the one that was answered soonest: the first waits for the program to begin.
        """
        soonest_ns = float("inf")
        for _ in range(_CLOCK_LOOKS):
            asked_ns = time.monotonic_ns()
            self._send({"clock": asked_ns})
            answered_ns = self._answered_ns(asked_ns)
            if answered_ns - asked_ns < soonest_ns:
                soonest_ns = answered_ns - asked_ns
                middle_us = (asked_ns + answered_ns) / 2000
                self._offset_us = middle_us - self._clocks[asked_ns]

    def _answered_ns(self, asked_ns: int) -> int:
        with self._changed:
            self._changed.wait_for(lambda: asked_ns in self._clocks or self._ended, _ANSWER_S)
        if asked_ns not in self._clocks:
            raise self._broken()
        return time.monotonic_ns()

    def _send(self, request: dict[str, Any]) -> None:
        self.start()
        if self._ended or self._stream is None:
            raise self._broken()
        self._stream.send(json.dumps(request))

    def _broken(self) -> MachineError:
        what = "the sessions have ended with their program"
        return MachineError(what, self._last_words, "try: make ps")

    def _read(self, stream: Stream) -> None:
        try:
            for line in stream.lines():
                if line.startswith("{"):
                    self._hear(json.loads(line))
                elif line.strip():
                    self._last_words = line.strip()
        finally:
            with self._changed:
                if stream is self._stream or self._stream is None:
                    self._ended = True
                self._changed.notify_all()

    def _hear(self, answer: dict[str, Any]) -> None:
        with self._changed:
            if "begun" in answer:
                sent = self._sent[answer["begun"]]
                if sent.began_us is None:
                    sent.began_us = answer["us"]
                sent.connection = answer["connection"]
            elif "done" in answer:
                sent = self._sent[answer["done"]]
                error = answer["error"]
                sent.rows = answer["rows"]
                sent.affected = answer["affected"]
                sent.warnings = [
                    Warned(level=level, code=int(code), text=text)
                    for level, code, text in answer["warnings"]
                ]
                sent.error_code = error and error["code"]
                sent.error = error and error["text"]
                sent.ended_us = answer["us"]
            elif "clock" in answer:
                self._clocks[answer["clock"]] = answer["us"]
            self._changed.notify_all()
