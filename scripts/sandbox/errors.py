"""The three-line error and the exit codes that every command keeps."""

import difflib
from collections.abc import Iterable
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status means (design, rule 9)."""

    OK = 0
    FAILED = 1
    BAD_INPUT = 2
    UNKNOWN = 3
    ENVIRONMENT = 4
    INTERNAL = 5
    INTERRUPTED = 130


class SandboxError(Exception):
    """A failure told in three lines: what is wrong, what is known or was expected, the next command."""

    def __init__(self, what: str, known: str, next_step: str, exit_code: ExitCode = ExitCode.BAD_INPUT) -> None:
        super().__init__(what)
        self.what = what
        self.known = known
        self.next_step = next_step
        self.exit_code = exit_code

    def lines(self) -> list[str]:
        """Three lines, each without a line break of its own."""
        return [" ".join(line.split()) for line in (self.what, self.known, self.next_step)]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """``did you mean 'x'?`` for the nearest known word, else the list of all of them."""
    choices = sorted(known)
    near = difflib.get_close_matches(word, choices, n=1, cutoff=0.6)
    return f"did you mean '{near[0]}'?" if near else f"known: {', '.join(choices)}"
