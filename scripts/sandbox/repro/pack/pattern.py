"""PURE: a regular expression of Python as grep and bash know it (POSIX, extended)."""

import re

from sandbox.repro.pack.refusal import UnsayableError

_CLASSES = {
    "d": "0-9",
    "w": "[:alnum:]_",
    "s": "[:space:]",
}
_OF_BOTH = "bB<>"
"""Escapes with the same meaning in GNU's library."""
_CONTROLS = {"t": "\t"}
_PIECE = re.compile(
    r"\\(?P<escaped>.)|\[(?P<negated>\^?)(?P<set>\]?(?:\\.|[^\]\\])*)\]"
    r"|(?P<quantifier>[*+?]|\{\d*,?\d*\})(?P<manner>[?+]?)"
    r"|\((?P<group>\?[^:]?:?)?|(?P<other>.)",
    re.DOTALL,
)


def extended(pattern: str) -> str:
    """The pattern for ``grep -E``. Raises UnsayableError for what POSIX has no word for."""
    return "".join(_piece(found, pattern) for found in _PIECE.finditer(pattern))


def _piece(found: "re.Match[str]", pattern: str) -> str:
    if found["escaped"] is not None:
        return _escaped(found["escaped"], pattern)
    if found["set"] is not None:
        return f"[{found['negated']}{_members(found['set'], pattern)}]"
    if found["quantifier"] is not None:
        if found["manner"] == "+":
            raise _unknown(found[0], pattern)
        return found["quantifier"]  # a lazy one finds the same lines
    if found["group"] is not None:
        if found["group"] != "?:":
            raise _unknown(f"({found['group']}", pattern)
        return "("
    return found[0]


def _escaped(letter: str, pattern: str) -> str:
    if letter.lower() in _CLASSES:
        negated = "^" if letter.isupper() else ""
        return f"[{negated}{_CLASSES[letter.lower()]}]"
    if letter in _CONTROLS:
        return _CONTROLS[letter]
    if letter.isalnum() and letter not in _OF_BOTH:
        raise _unknown(f"\\{letter}", pattern)
    return f"\\{letter}"


def _members(text: str, pattern: str) -> str:
    """What stands in brackets: there a backslash is a member like any other, and ] comes first."""
    found = []
    first = ""
    for escaped, plain in re.findall(r"\\(.)|([^\\])", text, re.DOTALL):
        letter = escaped or plain
        if escaped in _CLASSES:
            found.append(_CLASSES[escaped])
        elif escaped in _CONTROLS:
            found.append(_CONTROLS[escaped])
        elif escaped.isalnum():
            raise _unknown(f"\\{escaped}", pattern)
        elif letter == "]":
            first = "]"
        elif escaped in ("-", "^"):
            found.append(f"[.{escaped}.]")
        else:
            found.append(letter)
    return first + "".join(found)


def _unknown(part: str, pattern: str) -> UnsayableError:
    return UnsayableError(f"grep -E does not know {part} (in the pattern {pattern})")
