"""The result of a matrix: a new folder, or the one where an earlier start stopped; what it holds of
how variants are configured, and of noise.
"""

import random
from collections.abc import Iterable, Mapping
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import canary_differences, kind_of_canary, noise_of, noted
from sandbox.judge.compare import Known
from sandbox.judge.variants import differences, not_in_effect, refusal, unasked
from sandbox.matrix.cell import CANARY, DEFAULT_WORKLOAD
from sandbox.matrix.resolved import ResolvedMatrix, ScheduledRun
from sandbox.measure.execute import now, tool_commit
from sandbox.measure.machine import change_calibration, read_calibration
from sandbox.measure.run import LARGEST_SEED
from sandbox.profile.grammar import split_assignments
from sandbox.record.manifest import CellPart, Manifest, MatrixPart
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder, slug_of

_FINAL = ("ok", "failed", "skipped")
"""A run with another status is repeated when the matrix resumes."""
_AS_IN_THE_FILE = {
    "name",
    "title",
    "question",
    "note",
    "adjustment",
    "depth",
    "seconds",
    "metrics",
    "baseline",
}


def unfinished(
    resolved: ResolvedMatrix, known: Iterable[tuple[ResultFolder, Manifest]]
) -> ResultFolder | None:
    """The newest result of the same plan and host class, if it is unfinished and not ``afresh``;
    else None.

    ``known``: the results to choose from, newest first.
    """
    if resolved.afresh:
        return None
    for result, manifest in known:
        if manifest.matrix and _is_same(resolved, manifest.matrix):
            # What NEW=1 has replaced is not resumed after its end.
            return None if manifest.ended_utc else result
    return None


def _is_same(resolved: ResolvedMatrix, part: MatrixPart) -> bool:
    """Whether a result is of the same plan, host class and seed, with as many blocks."""
    if resolved.seed not in (None, part.seed):
        return False
    asked = (resolved.key, resolved.host_class, resolved.blocks)
    return (part.key, part.host_class, part.blocks) == asked


def begin(resolved: ResolvedMatrix, results: Path) -> ResultFolder:
    """Starts a new result."""
    matrix = resolved.matrix
    manifest = Manifest(
        kind="matrix",
        slug=slug_of(f"matrix-{matrix.name}"),
        profile=resolved.canary_of.change.expression,
        command=list(resolved.command),
        started_utc=now(),
        tool_commit=tool_commit(),
        matrix=matrix_part(resolved),
    )
    return ResultFolder.create(results, manifest)


def resume(resolved: ResolvedMatrix, result: ResultFolder) -> ResultFolder:
    """The result, which now has the cells that can run now; a cell that has run stays in it even if
    it cannot.
    """
    before = part_of(result)
    after = matrix_part(resolved)
    ran = {run.rpartition(".")[0] for run in runs_done(result.manifest)}
    cells = [
        cell.model_copy(update={"skipped": None}) if cell.name in ran else cell
        for cell in after.cells
    ]
    result.note(cells=cells, planned=before.planned | after.planned)
    return result


def runs_done(manifest: Manifest) -> set[str]:
    """The runs, by name, that are not repeated when the matrix resumes."""
    return {entry.run for entry in manifest.runs if entry.status in _FINAL}


def matrix_part(resolved: ResolvedMatrix) -> MatrixPart:
    """The plan as the manifest has it; a seed is drawn if none was given."""
    matrix = resolved.matrix
    cells = [*resolved.cells.values()]
    return MatrixPart(
        **matrix.model_dump(include=_AS_IN_THE_FILE),
        key=resolved.key,
        host_class=resolved.host_class,
        seed=resolved.seed or random.SystemRandom().randint(1, LARGEST_SEED),
        blocks=resolved.blocks,
        warmup_s=matrix.warmup,
        scale=matrix.scale,
        trials=resolved.has_trials,
        factors=_factors(resolved),
        left_out={name: list(levels) for name, levels in resolved.left_out.items()},
        cells=[
            CellPart(
                name=cell.name,
                levels=cell.levels,
                profile=cell.change.expression,
                variant=cell.stack,
                skipped=cell.skipped,
            )
            for cell in resolved.cells.values()
        ],
        comparisons=resolved.comparisons,
        canary=resolved.canary,
        canary_workload=resolved.canary_of.change.workload or DEFAULT_WORKLOAD,
        expected=matrix.published.expected(cells),
        sources=matrix.published.sources_part(),
        published=matrix.published.statements_on(cells),
        planned={
            name: dict(stack.variables) for name, stack in resolved.stacks.items() if stack.plan
        },
    )


