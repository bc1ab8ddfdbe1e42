"""PURE: SQL as text: split into statements, without comments, its kind, its fingerprint."""

import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Literal

StatementKind = Literal["read", "write", "set", "begin", "end", "definition", "other"]

_WHOLE = r"""
    (?P<executed>/\*M?!.*?\*/|/\*\+.*?\*/)
    |(?P<comment>--(?=\s|$)[^\n]*|\#[^\n]*|/\*.*?\*/)
    |(?P<string>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")
    |(?P<name>`(?:[^`]|``)*`)
"""
"""What a delimiter may be in without ending a statement."""
_TOKEN = re.compile(
    rf"""{_WHOLE}
    |(?P<space>\s+)
    |(?P<number>0[xX][0-9a-fA-F]+|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?(?![\w$]))
    |(?P<word>[^\W_][\w$]*|[_@$][\w$@]*)
    |(?P<sign>.)""",
    re.VERBOSE | re.DOTALL,
)
_BEFORE = re.compile(
    r"(?:\s+|--(?=\s|$)[^\n]*|\#[^\n]*|/\*(?!M?!|\+).*?\*/)*", re.DOTALL | re.MULTILINE
)
"""What may stand before a statement, or before DELIMITER."""
_DELIMITER = re.compile(r"[ \t]*delimiter[ \t]+(\S+)[^\n]*\n?", re.IGNORECASE)
_VALUES = ("true", "false", "null")
_AROUND = re.compile(r"\s*([(),=<>])\s*")
_SIGNED = re.compile(r"(?<=[(,=<>])[-+](?=\?)")
_LIST = re.compile(r"\(\?(?:, ?\?)*\)")
_LISTS = re.compile(r"(?:\(\?\),)+\(\?\)")
_KINDS: dict[str, StatementKind] = {
    **dict.fromkeys(("SELECT", "WITH", "VALUES", "TABLE"), "read"),
    **dict.fromkeys(("INSERT", "UPDATE", "DELETE", "REPLACE"), "write"),
    **dict.fromkeys(("COMMIT", "ROLLBACK"), "end"),
    **dict.fromkeys(("CREATE", "ALTER", "DROP", "TRUNCATE", "RENAME"), "definition"),
    "SET": "set",
    "BEGIN": "begin",
}


@lru_cache(maxsize=4096)
def tokens(sql: str) -> tuple[tuple[str, str], ...]:
    """(kind, text) of every piece; kinds are the groups' names above, and ``sign``."""
    return tuple((str(found.lastgroup), found[0]) for found in _TOKEN.finditer(sql))


def words(sql: str) -> list[str]:
    """Words and signs in capitals, without names in quotes, strings, numbers and comments."""
    return [text.upper() for kind, text in tokens(sql) if kind in ("word", "sign")]


def names_and_words(sql: str) -> list[str]:
    """Words, names without their quotes, and signs, as written."""
    wanted = ("word", "name", "sign")
    return [text.strip("`") for kind, text in tokens(sql) if kind in wanted]


def kind_of(sql: str) -> StatementKind:
    """What a statement does, by its first words; a select in parentheses reads."""
    found = [each for each in words(sql) if each != "("][:2]
    if not found:
        return "other"
    if found == ["START", "TRANSACTION"]:
        return "begin"
    if found[0] == "ROLLBACK" and "TO" in words(sql)[:4]:
        return "other"  # to a savepoint
    return _KINDS.get(found[0], "other")


def on_one_line(sql: str) -> str:
    """The statement without comments, its white space one blank; strings stay as they are."""
    return "".join(text for _, text in _pieces_of(sql)).rstrip("; ")


def _pieces_of(sql: str) -> Iterator[tuple[str, str]]:
    """Its tokens, with one blank for all that stands between two of them."""
    waits = False
    begun = False
    for kind, text in tokens(sql):
        if kind in ("space", "comment"):
            waits = begun
            continue
        if waits:
            yield "space", " "
        waits = False
        begun = True
        yield kind, text


def fingerprint(sql: str) -> str:
    """What statements that differ in their values alone have in common: small letters, ``?`` for
    each value, ``(?)`` for each list of them.
    """
    pieces = []
    for kind, text in _pieces_of(sql):
        if kind in ("string", "number") or text.lower() in _VALUES:
            pieces.append("?")
        else:
            pieces.append(text if kind == "name" else text.lower())
    text = _AROUND.sub(r"\1", "".join(pieces).rstrip("; "))
    text = _SIGNED.sub("", text)
    text = _LIST.sub("(?)", text)
    return _LISTS.sub("(?)", text)


def statements_in(text: str) -> Iterator[tuple[int, str]]:
    """(line, statement) of an SQL file, without delimiters; ``DELIMITER`` is respected."""
    delimiter = ";"
    place = 0
    while place < len(text):
        before = _BEFORE.match(text, place)
        place = before.end() if before else place
        changed = _DELIMITER.match(text, place)
        if changed:
            delimiter = changed[1]
            place = changed.end()
            continue
        end, place_after = _end_of_statement(text, place, delimiter)
        statement = text[place:end].strip()
        if _has_code(statement):
            yield text.count("\n", 0, place) + 1, statement
        place = place_after


def _end_of_statement(text: str, place: int, delimiter: str) -> tuple[int, int]:
    """Where it ends, and where the next one begins."""
    pattern = _until(delimiter)
    while found := pattern.match(text, place):
        if found.lastgroup == "end":
            return found.start(), found.end()
        place = found.end()
    return len(text), len(text)


@lru_cache(maxsize=8)
def _until(delimiter: str) -> re.Pattern[str]:
    """A piece up to which a statement has not ended, or the delimiter."""
    end = re.escape(delimiter)
    first = re.escape(delimiter[0])
    run = rf"[^-'\"`\#/{first}]+|."
    return re.compile(rf"(?P<end>{end})|{_WHOLE}|{run}", re.VERBOSE | re.DOTALL)


def _has_code(statement: str) -> bool:
    return any(kind not in ("space", "comment") for kind, _ in tokens(statement))
