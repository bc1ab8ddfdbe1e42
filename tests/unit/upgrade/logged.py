"""Statements of a made-up log, and what servers could have said of them."""

from sandbox.upgrade.log_file import LoggedStatement


def logged(*statements: str | tuple[int, str]) -> list[LoggedStatement]:
    """Statements in a schema; a pair has the number of its connection."""
    found = []
    for number, each in enumerate(statements, 1):
        connection, text = each if isinstance(each, tuple) else (1, each)
        found.append(LoggedStatement(number, text, connection, "library", 1796030100.0 + number))
    return found
