"""Whether variants differ only as requested: compares their servers' effective variables."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sandbox.plan.variables import canonical
from sandbox.results.identity import identifies_a_node, spread_out

Variables = Mapping[str, str]

_WORDS = {"1": "on", "yes": "on", "true": "on", "0": "off", "no": "off", "false": "off"}
"""One server says 1 where another says ON."""

_RENAMED = {"tx_isolation": "transaction_isolation", "tx_read_only": "transaction_read_only"}
"""Old names, in MariaDB before 11.1 and MySQL before 5.7.20, of variables whose file option has the newer name already.

Source: MariaDB 11.1.1 (MDEV-21921), MySQL 5.7.20 and 8.0.3 (WL#9636), release notes. Every server has one of
the two names.
"""


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A variable that two variants do not share; None where a server does not have it."""

    server: str
    variable: str
    baseline: str | None
    variant: str | None

    def __str__(self) -> str:
        return f"{self.server}: {self.variable} is {self.variant}, the baseline has {self.baseline}"


def differences(baseline: Mapping[str, Variables], variant: Mapping[str, Variables]) -> list[VariantDifference]:
    """Every variable that differs, server by server in their order: a source against a source."""
    found = []
    for (name, ours), theirs in zip(variant.items(), baseline.values(), strict=False):
        mine, others = _spread_out(ours), _spread_out(theirs)
        for variable in sorted({*mine, *others}):
            pair = others.get(variable), mine.get(variable)
            if not same(*pair) and not identifies_a_node(variable):
                found.append(VariantDifference(name, variable, *pair))
    return found


def _spread_out(variables: Variables) -> dict[str, str]:
    return {_one_name(name): value for each in variables.items() for name, value in spread_out(*each).items()}


def _one_name(variable: str) -> str:
    """One name for a variable, however it is typed and whatever the server version calls it."""
    name = canonical(variable)
    return _RENAMED.get(name, name)


def _by_one_name(variables: Variables) -> dict[str, str]:
    return {_one_name(name): value for name, value in variables.items()}


def same(one: str | None, other: str | None) -> bool:
    """Whether two values mean the same to a server, which may say ON or 1."""
    return one == other or (one is not None and other is not None and _word(one) == _word(other))


def _word(value: str) -> str:
    word = value.lower()
    return _WORDS.get(word, word)


def unasked(
    found: list[VariantDifference], planned_baseline: Variables, planned_variant: Variables
) -> tuple[list[VariantDifference], list[VariantDifference]]:
    """(wrong, free): variables that a layer set to the same value in both, yet differ; and those that no layer set.

    ``planned``: the variables that component, settings and SET= give the servers of each variant. What they set
    differently was requested.
    """
    of_baseline, of_variant = _by_one_name(planned_baseline), _by_one_name(planned_variant)
    wrong, free = [], []
    for each in found:
        name = _one_name(each.variable.partition(":")[0])
        planned = of_baseline.get(name), of_variant.get(name)
        if planned == (None, None):
            free.append(each)
        elif planned[0] is not None and same(*planned):
            wrong.append(each)
    return wrong, free


def not_in_effect(
    asked: Sequence[tuple[str | None, str, str]], servers: Mapping[str, Variables]
) -> list[VariantDifference]:
    """Settings of SET= that are not in effect (``baseline``: as typed, ``variant``: the server's answer).

    ``asked``: (term or None, name, value) as SET= takes them; the last one of a name counts. A server without the
    variable is ignored; refusing an unknown one at startup is its own job. But every server has the isolation level,
    so a missing answer does not prove it.
    """
    found = []
    for server, variables in servers.items():
        wanted = {_one_name(name): value for term, name, value in asked if term is None or _is_called(server, term)}
        answers = _by_one_name(variables)
        for name, value in wanted.items():
            answer = answers.get(name)
            if not identifies_a_node(name) and not _is_proved(name, value, answer):
                found.append(VariantDifference(server, name, value, answer))
    return found


def _is_proved(name: str, value: str, answer: str | None) -> bool:
    if answer is None:
        return name not in _RENAMED.values()
    return same(_plain(value), _plain(answer))


def refusal(found: VariantDifference) -> str:
    """A finding of `not_in_effect`, in words."""
    if found.variant is None:
        return f"{found.server} has no {found.variable}, so {found.baseline} cannot be verified"
    return f"{found.server}: {found.variable} is {found.variant}, not {found.baseline}"


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
