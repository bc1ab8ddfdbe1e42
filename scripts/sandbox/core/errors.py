"""The three-line error and the exit codes of every command; words that messages share."""

import difflib
import re
from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Any


class ExitCode(IntEnum):
    """Exit codes of every command (docs/design.md, rule 9)."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    ENVIRONMENT = 4
    INTERNAL = 5
    INTERRUPTED = 130


class SandboxError(Exception):
    """A failure in three lines: what is wrong, what is known or expected, the next command."""

    def __init__(
        self, what: str, known: str, next_step: str, exit_code: ExitCode = ExitCode.BAD_INPUT
    ) -> None:
        super().__init__(what)
        self.what = what
        self.known = known
        self.next_step = next_step
        self.exit_code = exit_code

    def lines(self) -> list[str]:
        """The three lines, each without line breaks."""
        return [" ".join(line.split()) for line in (self.what, self.known, self.next_step)]


class MachineError(SandboxError):
    """A failure of the environment, exit code 4: no Docker, no image, no room, a node that is not
    ready or died.
    """

    def __init__(self, what: str, known: str, next_step: str) -> None:
        super().__init__(what, known, next_step, ExitCode.ENVIRONMENT)


def natural_order(word: str) -> list[tuple[int, int, str]]:
    """Key that sorts the numbers in words as numbers: 1, 2, 16."""
    return [
        (0, int(part), "") if part.isdigit() else (1, 0, part)
        for part in re.split(r"(\d+)", word)
        if part
    ]


def counted(number: int, thing: str) -> str:
    """``1 volume``, ``2 volumes``."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def states(given: Mapping[str, str]) -> str:
    """Nodes, each with its state, in one line."""
    return "; ".join(f"{node}: {state}" for node, state in given.items())


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the nearest known word, else the list of all of them."""
    choices = sorted(known, key=natural_order)
    near = nearest(word, choices)
    return f"did you mean '{near}'?" if near else f"known: {', '.join(choices)}"


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that resembles a mistyped one most; None if none does."""
    near = difflib.get_close_matches(word, sorted(known, key=natural_order), n=1, cutoff=0.6)
    return near[0] if near else None


def expected(reason: Mapping[str, Any]) -> str:
    """What a value must be, from one entry of Pydantic's ``errors()``; by default Pydantic's own
    message.
    """
    bounds = reason.get("ctx", {})
    words = {
        "int_parsing": "a whole number is expected",
        "int_type": "a whole number is expected",
        "int_from_float": "a whole number is expected",
        "float_parsing": "a number is expected",
        "bool_parsing": "true or false is expected",
        "greater_than_equal": f"at least {bounds.get('ge')} is expected",
        "less_than_equal": f"at most {bounds.get('le')} is expected",
    }
    message = str(reason["msg"])
    return words.get(reason["type"], f"{message[:1].lower()}{message[1:]}")
