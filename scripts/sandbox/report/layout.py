"""PURE: how the cells of a matrix are laid out in pictures: along an axis, by colour, in panels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.results.manifest import CellPart, MatrixPart


@dataclass(frozen=True, slots=True)
class Place:
    """Where a cell is drawn: position along the axis, index of its variant, title of its panel."""

    x: int
    variant: int
    panel: str
    where: str
    """The panel and the level along the axis: everything but the variant."""


@dataclass(frozen=True, slots=True)
class Layout:
    """``x``: the factor along the axis; None where no factor is numeric: then the variants stand side by side."""

    x: str | None
    xs: tuple[str, ...]
    variants: tuple[str, ...]
    """Named by their levels, the baseline first: one colour each."""
    places: Mapping[str, Place]
    """By cell."""

    @property
    def panels(self) -> list[str]:
        """Titles of the panels, in file order; a single panel has an empty one."""
        return list(dict.fromkeys(place.panel for place in self.places.values()))

    @property
    def wheres(self) -> list[str]:
        """Every combination of levels at which variants are compared, panel by panel and along the axis."""
        panels = self.panels
        ordered = sorted(self.places.values(), key=lambda place: (panels.index(place.panel), place.x))
        return list(dict.fromkeys(place.where for place in ordered))

    @property
    def names(self) -> tuple[str, ...]:
        """Categories along the axis."""
        return self.xs if self.x else self.variants

    def position(self, place: Place) -> float:
        """Along the axis, the variants of one level side by side."""
        if self.x is None:
            return place.variant
        return place.x + 0.55 * (place.variant - (len(self.variants) - 1) / 2) / len(self.variants)


def layout_of(part: MatrixPart) -> Layout:
    """A numeric factor such as threads along the axis; factors that the baseline sets by colour; others in panels."""
    free = [factor for factor in varied(part) if factor not in part.baseline]
    x = next((factor for factor in free if all(map(_is_number, part.factors[factor]))), None)
    xs = tuple(part.factors[x]) if x else ()
    others = [factor for factor in free if factor != x]
    compared = [factor for factor in varied(part) if factor in part.baseline] or list(part.baseline)
    first = levels_text(part.baseline, compared)
    variants = tuple(dict.fromkeys([first, *(levels_text(cell.levels, compared) for cell in part.cells)]))
    places = {
        cell.name: _place(cell, x, xs, others, variants.index(levels_text(cell.levels, compared)))
        for cell in part.cells
    }
    return Layout(x, xs, variants, places)


def varied(part: MatrixPart) -> list[str]:
    """The factors that have more than one level."""
    return [factor for factor, levels in part.factors.items() if len(levels) > 1]


def _place(cell: CellPart, x: str | None, xs: Sequence[str], others: Sequence[str], variant: int) -> Place:
    panel = levels_text(cell.levels, others)
    where = ", ".join(filter(None, (panel, levels_text(cell.levels, [x]) if x else "")))
    return Place(xs.index(cell.levels[x]) if x else 0, variant, panel, where)


def levels_text(levels: Mapping[str, str], factors: Iterable[str]) -> str:
    """``workload oltp_read_write, threads 4``."""
    return ", ".join(f"{factor} {levels[factor]}" for factor in factors if factor in levels)


def _is_number(text: str) -> bool:
    return text.replace(".", "", 1).isdigit()
