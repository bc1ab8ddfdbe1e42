"""PURE: differences between variants that nobody set, as Markdown."""

from collections.abc import Sequence

from sandbox.results.manifest import MatrixPart
from sandbox.results.record import Record
from sandbox.results.variants import UnsetDifferences, unset_differences

_MOST = 20
_LONGEST = 60


def unset_text(part: MatrixPart, records: Sequence[Record]) -> list[str]:
    """A heading and a list, one line for each pair of variants; empty without such differences."""
    text = [_line(part, each) for each in unset_differences(part, records)]
    return ["### Differing values that nobody set", "\n".join(text)] if text else []


def _line(part: MatrixPart, found: UnsetDifferences) -> str:
    levels = {cell.name: cell.levels for cell in part.cells}
    ours, theirs = levels[found.cell], levels[found.baseline]
    changed = [factor for factor, level in ours.items() if level != theirs[factor]]
    variant = ", ".join(f"{factor} {ours[factor]} against {theirs[factor]}" for factor in changed)
    cause = f"different {' and '.join(found.causes)}" if found.causes else "follows from the requested change"
    values = [f"`{each.variable}` {_short(each.baseline)} → {_short(each.variant)}" for each in found.values[:_MOST]]
    more = len(found.values) - len(values)
    values += [f"and {more} more"] if more else []
    values += [f"{found.only_one} variables that only one of them has"] if found.only_one else []
    return f"- {variant} ({cause}): {'; '.join(values)}"


def _short(value: str | None) -> str:
    text = (value or "''").replace("|", "\\|")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"
