"""PURE: values that nobody set and that differ between the variants of a matrix, and what causes them."""

from collections.abc import Sequence
from dataclasses import dataclass

from sandbox.results.matrix_part import MatrixPart
from sandbox.results.record import Record
from sandbox.results.variants import VariantDifference, differences, unasked


@dataclass(frozen=True, slots=True)
class UnsetDifferences:
    """One variant against the baseline's, both by the name of a cell that ran there.

    ``causes``: which of image, version, CPUS, MEMORY and CPUSET differ between the variants; empty if none, so that the
    values follow from the requested change. ``values``: of variables that both servers have; ``only_one``: how many
    variables one of them lacks.
    """

    cell: str
    baseline: str
    causes: tuple[str, ...]
    values: Sequence[VariantDifference]
    only_one: int


def unset_differences(part: MatrixPart, records: Sequence[Record]) -> list[UnsetDifferences]:
    """One for each compared pair of stacks that differs so, from the first good record of each."""
    first: dict[str, Record] = {}
    for record in records:
        if record.status == "ok" and record.variables:
            first.setdefault(record.cell, record)
    variant_of = {cell.name: cell.variant for cell in part.cells}
    found: dict[tuple[str, str], UnsetDifferences] = {}
    for each in part.comparisons:
        pair = variant_of[each.cell], variant_of[each.baseline]
        if pair[0] != pair[1] and pair not in found and each.cell in first and each.baseline in first:
            found[pair] = _between(part, pair, first[each.cell], first[each.baseline])
    return [each for each in found.values() if each.values or each.only_one]


def _between(part: MatrixPart, pair: tuple[str, str], variant: Record, baseline: Record) -> UnsetDifferences:
    planned = [part.planned.get(name, {}) for name in (pair[1], pair[0])]
    _, free = unasked(differences(baseline.variables, variant.variables), *planned)
    values = [each for each in free if each.baseline is not None and each.variant is not None]
    return UnsetDifferences(variant.cell, baseline.cell, _causes(variant, baseline), values, len(free) - len(values))


def _causes(variant: Record, baseline: Record) -> tuple[str, ...]:
    """Servers only: a proxy next to them sets none of their variables."""
    ours, theirs = variant.environment.inputs, baseline.environment.inputs
    limits = {"CPUS": "cpus", "MEMORY": "memory", "CPUSET": "cpuset"}
    nodes = [[node for node in record.nodes if node.name in record.variables] for record in (variant, baseline)]
    images = [[node.image_id for node in each] for each in nodes]
    versions = [[node.server_version for node in each] for each in nodes]
    found = ["image"] if images[0] != images[1] else []
    found += ["version"] if versions[0] != versions[1] else []
    return (*found, *(word for word, field in limits.items() if getattr(ours, field) != getattr(theirs, field)))
