"""The result folder of a matrix: a new one, or the one where an earlier start stopped."""

import random
from collections.abc import Iterable
from pathlib import Path

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import canary_differences, kind_of_canary, noise_of, noted
from sandbox.judge.compare import Known
from sandbox.matrix.definition import DEFAULT_WORKLOAD
from sandbox.matrix.resolved import ResolvedMatrix
from sandbox.measure.execute import now, tool_commit
from sandbox.measure.machine import change_calibration, read_calibration
from sandbox.measure.run import LARGEST_SEED
from sandbox.record.manifest import CellPart, ExpectedPart, Manifest, MatrixPart
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
    return MatrixPart(
        **matrix.model_dump(include=_AS_IN_THE_FILE),
        key=resolved.key,
        host_class=resolved.host_class,
        seed=resolved.seed or random.SystemRandom().randint(1, LARGEST_SEED),
        blocks=resolved.blocks,
        warmup_s=matrix.warmup,
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
        expected=_expected(resolved),
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


def _expected(resolved: ResolvedMatrix) -> list[ExpectedPart]:
    """The expectations of the cells that are left, each with their names."""
    found = []
    for each in resolved.matrix.expected:
        names = [cell.name for cell in resolved.cells.values() if each.holds_for(cell.levels)]
        if names:
            found.append(ExpectedPart(cells=names, **each.model_dump(exclude={"where"})))
    return found


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
