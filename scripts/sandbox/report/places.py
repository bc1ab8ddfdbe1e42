"""PURE: an exact description of a set of cells, in words."""

from collections.abc import Mapping, Sequence

Levels = Mapping[str, str]
"""Of one cell, by factor."""

MOST_PLACES = 3
"""Nobody reads more than these: beyond that, the cells are only counted."""


def places(factors: Mapping[str, Sequence[str]], cells: Sequence[Levels]) -> str:
    """``at threads 1, 4 and workload a, also at threads 1 and workload b``; empty where every level is meant.

    ``factors``: those that distinguish the cells, with all their levels.
    """
    found = products(list(factors), cells)
    if len(found) > MOST_PLACES:
        return f"in {len(cells)} cells"
    text = [_place(factors, product) for product in found]
    return ", also ".join(place for place in text if place)


def products(factors: Sequence[str], cells: Sequence[Levels]) -> list[dict[str, list[str]]]:
    """Cells as disjoint products of levels, split by factors in the order that gives the fewest."""
    if not factors:
        return [{}]
    return min((_split(factor, [each for each in factors if each != factor], cells) for factor in factors), key=len)


def _split(factor: str, others: Sequence[str], cells: Sequence[Levels]) -> list[dict[str, list[str]]]:
    """Groups the levels of a factor that occur with the same levels of the others."""
    by_level: dict[str, list[Levels]] = {}
    for cell in cells:
        by_level.setdefault(cell[factor], []).append(cell)
    alike: dict[frozenset[tuple[str, ...]], list[str]] = {}
    for level, found in by_level.items():
        alike.setdefault(frozenset(tuple(cell[each] for each in others) for cell in found), []).append(level)
    return [
        {factor: levels, **product} for levels in alike.values() for product in products(others, by_level[levels[0]])
    ]


def _place(factors: Mapping[str, Sequence[str]], product: Mapping[str, Sequence[str]]) -> str:
    text = [
        f"{factor} {', '.join(product[factor])}"
        for factor, levels in factors.items()
        if len(product[factor]) < len(levels)
    ]
    return f"at {' and '.join(text)}" if text else ""
