"""The protocol of docs/drivers.md for a module of the DB-API; each program gives its connect."""

import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple


class Opening(NamedTuple):
    """The first line of the input. ``hosts``: (name, port), in the order in which to try them."""

    user: str
    password: str
    schema: str
    timeout_s: int
    mode: str
    transaction: bool
    hosts: list[tuple[str, int]]


def read_opening() -> Opening:
    """The opening, from the first line of the input."""
    _, user, password, schema, timeout_ms, _, transaction, mode, hosts = (
        sys.stdin.readline().rstrip("\n").split("\t")
    )
    places = [each.rpartition(":") for each in hosts.split(",")]
    at = [(name, int(port)) for name, _, port in places]
    timeout_s = max(1, round(int(timeout_ms) / 1000))
    return Opening(user, password, schema, timeout_s, mode, transaction == "1", at)


def say(*fields: object) -> None:
    """One line of the output; fields lose what would end them."""
    print("\t".join(re.sub(r"[\t\r\n]+", " ", str(each)) for each in fields), flush=True)


def code_of(error: Exception) -> object:
    """The number of an error, as DB-API modules give it; else the name of its class."""
    number = getattr(error, "errno", None) or (error.args[0] if error.args else None)
    return number if isinstance(number, int) and number > 0 else type(error).__name__


class Talk:
    """A connection that is kept until an error, as in an application without a pool."""

    def __init__(self, opening: Opening, connect: Callable[[Opening], Any]) -> None:
        self.opening = opening
        self.connect = connect
        self.kept: Any = None
        self.phase = "connect"

    def listen(self, version: str) -> None:
        """Answers line by line until the input ends."""
        say("ready", version)
        for line in sys.stdin:
            verb, number, sql = line.rstrip("\n").split("\t")
            try:
                self.phase = "connect"
                say("ok", number, *self.carry_out(verb, sql))
            except Exception as error:  # noqa: BLE001  (whatever it was: the client got it)
                say("error", number, self.phase, code_of(error), error)

    def carry_out(self, verb: str, sql: str) -> list[object]:
        """The row of a read; nothing for a write."""
        own = self.connect(self.opening) if verb == "fresh" else None
        if own is None and self.kept is None:
            self.kept = self.connect(self.opening)
        connection = own or self.kept
        self.phase = "sent"
        try:
            return self.run(connection, verb, sql)
        except Exception:
            self.drop(connection)
            self.kept = self.kept if own else None
            raise
        finally:
            if own:
                self.drop(own)

    def run(self, connection: Any, verb: str, sql: str) -> list[object]:
        """A statement on a connection that commits by itself, or within a transaction."""
        cursor = connection.cursor()
        in_transaction = self.opening.transaction and verb != "read"
        if in_transaction:
            cursor.execute("BEGIN")
        cursor.execute(sql)
        rows = cursor.fetchall() if verb == "read" else ()
        cursor.close()
        if in_transaction:
            connection.commit()
        found = list(rows[0]) if rows else []
        return [each.decode() if isinstance(each, bytes) else each for each in found]

    def drop(self, connection: Any) -> None:
        """Closes a connection, whatever state it is in."""
        with suppress(Exception):  # it may be lost
            connection.close()
