"""Differences between two results in anything but the measured values: plan, load, host, servers, inputs, variables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sandbox.results.record import Environment, Inputs, Record
from sandbox.results.unpaired import ResultSide, matched
from sandbox.results.variants import differences as variable_differences

_HOST = tuple(name for name in Environment.model_fields if name not in ("data_file_system", "during", "inputs"))
LOAD = ("threads", "seconds", "warmup_s", "tables", "rows_per_table", "distribution", "rate_per_s", "options",
        "file_sha256")  # fmt: skip
"""Besides the name, what must match for two runs to have had the same load."""
_PLAN = ("depth", "warmup_s", "seconds", "blocks")
_NODE = ("server_version", "package_version", "image", "image_id", "digest")


@dataclass(frozen=True, slots=True)
class Difference:
    """``what`` has one value in A and another in B; None where it is unknown or absent."""

    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Differences:
    """``variables``: effective variables of servers; all else in ``others``, the most important first."""

    others: Sequence[Difference]
    variables: Sequence[Difference]


def differences_between(first: ResultSide, second: ResultSide) -> Differences:
    """Everything that differs; one run represents each matched cell."""
    pairs = [(_one(first, cell), _one(second, other)) for cell, other in matched(first, second)]
    seen = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    others = [
        *_if_apart("commit of this tool", first.manifest.tool_commit, second.manifest.tool_commit),
        *_if_apart("profile", first.manifest.profile, second.manifest.profile),
        *_host(first, second),
        *_plan(first, second),
        *(each for ours, theirs in seen for each in _run(ours, theirs)),
    ]
    variables = [each for ours, theirs in seen for each in _variables(ours, theirs)]
    return Differences(list(dict.fromkeys(others)), list(dict.fromkeys(variables)))


def _one(side: ResultSide, cell: str) -> Record | None:
    return next((each for each in side.records if each.cell == cell and each.nodes), None)


def _host(first: ResultSide, second: ResultSide) -> Iterator[Difference]:
    yield from _if_apart("host class", first.host_class, second.host_class)
    for name in _HOST:
        yield from _if_apart(
            f"host: {name}", *(_joined({getattr(e, name) for e in _machines(s)}) for s in (first, second))
        )


def _machines(side: ResultSide) -> Iterable[Environment]:
    return (each.environment for each in side.records if each.environment.engine_version)


def _plan(first: ResultSide, second: ResultSide) -> Iterator[Difference]:
    ours, theirs = first.manifest.matrix, second.manifest.matrix
    if ours and theirs:
        for name in _PLAN:
            yield from _if_apart(f"plan: {name}", getattr(ours, name), getattr(theirs, name))


def _run(ours: Record, theirs: Record) -> Iterator[Difference]:
    for name in LOAD:
        yield from _if_apart(f"load: {name}", getattr(ours.workload, name), getattr(theirs.workload, name))
    there, here = ({node.name: node for node in record.nodes} for record in (theirs, ours))
    for node in dict.fromkeys([*here, *there]):
        pair = here.get(node), there.get(node)
        for name in _NODE if all(pair) else ("term",):
            yield from _if_apart(f"{node}: {name}", *(each and getattr(each, name) for each in pair))
    for name in Inputs.model_fields:
        inputs = (getattr(each.environment.inputs, name) for each in (ours, theirs))
        yield from _if_apart(f"input: {name}", *inputs)


def _variables(ours: Record, theirs: Record) -> Iterator[Difference]:
    """Server by server in their order; what identifies a node is never compared."""
    for each in variable_differences(ours.variables, theirs.variables):
        yield Difference(f"{each.server}: {each.variable}", each.baseline, each.variant)


def _if_apart(what: str, first: Any, second: Any) -> Iterator[Difference]:
    if first != second:
        yield Difference(what, *(text_of(each) for each in (first, second)))


def text_of(value: Any) -> str | None:
    """A value as text: options as typed, None for a missing value."""
    if isinstance(value, Mapping):
        value = " ".join(f"{name}={each}" for name, each in sorted(value.items()))
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return None if value in (None, "") else str(value)


def _joined(values: set[Any]) -> str | None:
    return ", ".join(sorted(str(value) for value in values if value is not None)) or None


def data_of(found: Differences) -> Mapping[str, Any]:
    """As plain JSON data."""
    return {
        name: [{"what": each.what, "a": each.first, "b": each.second} for each in listed]
        for name, listed in (("others", found.others), ("variables", found.variables))
    }
