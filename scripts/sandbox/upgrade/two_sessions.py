"""Two sessions on one server: what a transaction comes to where another one changes its row, and
how long a query takes.
"""

from collections.abc import Sequence

from sandbox.record.upgrade import ProbedTransaction
from sandbox.repro.sessions import Sent, Sessions
from sandbox.stack.protocol import StackNode
from sandbox.upgrade.sql_text import on_one_line
from sandbox.upgrade.transactions import ReadThenWrite

REPEATS = 11
"""Of a query whose time is in question, on each server, alternately; the fastest counts: a busy
machine makes a query slower, and none faster.
"""
CHANGED_SINCE = 1020
_LIMIT_S = 30.0
_LOCK_WAIT_S = 2
"""Of the second session: a transaction that has locked the row lets nobody change it."""


class TwoSessions:
    """The sessions of the probes; harmless to close twice."""

    def __init__(self, sessions: Sessions, ours: str) -> None:
        """``ours``: the schema where the log says none."""
        self._sessions = sessions
        self._schema = ours

    def close(self) -> None:
        """Ends the program that holds them."""
        self._sessions.close()

    def probe(self, node: StackNode, tried: ReadThenWrite) -> tuple[bool | None, str]:
        """Whether the transaction fails since its row changed, and what was seen.

        The first session begins and reads, the second one changes the row and commits, the first
        one writes; then it is rolled back.
        """
        try:
            return self._probed(node, tried)
        finally:
            self._sessions.close_all()

    def _probed(self, node: StackNode, tried: ReadThenWrite) -> tuple[bool | None, str]:
        self._open("first", node, tried.schema)
        self._open("second", node, tried.schema)
        for each in (*tried.settings, *tried.before):
            sent = self._run("first", each.text)
            if sent.error is not None and each in tried.before:
                return None, f"cannot begin: {_error(sent)}"
        self._run("second", f"SET SESSION innodb_lock_wait_timeout = {_LOCK_WAIT_S}")
        changed = self._run("second", tried.other.text)
        if changed.error is not None:
            return None, f"the other session cannot change the row: {_error(changed)}"
        if not changed.affected:
            return None, "the other session finds no row to change"
        outcome = self._run("first", tried.tried.text)
        self._run("first", "ROLLBACK")
        if outcome.error is None:
            return False, "no error"
        return outcome.error_code == CHANGED_SINCE, _error(outcome)

    def fastest_ms(
        self, old: StackNode, new: StackNode, query: str, schema: str | None
    ) -> tuple[float, float] | None:
        """The shortest times of a query on both servers, in ms; None where it fails."""
        self._open("old", old, schema)
        self._open("new", new, schema)
        times: dict[str, list[float]] = {"old": [], "new": []}
        for _ in range(REPEATS):
            for name, found in times.items():
                sent = self._run(name, query)
                if sent.error is not None or sent.began_us is None or sent.ended_us is None:
                    return None
                found.append((sent.ended_us - sent.began_us) / 1000)
        return min(times["old"]), min(times["new"])

    def _open(self, session: str, node: StackNode, schema: str | None) -> None:
        wanted = schema or self._schema
        self._sessions.open(session, node.host, node.port or 0, "root", wanted)

    def _run(self, session: str, sql: str) -> Sent:
        sent = self._sessions.send(session, [sql])
        if not self._sessions.wait(sent, _LIMIT_S):
            sent.error = f"no answer within {_LIMIT_S:g} s"
        return sent


def _error(sent: Sent) -> str:
    code = f"error {sent.error_code}: " if sent.error_code else ""
    return f"{code}{sent.error}"


def probed_transaction(
    tried: ReadThenWrite, old: tuple[bool | None, str], new: tuple[bool | None, str]
) -> ProbedTransaction:
    """What a record holds of a probe: outcomes on the older and the newer server."""
    return ProbedTransaction(
        statements=one_line_each([each.text for each in (*tried.before, tried.tried)]),
        other=on_one_line(tried.other.text),
        count=tried.count,
        on_from=old[1],
        on_to=new[1],
        fails_on_to=new[0],
    )


def one_line_each(statements: Sequence[str]) -> list[str]:
    """Each statement on one line."""
    return [on_one_line(each) for each in statements]
