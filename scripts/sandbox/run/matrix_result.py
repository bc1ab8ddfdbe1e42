"""The result folder of a matrix: begun, or found again where an earlier start stopped."""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from pydantic import ValidationError

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.experiment import Experiment
from sandbox.plan.matrix import CANARY, DEFAULT_WORKLOAD, Cell
from sandbox.results.matrix_part import CellPart, ComparisonPart, MatrixPart
from sandbox.results.store import Manifest, ResultFolder, all_results, slug_of
from sandbox.run.open_run import LARGEST_SEED
from sandbox.run.schedule import arms
from sandbox.run.state import BenchRequest
from sandbox.run.tool_commit import tool_commit

Gate = Callable[[ResultFolder], int]
"""Asked after the last block: how many more are run on the same stacks; 0 ends it."""

FINAL = ("ok", "failed", "skipped")
"""A run of another status is done again when the matrix goes on."""


@dataclass(frozen=True)
class MatrixRequest:
    """What `make matrix` was asked for.

    ``bench_of``: the load of a cell; ``skipped``: cells that cannot run here, each with the reason.
    """

    experiment: Experiment
    blocks: int
    seed: int | None
    bench_of: Callable[[Cell], BenchRequest]
    skipped: Mapping[str, str]
    host_class: str
    planned: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """By arm, the variables that component, settings and SET= give its servers."""
    proxied: frozenset[str] = frozenset()
    """Arms whose stack has a proxy."""
    from_nothing: frozenset[str] = frozenset()
    """Arms whose stack cannot be restored, and makes its data at every start."""
    command: tuple[str, ...] = ()
    afresh: bool = False
    gate: Gate | None = None
    """Block 0 comes first and is discarded (docs/statistics.md, rule 4); a run lost to the environment ends it all."""


def unfinished(request: MatrixRequest, results: Path) -> ResultFolder | None:
    """The newest result of the same plan and host class that was not ended; None where one is to begin afresh."""
    if request.afresh:
        return None
    for result in reversed(all_results(results)):
        try:
            manifest = result.manifest
        except ValidationError:  # of another version of this tool: nothing to go on with
            continue
        part = manifest.matrix
        if part is None or manifest.ended_utc is not None:
            continue
        same = (part.key, part.host_class, part.blocks) == (
            request.experiment.key,
            request.host_class,
            request.blocks,
        )
        if same and request.seed in (None, part.seed):
            return result
    return None


def begin(request: MatrixRequest, results: Path) -> ResultFolder:
    """A new result."""
    matrix = request.experiment.matrix
    manifest = Manifest(
        kind="matrix",
        slug=slug_of(f"matrix-{matrix.name}"),
        profile=request.experiment.canary_of.change.expression,
        command=list(request.command),
        started_utc=datetime.now(UTC).replace(microsecond=0),
        tool_commit=tool_commit(),
        matrix=matrix_part(request),
    )
    return ResultFolder.create(results, manifest)


def matrix_part(request: MatrixRequest) -> MatrixPart:
    """What the manifest says of the plan; a seed is drawn where none was asked for."""
    experiment = request.experiment
    matrix = experiment.matrix
    named = arms(experiment)
    return MatrixPart(
        name=matrix.name,
        title=matrix.title,
        question=matrix.question,
        note=matrix.note,
        key=experiment.key,
        host_class=request.host_class,
        seed=request.seed or random.SystemRandom().randint(1, LARGEST_SEED),
        blocks=request.blocks,
        adjustment=matrix.adjustment,
        depth=matrix.depth,
        warmup_s=matrix.warmup,
        seconds=matrix.seconds,
        metrics=matrix.metrics,
        factors={
            name: [level for level in levels if level not in experiment.left_out.get(name, [])]
            for name, levels in matrix.factors.items()
        },
        left_out={name: list(levels) for name, levels in experiment.left_out.items()},
        baseline=matrix.baseline,
        cells=[
            CellPart(
                name=cell.name,
                levels=cell.levels,
                profile=cell.change.expression,
                arm=named[cell.stack_key],
                skipped=request.skipped.get(cell.name),
            )
            for cell in experiment.cells
        ],
        comparisons=[ComparisonPart(cell=each.cell, baseline=each.baseline) for each in experiment.comparisons],
        canary=ComparisonPart(cell=CANARY, baseline=experiment.canary_of.name),
        canary_workload=experiment.canary_of.change.workload or DEFAULT_WORKLOAD,
        planned={arm: dict(variables) for arm, variables in request.planned.items()},
    )


def part_of(result: ResultFolder) -> MatrixPart:
    """The matrix part of a result's manifest. Raises SandboxError (exit 5) where it has none."""
    part = result.manifest.matrix
    if part is None:
        what = f"{result.path.name} is no matrix"
        raise SandboxError(what, "its manifest has no matrix part", "make matrix NEW=1", ExitCode.INTERNAL)
    return part
