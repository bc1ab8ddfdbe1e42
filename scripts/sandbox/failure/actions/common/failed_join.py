"""A server that joins its group and cannot: found by what it answers and by what its log says,
without a time-out.
"""

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime

from sandbox.core.errors import SandboxError
from sandbox.stack.protocol import ReadyAnswer, RunningStack

LASTS_S = 5.0
"""An answer that cannot become another one by itself, for so long: a server that is only starting
has it for less.
"""
LOG_EVERY_S = 3.0
_FINAL = (
    (re.compile(r"^\d*,Disconnected,\d*$"), "it has left its cluster"),
    (re.compile(r"^receiver(?=[^:]*\bNo\b)[^:]*: (?P<why>.+)"), "its replication has stopped"),
)
"""What a server that is not ready answers → what that means: Galera without its provider, a replica
with an error.
"""
_IN_GROUP = re.compile(r"\[ERROR\].*\[MY-(?:010584|010586|011451|011526|013146)\]")
"""Group Replication's applier failed, or the member has transactions of its own: no attempt ends
otherwise.
"""
_ATTEMPTS = 2
_CAUSES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        r"\[ERROR\].*(?:errno[ :=]|error[ _]code[ :=]|last_errno)",
        _IN_GROUP.pattern,
        r"inconsisten(?:t|cy) ",
        r"\[ERROR\].*(?:SST|state transfer|mariabackup|xtrabackup|rsync|clone)",
        r"WSREP_SST: \[ERROR\]",
        r"\[ERROR\]",
    )
)
"""Lines of a log that say why, the most telling first."""
_STAMP = re.compile(r"^\S+Z\s+")
_LONGEST = 240


def cause_in(log: str) -> str | None:
    """The line of a log that says why a server failed: the first of the most telling kind; None
    without any.
    """
    lines = log.splitlines()
    for kind in _CAUSES:
        for line in lines:
            if kind.search(line):
                return _shortened(line)
    return None


def _shortened(line: str) -> str:
    text = " ".join(_STAMP.sub("", line).split())
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def final_state(answer: str) -> str | None:
    """What an answer means that does not become another one by itself; None for any other
    answer.
    """
    for pattern, meaning in _FINAL:
        if found := pattern.search(answer):
            why = found.groupdict().get("why")
            return f"{meaning}: {why}" if why else f"{meaning} ({answer})"
    return None


@dataclass
class JoinWatch:
    """Watches the servers of a group while one of them joins. ``clock``: monotonic, s."""

    stack: RunningStack
    servers: frozenset[str]
    clock: Callable[[], float]
    began: datetime = field(default_factory=lambda: datetime.now(UTC))
    _since_s: dict[str, float] = field(default_factory=dict)
    """Since when a server gives an answer that is final."""
    _log_s: float = float("-inf")

    def failure(self, joiner: str, answers: Mapping[str, ReadyAnswer]) -> str | None:
        """Why the joiner, or another server, is not going to be ready; None while it may be.
        ``answers``: as now.
        """
        now_s = self.clock()
        final = {
            name: state
            for name, answer in answers.items()
            if name in self.servers and not answer.ready and (state := final_state(answer.text))
        }
        self._since_s = {name: self._since_s.get(name, now_s) for name in final}
        for name, state in final.items():
            if now_s - self._since_s[name] >= LASTS_S:
                return f"{name}: {state}; {self.why(name)}"
        if joiner in answers and not answers[joiner].ready and now_s - self._log_s >= LOG_EVERY_S:
            self._log_s = now_s
            return self._repeated(joiner)
        return None

    def why(self, node: str) -> str:
        """What its log says since the watch began."""
        cause = cause_in(self._log(node))
        return f"its log: {cause}" if cause else "its log has no error"

    def _repeated(self, joiner: str) -> str | None:
        lines = [line for line in self._log(joiner).splitlines() if _IN_GROUP.search(line)]
        if len(lines) < _ATTEMPTS:
            return None
        return f"{joiner}: it cannot stay in its group; its log: {_shortened(lines[0])}"

    def _log(self, node: str) -> str:
        with suppress(SandboxError):
            return self.stack.log(node, self.began)
        return ""
