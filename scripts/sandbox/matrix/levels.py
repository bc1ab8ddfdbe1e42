"""Other levels of a matrix, as LEVELS= takes them, and other scales, as SCALE=. Pure."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from sandbox.core.errors import SandboxError, did_you_mean, expected
from sandbox.matrix.cell import Change
from sandbox.matrix.definition import AS_IN_THE_FILE, OPTION_FACTOR, Matrix
from sandbox.matrix.published import Published

_PIECE = re.compile(r"(?P<factor>[^=+]+)(?P<adds>\+?)=(?P<levels>.+)")
Levels = Mapping[str, Mapping[str, Change]]
"""By factor and name."""
_RANGE = re.compile(r"(\d+)\.\.(\d+)")


def with_levels(matrix: Matrix, text: str | None) -> Matrix:
    """The matrix with levels as typed: ``threads=1..1024 server+=mysql@5.7.44``.

    ``=`` replaces the levels of a factor, ``+=`` adds to them; ``1..1024`` doubles from 1 to 1,024.
    A word that is a level in the file is that level; any other is a value of the only key that the
    levels of the factor set. Where the baseline's level is gone, the first is the baseline. Rules
    and statements on levels that are gone are left out. Raises SandboxError (exit 2) for a factor
    that does not exist, and for a level that cannot be one.
    """
    factors = {name: dict(levels) for name, levels in matrix.factors.items()}
    for factor, adds, words in _pieces(matrix, text):
        known = factors[factor]
        changes = {word: known.get(word) or _change(matrix, factor, word) for word in words}
        factors[factor] = {**known, **changes} if adds else changes
    return matrix if factors == dict(matrix.factors) else _with_factors(matrix, factors)


def with_scale(matrix: Matrix, scale: str | None) -> Matrix:
    """The matrix at one of its scales; None: as in the file. Raises SandboxError (exit 2) for a
    scale that it does not have.
    """
    if scale is None or scale == AS_IN_THE_FILE:
        return matrix
    known = [AS_IN_THE_FILE, *matrix.scales]
    if scale not in known:
        raise SandboxError(
            f"the matrix {matrix.name} has no scale '{scale}'",
            f"its scales: {', '.join(known)}",
            f"try: {matrix.command} SCALE={known[-1]} PLAN=1",
        )
    given = matrix.scales[scale]
    changes = {"common": given.common.over(matrix.common), "scale": scale}
    lengths = {"warmup": given.warmup, "seconds": given.seconds}
    changes.update({name: value for name, value in lengths.items() if value is not None})
    words = [f"{factor}={levels}" for factor, levels in given.levels.items()]
    return with_levels(matrix.model_copy(update=changes), shlex.join(words))


def _pieces(matrix: Matrix, text: str | None) -> Iterable[tuple[str, bool, list[str]]]:
    """Each factor, whether its levels are added, and the levels."""
    try:
        pieces = shlex.split(text or "")
    except ValueError as problem:
        raise SandboxError(
            f"LEVELS={text} cannot be read", str(problem), _example(matrix)
        ) from problem
    for piece in pieces:
        found = _PIECE.fullmatch(piece)
        if found is None:
            known = "factor=level,level replaces its levels, factor+=level adds one"
            raise SandboxError(f"LEVELS: '{piece}' is no such change", known, _example(matrix))
        factor = found["factor"]
        if factor not in matrix.factors:
            known = did_you_mean(factor, matrix.factors)
            what = f"LEVELS: the matrix {matrix.name} has no factor '{factor}'"
            raise SandboxError(what, known, _example(matrix))
        words = [word for each in found["levels"].split(",") for word in _doubled(each)]
        yield factor, bool(found["adds"]), list(dict.fromkeys(words))


def _doubled(word: str) -> list[str]:
    """``1..6`` as 1, 2, 4, 6; any other word alone."""
    found = _RANGE.fullmatch(word)
    if found is None:
        return [word]
    first, last = int(found[1]), int(found[2])
    if not 0 < first <= last:
        raise SandboxError(
            f"LEVELS: {word} is no range",
            "it doubles from the first number, 1 at least, up to the last",
            "try: LEVELS='threads=1..64'",
        )
    numbers = []
    while first < last:
        numbers.append(first)
        first *= 2
    return [str(number) for number in (*numbers, last)]


def _example(matrix: Matrix) -> str:
    factor, levels = next(iter(matrix.factors.items()))
    return f"try: {matrix.command} LEVELS='{factor}={','.join(list(levels)[:2])}'"


def _change(matrix: Matrix, factor: str, word: str) -> Change:
    """What a word means as a level that the file does not have."""
    if factor.startswith(OPTION_FACTOR):
        return _checked(
            matrix, factor, word, {"options": {factor.removeprefix(OPTION_FACTOR): word}}
        )
    keys = {key for change in matrix.factors[factor].values() for key in change.model_fields_set}
    if factor in Change.model_fields:
        keys = {factor}
    if len(keys) != 1:
        set_by = " and ".join(sorted(keys)) or "nothing"
        raise SandboxError(
            f"LEVELS: factor {factor} has no level '{word}'",
            f"its levels set {set_by}, which a word cannot; it has"
            f" {', '.join(matrix.factors[factor])}",
            _example(matrix),
        )
    return _checked(matrix, factor, word, {keys.pop(): word})


def _checked(matrix: Matrix, factor: str, word: str, given: Mapping[str, Any]) -> Change:
    try:
        return Change.model_validate(given)
    except ValidationError as problem:
        reason = expected(problem.errors()[0])
        what = f"LEVELS: '{word}' is no level of factor {factor}"
        raise SandboxError(what, reason, _example(matrix)) from problem


def _with_factors(matrix: Matrix, factors: Levels) -> Matrix:
    """The matrix with these levels, checked as its file was."""
    excluded = [_narrowed(rule, factors) for rule in matrix.exclude]
    conditions = [
        each.model_copy(update={"where": _narrowed(each.where, factors)})
        for each in matrix.conditions
    ]
    given = {
        **{name: getattr(matrix, name) for name in matrix.model_fields_set},
        "factors": {name: dict(levels) for name, levels in factors.items()},
        "exclude": [rule for rule in excluded if all(rule.values())],
        "conditions": [each for each in conditions if all(each.where.values())],
        "published": Published(sources=matrix.published.sources),
        "baseline": {
            factor: level if level in factors[factor] else next(iter(factors[factor]))
            for factor, level in matrix.baseline.items()
        },
        "baseline_else": {
            factor: [level for level in others if level in factors[factor]]
            for factor, others in matrix.baseline_else.items()
        },
    }
    try:
        changed = Matrix.model_validate(given)
    except ValidationError as problem:
        reason = expected(problem.errors()[0]).removeprefix("value error, ")
        what = f"LEVELS: the matrix {matrix.name} cannot have these levels"
        raise SandboxError(what, reason, _example(matrix)) from problem
    return changed.model_copy(update={"published": _published(matrix, changed)})


def _narrowed(rule: Mapping[str, Sequence[str]], factors: Levels) -> dict[str, list[str]]:
    """A rule, of the levels that are left."""
    return {
        factor: [level for level in levels if level in factors[factor]]
        for factor, levels in rule.items()
    }


def _published(matrix: Matrix, changed: Matrix) -> Published:
    """The statements that say something of the cells that are left."""
    cells = [*changed.all_cells()]
    narrowed = matrix.published.widened(lambda rule: _narrowed(rule, changed.factors))
    statements = [each for each in narrowed.statements if each.is_of(cells)]
    return narrowed.model_copy(update={"statements": statements})
