"""PURE: in which effective variables the variants of a matrix differ: what was asked for, and what nobody set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.report.layout import levels_text, varied
from sandbox.results.matrix_part import CellPart, MatrixPart
from sandbox.results.record import Record
from sandbox.results.variants import Variables, VariantDifference, differences, unasked

_FEWEST_ITEMS = 3
"""A list of so many items, such as optimizer_switch, is told by the items that differ."""


@dataclass(frozen=True, slots=True)
class VariableDifference:
    """A variable with its two values, None where there is none; ``servers``: those of the variant that differ so."""

    variable: str
    baseline: str | None
    variant: str | None
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantDiff:
    """One variant against the baseline's. ``wrong``: set alike in both, and yet not alike, which fails a run."""

    variant: str
    baseline: str
    asked: Sequence[VariableDifference]
    wrong: Sequence[VariableDifference]
    free: Sequence[VariableDifference]
    """In values that nobody set: of another version, another image, more processors or memory."""
    only_one: Sequence[VariableDifference]
    """Variables that only one of the two servers has; nobody set those either."""


def config_diffs(part: MatrixPart, records: Sequence[Record]) -> list[VariantDiff]:
    """One for each pair of stacks that is compared, from the first good record of each; the canary's own comes last."""
    first: dict[str, Record] = {}
    for record in records:
        if record.status == "ok" and record.variables:
            first.setdefault(record.cell, record)
    cells = {cell.name: cell for cell in part.cells}
    made: dict[tuple[str, str], VariantDiff] = {}
    for each in part.comparisons:
        cell, base = cells[each.cell], cells[each.baseline]
        pair = (cell.variant, base.variant)
        if cell.variant != base.variant and pair not in made and each.cell in first and each.baseline in first:
            found = differences(first[each.baseline].variables, first[each.cell].variables)
            planned = [part.planned.get(base.variant, {}), part.planned.get(cell.variant, {})]
            made[pair] = _sorted(*_labels(part, cell, base), found, planned[0], planned[1])
    return list(made.values())


def _labels(part: MatrixPart, cell: CellPart, base: CellPart) -> tuple[str, str]:
    """The levels by which two cells differ."""
    changed = [factor for factor in varied(part) if cell.levels[factor] != base.levels[factor]]
    return levels_text(cell.levels, changed), levels_text(base.levels, changed)


def _sorted(variant: str, baseline: str, found: list[VariantDifference], *planned: Variables) -> VariantDiff:
    wrong, free = unasked(found, planned[0], planned[1])
    asked = [each for each in found if each not in wrong and each not in free]
    both = [each for each in free if each.baseline is not None and each.variant is not None]
    one = [each for each in free if each.baseline is None or each.variant is None]
    return VariantDiff(variant, baseline, _merged(asked), _merged(wrong), _merged(both), _merged(one))


def _merged(found: Iterable[VariantDifference]) -> list[VariableDifference]:
    """Servers that differ alike stand in one line."""
    servers: dict[tuple[str, str | None, str | None], list[str]] = {}
    for each in found:
        servers.setdefault((each.variable, *_what_differs(each.baseline, each.variant)), []).append(each.server)
    return [
        VariableDifference(*pair, tuple(names)) for pair, names in sorted(servers.items(), key=lambda item: item[0][0])
    ]


def _what_differs(baseline: str | None, variant: str | None) -> tuple[str | None, str | None]:
    """Both values; of two long lists only the items that the other does not have."""
    if baseline is None or variant is None:
        return baseline, variant
    ours, theirs = variant.split(","), baseline.split(",")
    if min(len(ours), len(theirs)) < _FEWEST_ITEMS:
        return baseline, variant
    return _items(theirs, ours), _items(ours, theirs)


def _items(those: Sequence[str], others: Sequence[str]) -> str:
    own = [item for item in those if item not in set(others)]
    return ", ".join([*own, "…"])


def stack_rows(part: MatrixPart, records: Sequence[Record]) -> list[Mapping[str, str]]:
    """Every kind of node of every variant: its image, version and digest, and the limits that it ran under."""
    variants = {cell.name: cell for cell in part.cells}
    compared = [factor for factor in varied(part) if factor in part.baseline]
    seen: set[str] = set()
    alike: dict[tuple[str, ...], list[str]] = {}
    for record in records:
        cell = variants.get(record.cell)
        if cell and cell.variant not in seen and record.nodes:
            seen.add(cell.variant)
            for row in node_rows(record, levels_text(cell.levels, compared) or cell.profile):
                alike.setdefault(tuple(row[name] for name in _OF_NODE), []).append(row["variant"])
    return [{"variant": "; ".join(names), **dict(zip(_OF_NODE, row, strict=True))} for row, names in alike.items()]


_OF_NODE = ("nodes", "image", "version", "digest", "given")


def node_rows(record: Record, variant: str) -> list[Mapping[str, str]]:
    """One row for all nodes of a record that are alike."""
    inputs = record.environment.inputs
    limits = {"CPUS": inputs.cpus, "MEMORY": inputs.memory, "cpuset": inputs.cpuset}
    given = [f"{name}={value}" for name, value in limits.items() if value] + list(inputs.assignments)
    files = {inputs.cnf_name: inputs.cnf_sha256, inputs.init_name: inputs.init_sha256}
    given += [f"{name} (sha256 {digest})" for name, digest in files.items() if name]
    alike: dict[tuple[str, ...], list[str]] = {}
    for node in record.nodes:
        version = node.server_version or node.package_version or ""
        identity = node.digest or node.image_id or ""
        alike.setdefault((node.image or "", version, identity), []).append(node.name)
    return [
        {
            "variant": variant,
            "nodes": ", ".join(names),
            "image": image,
            "version": version,
            "digest": digest,
            "given": " ".join(given),
        }
        for (image, version, digest), names in alike.items()
    ]
