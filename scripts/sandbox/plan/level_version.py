"""`ONLY='proxy=proxysql@2.7.2'`: a level of a matrix once more, with another version of its first term."""

from collections.abc import Iterable, Mapping

from sandbox.errors import SandboxError
from sandbox.plan.grammar import parse
from sandbox.plan.matrix import Change, Matrix


def with_versions(matrix: Matrix, chosen: Mapping[str, Iterable[str]]) -> Matrix:
    """The matrix with a level for each ``level@version`` of ``chosen`` (levels by factor) that it has not.

    Raises SandboxError (exit 2) where the level adds no term that could have a version.
    """
    for factor, levels in chosen.items():
        for asked in levels:
            level, _, version = asked.partition("@")
            if version and asked not in matrix.factors[factor] and level in matrix.factors[factor]:
                matrix = _with_level(matrix, factor, level, asked, version)
    return matrix


def _with_level(matrix: Matrix, factor: str, level: str, asked: str, version: str) -> Matrix:
    """What is excluded or demanded at a level holds for it in another version too."""
    levels: dict[str, Change] = {}
    for name, change in matrix.factors[factor].items():
        levels[name] = change
        if name == level:
            levels[asked] = _versioned(change, version, f"{factor}={asked}", matrix.name)

    def widened(rule: Mapping[str, list[str]]) -> dict[str, list[str]]:
        return {
            name: [*found, asked] if name == factor and level in found else list(found) for name, found in rule.items()
        }

    conditions = [each.model_copy(update={"where": widened(each.where)}) for each in matrix.conditions]
    exclude = [widened(rule) for rule in matrix.exclude]
    factors = {**matrix.factors, factor: levels}
    return matrix.model_copy(update={"factors": factors, "conditions": conditions, "exclude": exclude})


def _versioned(change: Change, version: str, asked: str, matrix: str) -> Change:
    if change.add:
        return change.model_copy(update={"add": [_of_version(change.add[0], version), *change.add[1:]]})
    if change.profile:
        return change.model_copy(update={"profile": _of_version(change.profile, version)})
    raise SandboxError(
        f"ONLY: '{asked}': that level adds no term, so there is nothing to have a version",
        "level@version is the level with that version of the first term that it adds",
        f"try: make matrix MATRIX={matrix} PLAN=1",
    )


def _of_version(expression: str, version: str) -> str:
    """``proxysql+multiplexing`` → ``proxysql@2.7.2+multiplexing``; raises SandboxError (exit 2) for what is no term."""
    first = parse(expression)[0]
    rest = expression.partition("+")[1:]
    term = f"{first.name}{first.count or ''}@{version}"
    return parse(term)[0].text + "".join(rest)
