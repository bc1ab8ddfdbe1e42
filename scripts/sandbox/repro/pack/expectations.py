"""PURE: what is expected of either version, each expectation a line of steps.sh."""

import re
from dataclasses import dataclass

from sandbox.record.repro import Side
from sandbox.repro.expectation import Expectation
from sandbox.repro.expectations.crash import CrashExpectation
from sandbox.repro.expectations.explain import ExplainExpectation
from sandbox.repro.expectations.hang import HangExpectation
from sandbox.repro.expectations.log import LogExpectation
from sandbox.repro.expectations.query import QueryExpectation
from sandbox.repro.expectations.result import ResultExpectation
from sandbox.repro.expectations.state import IN_SERVICE, OUT, StateExpectation
from sandbox.repro.expectations.time import TimeExpectation
from sandbox.repro.pack.hosts import Hosts
from sandbox.repro.pack.pattern import extended
from sandbox.repro.pack.quoting import length, word
from sandbox.repro.pack.refusal import UnsayableError
from sandbox.repro.pack.steps import WANTED, refuse_other_keys, wanted_words
from sandbox.stack.server_status import OUT_OF_SERVICE, WELL

_STATES = {
    "replication": (
        "running", "replicating", "lagging", "delayed", "connecting", "stopped", "down",
        "no answer",
    ),
    "galera": (
        "synced", "donor", "joined", "joiner", "not ready", "non-primary", "left", "evicted",
        "down", "no answer",
    ),
    "group": ("ONLINE", "RECOVERING", "OFFLINE", "ERROR", "blocked", "down", "no answer"),
}  # fmt: skip
"""The states that functions.sh finds out, by kind of server."""
_KEYS = {
    CrashExpectation: ("signal", "frames"),
    ExplainExpectation: ("sql", "contains"),
    HangExpectation: ("step", "waits_for"),
    LogExpectation: ("pattern", "absent", "within"),
    QueryExpectation: ("sql", "within", *WANTED),
    ResultExpectation: ("step", "blocked", *WANTED),
    StateExpectation: ("states", "matches", "within"),
    TimeExpectation: ("step", "at_least", "at_most", "against"),
}
_OF_SESSION = re.compile(r"\{[A-Za-z]")
_REST_OF_CLUSTER = re.compile(r"\d+ of \d+ members")


def reads_log(each: Expectation) -> bool:
    """Whether it looks at what a server has logged."""
    return isinstance(each, LogExpectation | CrashExpectation)


@dataclass(frozen=True)
class ExpectationLines:
    """Writes the expectations of a repro."""

    hosts: Hosts

    def line(self, side: Side, each: Expectation) -> tuple[str, str]:
        """An expectation in a line, and the function that looks at it. Raises UnsayableError."""
        words = self._words(each)
        return " ".join([f"{side:<5}", *words]), f"expect_{words[0]}"

    def _words(self, each: Expectation) -> list[str]:
        refuse_other_keys(each, _KEYS.get(type(each)))
        match each:
            case ResultExpectation():
                return _result(each)
            case QueryExpectation():
                words = ["query", self.hosts.named(each.place), *_within(each.within)]
                return [*words, word(each.sql.strip()), *wanted_words(each)]
            case ExplainExpectation():
                words = ["explain", self.hosts.named(each.place)]
                return [*words, word(each.sql.strip()), word(each.contains)]
            case StateExpectation():
                return self._state(each)
            case LogExpectation():
                if _OF_SESSION.search(each.pattern):
                    raise UnsayableError("a pack does not know the server's number of a session")
                words = ["log", self.hosts.named(each.place), *_within(each.within)]
                return [*words, *(["absent"] if each.absent else []), word(extended(each.pattern))]
            case CrashExpectation():
                frames = map(word, each.frames)
                return ["crash", self.hosts.named(each.place), str(each.signal), *frames]
            case HangExpectation():
                if each.waits_for is not None:
                    raise UnsayableError("who waits for whom is what a program of this tool finds")
                return ["hang", word(each.step)]
            case TimeExpectation():
                return _time(each)
        kind = each.head.partition(" ")[0]
        raise UnsayableError(f"a pack has no expectation '{kind}'")

    def _state(self, each: StateExpectation) -> list[str]:
        name = self.hosts.named(each.place)
        kind = self.hosts.kind(self.hosts.plan.node(name))
        wanted: list[str] = []
        for asked in each.states:
            wanted += {OUT: OUT_OF_SERVICE, IN_SERVICE: WELL}.get(asked, (asked,))
        found = [
            state
            for state in dict.fromkeys(wanted)
            if state in _STATES[kind]
            or (kind != "replication" and _REST_OF_CLUSTER.fullmatch(state))
        ]
        if not found:
            states = " or ".join(each.states)
            raise UnsayableError(f"{name} itself does not know whether it is {states}")
        words = ["state", name, *_within(each.within)]
        if each.matches is not None:
            if kind == "galera":
                raise UnsayableError("why a node left its cluster is in its log: expect `log`")
            words += ["because", word(extended(each.matches))]
        return [*words, *map(word, found)]


def _within(seconds: float) -> list[str]:
    return ["within", length(seconds)] if seconds else []


def _result(each: ResultExpectation) -> list[str]:
    words = ["result", word(each.step)]
    if each.blocked is not None:
        return [*words, "blocked" if each.blocked else "not_blocked"]
    return words + wanted_words(each)


def _time(each: TimeExpectation) -> list[str]:
    words = ["time", word(each.step)]
    factor = 1000  # ms
    if each.against:
        words = ["ratio", word(each.step), word(each.against)]
        factor = 100  # percent of the other step's time
    if each.at_least is not None:
        words += ["at_least", str(round(each.at_least * factor))]
    if each.at_most is not None:
        words += ["at_most", str(round(each.at_most * factor))]
    return words
