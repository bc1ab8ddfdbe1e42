"""Whether arms differ only in what was asked for: their servers' effective variables, compared."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.results.identity import identifies_a_node, spread_out

Variables = Mapping[str, str]

_WORDS = {"1": "on", "yes": "on", "true": "on", "0": "off", "no": "off", "false": "off"}
"""One server says 1 where another says ON."""


@dataclass(frozen=True, slots=True)
class ArmDifference:
    """A variable that two arms do not share; None where a server does not have it."""

    server: str
    variable: str
    baseline: str | None
    arm: str | None

    def __str__(self) -> str:
        return f"{self.server}: {self.variable} is {self.arm}, the baseline has {self.baseline}"


def differences(baseline: Mapping[str, Variables], arm: Mapping[str, Variables]) -> list[ArmDifference]:
    """Every variable that differs, server by server in their order: a source against a source."""
    found = []
    for (name, ours), theirs in zip(arm.items(), baseline.values(), strict=False):
        mine, others = _spread_out(ours), _spread_out(theirs)
        for variable in sorted({*mine, *others}):
            pair = others.get(variable), mine.get(variable)
            if not same(*pair) and not identifies_a_node(variable):
                found.append(ArmDifference(name, variable, *pair))
    return found


def _spread_out(variables: Variables) -> dict[str, str]:
    return {name: value for each in variables.items() for name, value in spread_out(*each).items()}


def same(one: str | None, other: str | None) -> bool:
    """Whether two values mean the same to a server, which may say ON or 1."""
    return one == other or (one is not None and other is not None and _word(one) == _word(other))


def _word(value: str) -> str:
    word = value.lower()
    return _WORDS.get(word, word)


def unasked(
    found: list[ArmDifference], planned_baseline: Variables, planned_arm: Variables
) -> tuple[list[ArmDifference], list[ArmDifference]]:
    """(wrong, free): what a layer set alike in both and is not alike; and what no layer set at all.

    ``planned``: the variables that component, settings and SET= give the servers of each arm. What they give
    differently was asked for.
    """
    wrong, free = [], []
    for each in found:
        name = each.variable.partition(":")[0]
        planned = planned_baseline.get(name), planned_arm.get(name)
        if planned == (None, None):
            free.append(each)
        elif planned[0] is not None and same(*planned):
            wrong.append(each)
    return wrong, free


def not_in_effect(
    asked: Sequence[tuple[str | None, str, str]], servers: Mapping[str, Variables]
) -> list[ArmDifference]:
    """What SET= asked for and a server says otherwise of itself (``baseline``: as typed, ``arm``: the server's answer).

    ``asked``: (term or None, name, value) as SET= takes them, the last one of a name counts. A server that has no such
    variable says nothing; what it refuses to start with is its own affair.
    """
    found = []
    for server, variables in servers.items():
        wanted = {name: value for term, name, value in asked if term is None or _is_called(server, term)}
        for name, value in wanted.items():
            answer = variables.get(name.lower().replace("-", "_"))
            if answer is not None and not identifies_a_node(name) and not same(_plain(value), _plain(answer)):
                found.append(ArmDifference(server, name, value, answer))
    return found


def _is_called(server: str, term: str) -> bool:
    return term in (server, server.rstrip("0123456789"))


_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


def _plain(value: str) -> str:
    """A number without its unit; ``0.50`` and ``0.5`` alike."""
    unit = value[-1:].lower()
    digits = value[:-1] if unit in _SIZES else value
    try:
        return f"{float(digits) * _SIZES.get(unit, 1):.15g}"
    except ValueError:
        return value
