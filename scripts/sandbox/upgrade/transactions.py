"""PURE: the transactions of a log, by connection; those that read, then write."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from sandbox.upgrade.log_file import LoggedStatement
from sandbox.upgrade.sql_text import fingerprint, kind_of, names_and_words, words

_MODIFIERS = frozenset(
    ("LOW_PRIORITY", "IGNORE", "QUICK", "DELAYED", "HIGH_PRIORITY", "INTO", "FROM", "ONLY")
)
_SHORTEST = 2
"""Statements of a transaction that reads, then writes."""
MOST_PROBES = 50
"""Distinct transactions that are tried."""


@dataclass(slots=True)
class LoggedTransaction:
    """A transaction of one connection. ``settings``: its SET statements of the session before."""

    connection: int | None
    settings: tuple[LoggedStatement, ...] = ()
    statements: list[LoggedStatement] = field(default_factory=list)
    """From its BEGIN to its end, where the log has one."""


@dataclass(frozen=True, slots=True)
class ReadThenWrite:
    """The first part of a transaction that has a snapshot, up to the statement that locks a row."""

    settings: tuple[LoggedStatement, ...]
    before: tuple[LoggedStatement, ...]
    """From its BEGIN on."""
    tried: LoggedStatement
    """Locks rows: what may end with error 1020 where they changed."""
    other: LoggedStatement
    """Changes the same rows, from another session."""
    count: int = 1

    @property
    def schema(self) -> str | None:
        """The schema in which it runs."""
        return self.tried.schema


class _OpenTransactions:
    """The state of each connection while the log is read."""

    def __init__(self) -> None:
        self.open: dict[int | None, LoggedTransaction] = {}
        self.settings: dict[int | None, list[LoggedStatement]] = {}
        self.begins_by_itself: set[int | None] = set()
        """Those with autocommit off."""

    def begin(self, statement: LoggedStatement) -> LoggedTransaction:
        """Begins a transaction of its connection."""
        at = statement.connection
        self.open[at] = LoggedTransaction(at, tuple(self.settings.get(at, ())))
        return self.open[at]

    def note_setting(self, statement: LoggedStatement) -> None:
        """Keeps a SET of the session."""
        found = words(statement.text)
        if "GLOBAL" in found or "@@GLOBAL" in found:
            return
        self.settings.setdefault(statement.connection, []).append(statement)
        if "AUTOCOMMIT" not in found and "@@AUTOCOMMIT" not in found:
            return
        if _sets_off(statement.text):
            self.begins_by_itself.add(statement.connection)
        else:
            self.begins_by_itself.discard(statement.connection)


def _sets_off(sql: str) -> bool:
    """Whether a SET ends with 0 or OFF."""
    return sql.rstrip("; \n").upper().endswith(("=0", "= 0", "OFF", "FALSE"))


def transactions_in(statements: Sequence[LoggedStatement]) -> list[LoggedTransaction]:
    """Every transaction, and every statement outside one as one of its own, in the order in which
    they began.
    """
    found: list[LoggedTransaction] = []
    state = _OpenTransactions()
    for statement in statements:
        at = statement.connection
        kind = kind_of(statement.text)
        current = state.open.get(at)
        if current is None and kind == "set":
            state.note_setting(statement)
        works = kind in ("read", "write")
        if kind == "begin" or (current is None and works and at in state.begins_by_itself):
            current = state.begin(statement)
            found.append(current)
        elif current is None:
            current = LoggedTransaction(at)
            found.append(current)
        current.statements.append(statement)
        if kind in ("end", "definition"):
            state.open.pop(at, None)
    return found


def in_whole_transactions(statements: Sequence[LoggedStatement]) -> list[LoggedStatement]:
    """The statements in the order for one session: transactions of several connections one after
    the other, since a second BEGIN would commit the first one.
    """
    return [each for found in transactions_in(statements) for each in found.statements]


def read_then_writes(statements: Sequence[LoggedStatement]) -> list[ReadThenWrite]:
    """Transactions that read without a lock, then lock rows, the most frequent first. Of those that
    lock in the same way one, the shortest, stands for all.
    """
    alike: dict[tuple[str, str], list[ReadThenWrite]] = {}
    for transaction in transactions_in(statements):
        found = _read_then_write(transaction)
        if found is not None:
            key = fingerprint(found.tried.text), fingerprint(found.other.text)
            alike.setdefault(key, []).append(found)
    chosen = [
        replace(min(found, key=lambda each: len(each.before)), count=len(found))
        for found in alike.values()
    ]
    return sorted(chosen, key=lambda each: -each.count)


def _read_then_write(transaction: LoggedTransaction) -> ReadThenWrite | None:
    """A transaction opens its snapshot with its first read that locks nothing; each row that it
    locks after that must not have changed since.
    """
    has_snapshot = False
    if len(transaction.statements) < _SHORTEST:
        return None
    for place, statement in enumerate(transaction.statements):
        locks = _locks(statement.text)
        if has_snapshot and locks:
            other = _change_of(transaction.statements[place:])
            if other is not None:
                before = tuple(transaction.statements[:place])
                return ReadThenWrite(transaction.settings, before, statement, other)
        if _opens_snapshot(statement.text):
            has_snapshot = True
    return None


def _opens_snapshot(sql: str) -> bool:
    found = words(sql)
    if kind_of(sql) == "begin":
        return "SNAPSHOT" in found
    return kind_of(sql) == "read" and "FROM" in found and not _locks(sql)


def _locks(sql: str) -> bool:
    """Whether it locks rows that exist: an update, a delete, a locking read."""
    found = words(sql)
    if kind_of(sql) == "read":
        pairs = set(pairwise(found))
        return bool(pairs & {("FOR", "UPDATE"), ("FOR", "SHARE"), ("LOCK", "IN")})
    return found[:1] in (["UPDATE"], ["DELETE"])


def _change_of(statements: Sequence[LoggedStatement]) -> LoggedStatement | None:
    """The update or delete with which another session changes the rows that the first of these
    statements locks: itself, or one that follows.
    """
    first = statements[0]
    wanted = tables_of(first.text)
    for each in statements:
        if words(each.text)[:1] in (["UPDATE"], ["DELETE"]) and wanted & tables_of(each.text):
            return each
    return None


def tables_of(sql: str) -> set[str]:
    """Names that stand where a table may stand, without their schema, in small letters."""
    found = names_and_words(sql)
    capitals = [each.upper() for each in found]
    names: set[str] = set()
    for place, word in enumerate(capitals):
        if word in ("FROM", "JOIN", "UPDATE", "INTO"):
            names |= _names_after(found, capitals, place + 1)
    return names


def _names_after(found: Sequence[str], capitals: Sequence[str], place: int) -> set[str]:
    """``a, shop.b AS c`` → {a, b}; the list ends where no comma follows."""
    names: set[str] = set()
    while place < len(found):
        while place < len(found) and capitals[place] in _MODIFIERS:
            place += 1
        if place >= len(found) or not _is_name(found[place]):
            break
        name = found[place]
        place += 1
        if found[place : place + 1] == ["."]:
            name = found[place + 1] if place + 1 < len(found) else name
            place += 2
        names.add(name.lower())
        place = _after_alias(found, capitals, place)
        if found[place : place + 1] != [","]:
            break
        place += 1
    return names


def _after_alias(found: Sequence[str], capitals: Sequence[str], place: int) -> int:
    """Behind ``AS b``, or behind ``b`` where a comma follows: another word begins a clause."""
    if capitals[place : place + 1] == ["AS"]:
        return place + 2
    rest = found[place : place + 2]
    has_alias = len(rest) == 2 and _is_name(rest[0]) and rest[1] == ","
    return place + 1 if has_alias else place


def _is_name(text: str) -> bool:
    return bool(text) and (text[0].isalpha() or text[0] in "_$")
