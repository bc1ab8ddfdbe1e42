"""PURE: effective variables that differ between the variants of a matrix: requested ones, and those nobody set."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from sandbox.report.layout import levels_text, varied
from sandbox.results.manifest import CellPart, MatrixPart
from sandbox.results.record import Record
from sandbox.results.variants import Variables, VariantDifference, differences, unasked

_FEWEST_ITEMS = 3
"""Of a list with at least this many items, such as optimizer_switch, only those that differ are shown."""


@dataclass(frozen=True, slots=True)
class VariableDifference:
    """A variable with its two values, None where it does not exist; ``servers``: the variant's that differ this way."""

    variable: str
    baseline: str | None
    variant: str | None
    servers: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class VariantDiff:
    """One variant against the baseline's. ``wrong``: set to the same value in both, yet different; this fails a run."""

    variant: str
    baseline: str
    asked: Sequence[VariableDifference]
    wrong: Sequence[VariableDifference]
    free: Sequence[VariableDifference]
    """Values that nobody set: from a different version or image, or from more processors or memory."""
    only_one: Sequence[VariableDifference]
    """Variables that only one of the two servers has; nobody set those either."""


def config_diffs(part: MatrixPart, records: Sequence[Record]) -> list[VariantDiff]:
    """One for each compared pair of stacks, from the first good record of each; the canary's own comes last."""
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
    """One line for all servers with the same difference."""
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
    """One row for each group of identical nodes in a record."""
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
