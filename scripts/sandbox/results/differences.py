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
_Fact = tuple[str, Any, Any]
"""What, its value in A, and in B."""
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
    facts: list[_Fact] = [
        ("commit of this tool", first.manifest.tool_commit, second.manifest.tool_commit),
        ("profile", first.manifest.profile, second.manifest.profile),
        *_host(first, second),
        *_plan(first, second),
        *(each for ours, theirs in seen for each in _run(ours, theirs)),
    ]
    others = [Difference(what, text_of(ours), text_of(theirs)) for what, ours, theirs in facts if ours != theirs]
    variables = [
        Difference(f"{each.server}: {each.variable}", each.baseline, each.variant)
        for ours, theirs in seen
        for each in variable_differences(ours.variables, theirs.variables)
    ]
    return Differences(list(dict.fromkeys(others)), list(dict.fromkeys(variables)))


def _one(side: ResultSide, cell: str) -> Record | None:
    return next((each for each in side.records if each.cell == cell and each.nodes), None)


def _host(first: ResultSide, second: ResultSide) -> Iterator[_Fact]:
    yield "host class", first.host_class, second.host_class
    ours, theirs = ([each.environment for each in side.records] for side in (first, second))
    yield from ((f"host: {name}", _joined(ours, name), _joined(theirs, name)) for name in _HOST)


def _joined(machines: Iterable[Environment], name: str) -> str | None:
    """What the machines that could be asked report, if anything."""
    values = {getattr(each, name) for each in machines if each.engine_version}
    return ", ".join(sorted(str(value) for value in values if value is not None)) or None


def _plan(first: ResultSide, second: ResultSide) -> Iterator[_Fact]:
    ours, theirs = first.manifest.matrix, second.manifest.matrix
    if ours and theirs:
        yield from ((f"plan: {name}", getattr(ours, name), getattr(theirs, name)) for name in _PLAN)


def _run(ours: Record, theirs: Record) -> Iterator[_Fact]:
    yield from ((f"load: {name}", getattr(ours.workload, name), getattr(theirs.workload, name)) for name in LOAD)
    there, here = ({node.name: node for node in record.nodes} for record in (theirs, ours))
    for node in dict.fromkeys([*here, *there]):
        pair = here.get(node), there.get(node)
        for name in _NODE if all(pair) else ("term",):
            yield f"{node}: {name}", pair[0] and getattr(pair[0], name), pair[1] and getattr(pair[1], name)
    before, after = ours.environment.inputs, theirs.environment.inputs
    yield from ((f"input: {name}", getattr(before, name), getattr(after, name)) for name in Inputs.model_fields)


def text_of(value: Any) -> str | None:
    """A value as text: options as typed, None for a missing value."""
    if isinstance(value, Mapping):
        value = " ".join(f"{name}={each}" for name, each in sorted(value.items()))
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return None if value in (None, "") else str(value)


def data_of(found: Differences) -> Mapping[str, Any]:
    """As plain JSON data."""
    return {
        name: [{"what": each.what, "a": each.first, "b": each.second} for each in listed]
        for name, listed in (("others", found.others), ("variables", found.variables))
    }
