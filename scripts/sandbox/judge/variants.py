"""Differences of setup: whether variants differ only as requested, and all in which two results
differ.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib.resources import files
from typing import Any

from sandbox.judge.unpaired import ResultSide, matched
from sandbox.profile.names import PAIR_LISTS, bare, pairs_of
from sandbox.record.manifest import CellPart, MatrixPart
from sandbox.record.record import Environment, Inputs, Record

Variables = Mapping[str, str]

_NODE_IDENTITY = [
    pattern
    for line in (
        files(__package__).joinpath("node_identity.txt").read_text(encoding="utf-8").splitlines()
    )
    for pattern in line.partition("#")[0].split()
]
_PROVIDER_OPTIONS = "wsrep_provider_options"
"""One Galera variable holds dozens of settings."""

_WORDS = {"1": "on", "yes": "on", "true": "on", "0": "off", "no": "off", "false": "off"}
"""One server says 1 where another says ON."""

_RENAMED = {"tx_isolation": "transaction_isolation", "tx_read_only": "transaction_read_only"}
"""Old names, in MariaDB before 11.1 and MySQL before 5.7.20, of variables whose file option has the
newer name already.

Source: MariaDB 11.1.1 (MDEV-21921), MySQL 5.7.20 and 8.0.3 (WL#9636), release notes. Every server
has one of the two names.
"""
_SIZES = {"k": 1024, "m": 1024**2, "g": 1024**3, "t": 1024**4}


@dataclass(frozen=True, slots=True)
class VariantDifference:
    """A variable that two variants do not share; None where a server does not have it."""

    server: str
    variable: str
    baseline: str | None
    variant: str | None

    def __str__(self) -> str:
        return f"{self.server}: {self.variable} is {self.variant}, the baseline has {self.baseline}"


def differences(
    baseline: Mapping[str, Variables], variant: Mapping[str, Variables]
) -> list[VariantDifference]:
    """Every variable that differs, server by server in their order: a source against a source."""
    found = []
    for (name, ours), theirs in zip(variant.items(), baseline.values(), strict=False):
        mine, others = _spread_out(ours), _spread_out(theirs)
        for variable in sorted({*mine, *others}):
            pair = others.get(variable), mine.get(variable)
            if not same(*pair) and not identifies_a_node(variable):
                found.append(VariantDifference(name, variable, *pair))
    return found


def identifies_a_node(variable: str) -> bool:
    """Whether a variable identifies a node and is therefore never compared."""
    return any(fnmatchcase(variable, pattern) for pattern in _NODE_IDENTITY)


def _spread_out(variables: Variables) -> dict[str, str]:
    """The variables; in place of Galera's options, each of its settings as
    ``wsrep_provider_options:gcache.size``.
    """
    options = _pair_by_pair(_PROVIDER_OPTIONS, variables.get(_PROVIDER_OPTIONS, ""))
    return _by_one_name(
        {name: value for name, value in variables.items() if name != _PROVIDER_OPTIONS} | options
    )


def _one_name(variable: str) -> str:
    """One name for a variable, however it is typed and whatever the server version calls it."""
    name = bare(variable)
    return _RENAMED.get(name, name)


def _by_one_name(variables: Variables) -> dict[str, str]:
    return {_one_name(name): value for name, value in variables.items()}


def same(one: str | None, other: str | None) -> bool:
    """Whether two values mean the same to a server, which may say ON or 1."""
    words = {value and _WORDS.get(value.lower(), value.lower()) for value in (one, other)}
    return len(words) == 1


def unasked(
    found: list[VariantDifference], planned_baseline: Variables, planned_variant: Variables
) -> tuple[list[VariantDifference], list[VariantDifference]]:
    """(wrong, free): variables that a layer set to the same value in both, yet differ; and those
    that no layer set.

    ``planned``: the variables that component, settings and SET= give the servers of each variant.
    What they set differently was requested.
    """
    of_baseline, of_variant = _by_one_name(planned_baseline), _by_one_name(planned_variant)
    wrong, free = [], []
    for each in found:
        name = _one_name(each.variable.partition(":")[0])
        planned = of_baseline.get(name), of_variant.get(name)
        if planned == (None, None):
            free.append(each)
        elif planned[0] is not None and same(*planned):
            wrong.append(each)
    return wrong, free


def not_in_effect(
    asked: Sequence[tuple[str | None, str, str]], servers: Mapping[str, Variables]
) -> list[VariantDifference]:
    """Settings of SET= that are not in effect (``baseline``: as typed, ``variant``: the server's
    answer).

    ``asked``: (term or None, name, value) as SET= takes them; the last one of a name counts, and of
    a list of ``key=value`` the last one of a key. A server without the variable is ignored;
    refusing an unknown one at startup is its own job. But every server has the isolation level, so
    a missing answer does not prove it.
    """
    found = []
    for server, variables in servers.items():
        terms = (None, server, server.rstrip("0123456789"))
        wanted: dict[str, str] = {}
        for term, name, value in asked:
            if term in terms:
                wanted |= _pair_by_pair(name, value)
        answers: dict[str, str] = {}
        for name, value in variables.items():
            answers |= _pair_by_pair(name, value)
        for name, value in wanted.items():
            if (answer := answers.get(name)) is None:
                proved = name not in _RENAMED.values()
            else:
                proved = same(_plain(value), _plain(answer))
            if not proved and not identifies_a_node(name):
                found.append(VariantDifference(server, name, value, answer))
    return found


def _pair_by_pair(name: str, value: str) -> dict[str, str]:
    """A variable by its one name; each key of a list as ``optimizer_switch:mrr``."""
    variable = _one_name(name)
    if variable not in PAIR_LISTS:
        return {variable: value}
    return {f"{variable}:{key}": setting for key, setting in pairs_of(variable, value).items()}


def refusal(found: VariantDifference) -> str:
    """A finding of `not_in_effect`, in words."""
    if found.variant is None:
        return f"{found.server} has no {found.variable}, so {found.baseline} cannot be verified"
    return f"{found.server}: {found.variable} is {found.variant}, not {found.baseline}"


def _plain(value: str) -> str:
    """A number without its unit; ``0.50`` and ``0.5`` alike."""
    unit = value[-1:].lower()
    digits = value[:-1] if unit in _SIZES else value
    try:
        return f"{float(digits) * _SIZES.get(unit, 1):.15g}"
    except ValueError:
        return value


@dataclass(frozen=True, slots=True)
class ComparedVariants:
    """A variant against the baseline's, by the cells that first compared the two.

    ``asked``: set differently; ``wrong``: set to the same value in both; ``unset``: values that
    nobody set; ``only_one``: variables that only one of them has, and nobody set. ``causes``: which
    of image, version, CPUS, MEMORY, CPUSET and DISK differ between the variants; empty if none, so
    that unset values follow from the requested change.
    """

    cell: CellPart
    baseline: CellPart
    causes: tuple[str, ...]
    asked: Sequence[VariantDifference]
    wrong: Sequence[VariantDifference]
    unset: Sequence[VariantDifference]
    only_one: Sequence[VariantDifference]


def compared_variants(part: MatrixPart, records: Sequence[Record]) -> list[ComparedVariants]:
    """One for each compared pair of stacks, from the first good record of each."""
    first = {
        each.cell: each for each in reversed(records) if each.status == "ok" and each.variables
    }
    cells = {cell.name: cell for cell in part.cells}
    found: dict[tuple[str, str], ComparedVariants] = {}
    for each in part.comparisons:
        cell, baseline = cells[each.cell], cells[each.baseline]
        pair = cell.variant, baseline.variant
        if (
            pair[0] != pair[1]
            and pair not in found
            and cell.name in first
            and baseline.name in first
        ):
            found[pair] = _compared(part, cell, baseline, first)
    return list(found.values())


def _compared(
    part: MatrixPart, cell: CellPart, baseline: CellPart, first: Mapping[str, Record]
) -> ComparedVariants:
    variant, base = first[cell.name], first[baseline.name]
    found = differences(base.variables, variant.variables)
    wrong, free = unasked(
        found, part.planned.get(baseline.variant, {}), part.planned.get(cell.variant, {})
    )
    only_one = [each for each in free if each.baseline is None or each.variant is None]
    ours, theirs = _possible_causes(variant), _possible_causes(base)
    return ComparedVariants(
        cell,
        baseline,
        causes=tuple(word for word in ours if ours[word] != theirs[word]),
        asked=[each for each in found if each not in wrong and each not in free],
        wrong=wrong,
        unset=[each for each in free if each not in only_one],
        only_one=only_one,
    )


def _possible_causes(record: Record) -> dict[str, object]:
    """The causes of servers only: a proxy next to them sets none of their variables."""
    servers = [node for node in record.nodes if node.name in record.variables]
    inputs = record.environment.inputs
    limits = {
        "CPUS": inputs.cpus,
        "MEMORY": inputs.memory,
        "CPUSET": inputs.cpuset,
        "DISK": inputs.disk,
    }
    return {
        "image": [node.image_id for node in servers],
        "version": [node.server_version for node in servers],
        **limits,
    }


_HOST = tuple(
    name
    for name in Environment.model_fields
    if name not in ("data_file_system", "during", "inputs")
)
LOAD = (
    "threads",
    "seconds",
    "warmup_s",
    "tables",
    "rows_per_table",
    "distribution",
    "rate_per_s",
    "options",
    "file_sha256",
)
"""Besides the name, what must match for two runs to have had the same load."""
_PLAN = ("depth", "warmup_s", "seconds", "blocks")
_Fact = tuple[str, Any, Any]
"""A name, the value in A, and the value in B."""
_NODE = ("server_version", "package_version", "image", "image_id", "digest")


@dataclass(frozen=True, slots=True)
class Difference:
    """``what`` has one value in A and another in B; None where it is unknown or absent."""

    what: str
    first: str | None
    second: str | None


@dataclass(frozen=True, slots=True)
class Differences:
    """``variables``: effective variables of servers; all else in ``others``, the most important
    first.
    """

    others: Sequence[Difference]
    variables: Sequence[Difference]


def differences_between(first: ResultSide, second: ResultSide) -> Differences:
    """Everything that differs; one run represents each matched cell."""
    pairs = [(_one(first, cell), _one(second, other)) for cell, other in matched(first, second)]
    seen = [(ours, theirs) for ours, theirs in pairs if ours and theirs]
    plan, other = first.manifest.matrix, second.manifest.matrix
    facts: list[_Fact] = [
        ("commit of this tool", first.manifest.tool_commit, second.manifest.tool_commit),
        ("profile", first.manifest.profile, second.manifest.profile),
        ("host class", first.host_class, second.host_class),
        *((f"host: {name}", _joined(first, name), _joined(second, name)) for name in _HOST),
        *(
            (f"plan: {name}", getattr(plan, name), getattr(other, name))
            for name in _PLAN
            if plan and other
        ),
        *(each for ours, theirs in seen for each in _run(ours, theirs)),
    ]
    others = [
        Difference(what, text_of(ours), text_of(theirs))
        for what, ours, theirs in facts
        if ours != theirs
    ]
    variables = [
        Difference(f"{each.server}: {each.variable}", each.baseline, each.variant)
        for ours, theirs in seen
        for each in differences(ours.variables, theirs.variables)
    ]
    return Differences(list(dict.fromkeys(others)), list(dict.fromkeys(variables)))


def _one(side: ResultSide, cell: str) -> Record | None:
    return next((each for each in side.records if each.cell == cell and each.nodes), None)


def _joined(side: ResultSide, name: str) -> str | None:
    """The values that the machines that could be asked report, if any."""
    values = {
        getattr(each.environment, name) for each in side.records if each.environment.engine_version
    }
    return ", ".join(sorted(str(value) for value in values if value is not None)) or None


def _run(ours: Record, theirs: Record) -> Iterator[_Fact]:
    yield from (
        (f"load: {name}", getattr(ours.workload, name), getattr(theirs.workload, name))
        for name in LOAD
    )
    around = circumstances(ours), circumstances(theirs)
    names = dict.fromkeys([*around[0], *around[1]])
    yield from ((name, around[0].get(name), around[1].get(name)) for name in names)
    there, here = ({node.name: node for node in record.nodes} for record in (theirs, ours))
    for node in dict.fromkeys([*here, *there]):
        pair = here.get(node), there.get(node)
        for name in _NODE if all(pair) else ("term",):
            yield (
                f"{node}: {name}",
                pair[0] and getattr(pair[0], name),
                pair[1] and getattr(pair[1], name),
            )
    before, after = ours.environment.inputs, theirs.environment.inputs
    yield from (
        (f"input: {name}", getattr(before, name), getattr(after, name))
        for name in Inputs.model_fields
    )


def circumstances(record: Record) -> dict[str, str]:
    """Through which entry point the load went and, of a trial, what broke and how often its prober
    wrote, as texts.
    """
    entry = record.workload.entry
    trial = record.trial
    found = {"entry": entry.via} if entry else {}
    if trial is None:
        return found
    steps = [
        " ".join(
            [each.name, each.target, f"at {each.at_s:g} s", text_of(each.options) or ""]
        ).strip()
        for each in trial.steps
    ]
    return {
        **found,
        "breaks": "; ".join(steps) or "nothing",
        "prober": f"{text_of(trial.rates)}{' BEGIN … COMMIT' if trial.transaction else ''}",
    }


def text_of(value: Any) -> str | None:
    """A value as text: options as typed, None for a missing value."""
    if isinstance(value, Mapping):
        value = " ".join(f"{name}={each}" for name, each in sorted(value.items()))
    if isinstance(value, list):
        value = " ".join(map(str, value))
    return None if value in (None, "") else str(value)


def data_of(found: Differences) -> Mapping[str, Any]:
    """The differences as plain JSON data."""
    return {
        name: [{"what": each.what, "a": each.first, "b": each.second} for each in listed]
        for name, listed in (("others", found.others), ("variables", found.variables))
    }
