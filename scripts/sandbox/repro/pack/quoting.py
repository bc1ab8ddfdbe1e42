"""PURE: values as words of a bash script."""

import re
import shlex

_COMMENT = re.compile(r"--|#|/\*")
_STATEMENT = re.compile(
    r"""'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"|`[^`]*`|(?P<end>;\s+)""", re.DOTALL
)
_PLAIN = re.compile(r"[A-Za-z0-9_@:./=,+-]+")


def word(text: str) -> str:
    """A text as one word of bash."""
    if _PLAIN.fullmatch(text):
        return text
    if "'" in text and not re.search(r'["$`\\!]', text):
        return f'"{text}"'
    return shlex.quote(text)


def length(seconds: float) -> str:
    """``5s`` or ``500ms``."""
    if seconds == int(seconds):
        return f"{int(seconds)}s"
    return f"{round(seconds * 1000)}ms"


def cell(value: str | None) -> str:
    """A cell as the command-line client prints it."""
    if value is None:
        return "NULL"
    escapes = {"\\": "\\\\", "\t": "\\t", "\n": "\\n", "\0": "\\0"}
    return "".join(escapes.get(each, each) for each in value)


def row(cells: list[str | None]) -> str:
    """A row as steps.sh writes it: ``1 | 10``."""
    return " | ".join(cell(each) for each in cells)


def statements_apart(sql: str) -> str:
    """Statements, each on lines of its own; with a comment among them as they are."""
    if _COMMENT.search(sql):
        return sql
    return _STATEMENT.sub(lambda found: ";\n" if found["end"] else found[0], sql)