def _factors(resolved: ResolvedMatrix) -> dict[str, list[str]]:
    """The levels that are left of each factor."""
    factors = {}
    for factor, levels in resolved.matrix.factors.items():
        left_out = resolved.left_out.get(factor, [])
        factors[factor] = [level for level in levels if level not in left_out]
    return factors


def part_of(result: ResultFolder) -> MatrixPart:
    """The matrix part of a result's manifest. Raises SandboxError (exit 5) if it has none."""
    part = result.manifest.matrix
    if part is None:
        what = f"{result.path.name} is not a matrix result"
        raise SandboxError(
            what,
            "its manifest has no matrix part",
            "try: make list WHAT=results",
            ExitCode.INTERNAL,
        )
    return part


class ConfigurationCheck:
    """Fails the records of a result whose variant is not configured as asked for.

    Either a variable of SET= is not in effect, or the variant differs from what it is compared with
    in a variable that nobody set.
    """

    def __init__(self, resolved: ResolvedMatrix, result: ResultFolder) -> None:
        part = part_of(result)
        self._result = result
        self._planned = part.planned
        self._stack_of_cell = {cell.name: cell.stack for cell in resolved.cells.values()}
        self._stack_of_cell[CANARY] = CANARY
        self._must_be_like = dict(self._stack_of_cell)
        """By cell, the stack of what it is compared with; for a baseline its own, which may have
        been restarted.
        """
        for each in [*part.comparisons, part.canary]:
            self._must_be_like[each.cell] = self._stack_of_cell[each.baseline]
        self._variables: dict[str, Mapping[str, Mapping[str, str]]] = {}
        """By stack, the variables of its servers in its first good run."""

    def checked(self, run: ScheduledRun, record: Record) -> Record:
        """The record of a run; ``failed`` if its variant is not configured as asked for."""
        if record.status != "ok":
            return record
        refused = not_in_effect(split_assignments(run.of.assignments), record.variables)
        if refused:
            return self._failed(record, f"SET is not in effect: {'; '.join(map(refusal, refused))}")
        # Cells that came before their baseline are compared with it now.
        if run.stack not in self._variables:
            self.check_earlier()
        return self._failed_if_unlike(record)

    def check_earlier(self) -> None:
        """Reads the variables of every variant with a good record, and compares all saved
        records.
        """
        records, _ = self._result.readable_records()
        for record in records:
            if record.status == "ok":
                self._variables.setdefault(self._stack_of_cell[record.cell], record.variables)
        for record in records:
            self._failed_if_unlike(record)

    def _failed_if_unlike(self, record: Record) -> Record:
        baseline = self._must_be_like[record.cell]
        if baseline not in self._variables or record.status != "ok":
            return record
        found = differences(self._variables[baseline], record.variables)
        planned_of_baseline = self._planned.get(baseline, {})
        planned = self._planned.get(self._stack_of_cell[record.cell], {})
        wrong, _ = unasked(found, planned_of_baseline, planned)
        if not wrong:
            return record
        text = "; ".join(map(str, wrong[:3]))
        return self._failed(record, f"unexpected configuration difference between variants: {text}")

    def _failed(self, record: Record, reason: str) -> Record:
        failed = record.model_copy(update={"status": "failed", "reason": reason})
        self._result.save(failed, frozenset())
        return failed


def known_noise(result: ResultFolder) -> Known:
    """The known noise of this host for runs such as these, by workload."""
    return noise_of(part_of(result), result.records(), read_calibration())


def note_noise(result: ResultFolder, known: Known) -> None:
    """Notes the known noise in the result, so that a later report says the same."""
    result.note(**noted(part_of(result), result.records(), known))


def learn_from(result: ResultFolder) -> None:
    """Adds the canary to the known noise of this host."""
    part = part_of(result)
    records = result.records()
    kind = kind_of_canary(part, records)
    if kind:
        differences = canary_differences(part, records)
        change_calibration(lambda known: known.grown(kind, differences))
