"""The manifest of a result: its runs; for a matrix the cells, what is compared with what, and the
host checks.
"""

import statistics
from collections.abc import Sequence
from typing import Literal

from pydantic import AliasChoices, AwareDatetime, Field

from sandbox.record.record import Part, Status

Adjustment = Literal["Holm", "Benjamini-Hochberg"]
Depth = Literal["slices", "restart"]
ResultKind = Literal["bench", "trial", "matrix", "repro", "upgrade"]
EndOfRepeats = Literal["complete", "came", "interrupted", "not possible", "no stack"]
"""How repeated trials ended: all are made; what was to end them came; by Ctrl-C; the first one
could not be carried out; the stack could not be made ready for the next one.
"""
LARGEST_DEVIATION = 0.25
"""Of the median over all blocks."""


class CellPart(Part):
    """One cell. ``skipped``: why it cannot run here; null for one that can."""

    name: str
    levels: dict[str, str]
    profile: str
    variant: str = Field(validation_alias=AliasChoices("variant", "arm"), serialization_alias="arm")
    """The stack that it runs on, by its name in the matrix; ``arm`` in the file."""
    skipped: str | None = None


class ComparisonPart(Part):
    """A cell and the one it is compared with."""

    cell: str
    baseline: str


class ExpectedPart(Part):
    """Between which values, in the metric's unit, its median was expected in some cells before
    anything was run.

    ``tolerance``: how far outside a median still is as expected; ``because``: what the values are
    computed from.
    """

    cells: list[str]
    metric: str
    between: tuple[float, float]
    tolerance: float
    because: str


class SourcePart(Part):
    """Who measured what was published, and on what; empty where the matrix file does not say."""

    authors: str
    year: int
    title: str = ""
    link: str = ""
    versions: str = ""
    hardware: str = ""
    scale: str = ""


class StatementPart(Part):
    """A published statement, with the cells that it is of. It has ``pairs``, each a cell and the
    one that it is compared with, or else ``curves``, each the cells of one in the order of
    ``over``.
    """

    says: str
    metric: str
    source: str = ""
    pairs: list[tuple[str, str]] = Field(default_factory=list)
    ratio: tuple[float, float] | None = None
    """Between which values the ratio of a pair is."""
    order: Literal["higher", "lower", "alike"] | None = None
    """Of the first of a pair, compared with the other one."""
    curves: list[list[str]] = Field(default_factory=list)
    over: str = ""
    """The factor whose levels are the steps of a curve."""
    knee_at: float | None = None
    """Level from which on a curve grows no further; null: it is flat."""


class HostCheck(Part):
    """The machine before a block: loop iterations in half a second of processor time, and the
    median of 50 fsyncs.
    """

    block: int
    cpu_turns: int
    fsync_ms: float


class MatrixPart(Part):
    """The plan of a matrix, as it was run."""

    name: str
    title: str
    question: str
    note: str
    key: str
    """Identity of the plan: an unfinished result with the same one is resumed."""
    host_class: str
    """Processor, cores, engine, storage: the host that a calibration holds for."""
    seed: int
    blocks: int
    adjustment: Adjustment = "Benjamini-Hochberg"
    depth: Depth
    warmup_s: int
    seconds: int
    scale: str = "laptop"
    """As SCALE= was; laptop: as the file is."""
    metrics: list[str]
    trials: bool = False
    """Whether some cell is a trial."""
    factors: dict[str, list[str]]
    """Levels that were run, by factor."""
    left_out: dict[str, list[str]] = Field(default_factory=dict)
    """Levels that ONLY= excluded."""
    baseline: dict[str, str]
    cells: list[CellPart]
    comparisons: list[ComparisonPart]
    canary: ComparisonPart
    canary_workload: str | None = None
    expected: list[ExpectedPart] = Field(default_factory=list)
    sources: dict[str, SourcePart] = Field(default_factory=dict)
    published: list[StatementPart] = Field(default_factory=list)
    host_checks: list[HostCheck] = Field(default_factory=list)
    planned: dict[str, dict[str, str]] = Field(default_factory=dict)
    """By variant, the variables that component, settings and SET= gave its servers."""
    calibrated: dict[str, float] | None = None
    """Host noise known when it was judged, for the canary's workload, by metric; empty: none; null:
    not judged yet.
    """
    calibrated_others: dict[str, dict[str, float]] = Field(default_factory=dict)
    """Host noise of every other workload of its cells that the host was calibrated for."""
    overhead_s: float | None = None
    """Wall time besides warm-up and measured seconds; null for a matrix that was not run in one
    go.
    """
    estimated_overhead_s: float | None = Field(
        default=None,
        validation_alias=AliasChoices("estimated_overhead_s", "foreseen_overhead_s"),
        serialization_alias="foreseen_overhead_s",
    )
    """The overhead as estimated for a machine like the one that the estimate was measured on."""

    @property
    def canary_pair(self) -> tuple[str, str]:
        """The canary's two cells."""
        return self.canary.cell, self.canary.baseline


class RepeatsPart(Part):
    """A trial that was repeated on one stack, and why that ended."""

    count: int
    """How many trials were asked for."""
    fresh: bool
    """Whether the stack was restored for each; else it was healed and repaired between them."""
    until: str | None = None
    """What was to end it early, as typed."""
    end: EndOfRepeats | None = None
    """How it ended; null while it is running, or if it was killed."""
    reason: str | None = None
    """Why there are fewer trials than asked for."""


class StartPart(Part):
    """How long a stack of a repro took until it was ready, s; 0 for what was there already."""

    cell: str
    profile: str
    images_s: float = 0.0
    """Until its images were pulled or built."""
    base_s: float = 0.0
    """The first start of each of its servers, which later stacks begin after."""
    up_s: float


class ReprosPart(Part):
    """Repros, or a search that carries one out again and again."""

    key: str
    """Identity of what was asked for: an unfinished result with the same one is resumed."""
    search: Literal["bisect", "shrink"] | None = None
    """Null: the repros themselves."""
    starts: list[StartPart] = Field(default_factory=list)
    repeat_s: float | None = None
    """A repeat on a stack that is up, with its reset and its record: the median; null: none yet."""
    predicted_s: float | None = None
    """How long the search between its two ends would take, said before it began."""
    taken_s: float | None = None
    answer: str | None = None
    """What a search has found, in a sentence; null for any other result, and while it goes on."""
    notes: list[str] = Field(default_factory=list)
    """What belongs to the answer: release notes of the two versions, variables that matter."""
    home: str | None = None
    """What was checked out in the source tree before a search over commits."""


class RunEntry(Part):
    """One line of the manifest: a run that has left its record."""

    run: str
    status: Status


class Manifest(Part):
    """``manifest.json``: what a result holds. ``ended_utc`` is null while it is running, or if it
    was killed.
    """

    schema_version: Literal[1] = 1
    kind: ResultKind
    slug: str
    profile: str
    command: list[str]
    started_utc: AwareDatetime
    ended_utc: AwareDatetime | None = None
    tool_commit: str | None = None
    """Git commit of the checkout that measured, with a ``+`` where files were changed; null outside
    git.
    """
    runs: list[RunEntry] = Field(default_factory=list)
    matrix: MatrixPart | None = None
    """The plan of a matrix; null for a bench and for a trial."""
    repeats: RepeatsPart | None = None
    """Of a trial that was repeated; null for any other result."""
    repro: ReprosPart | None = None
    """Of repros; null for any other result, and for one of an earlier version of this tool."""


def marked_blocks(checks: Sequence[HostCheck]) -> dict[int, str]:
    """Blocks before which processor or disk was more than a quarter off the median of all, each
    with the deviation.
    """
    marked: dict[int, list[str]] = {}
    for name, figures in (
        ("processor", {check.block: float(check.cpu_turns) for check in checks}),
        ("fsync", {check.block: check.fsync_ms for check in checks}),
    ):
        middle = statistics.median(figures.values()) if figures else 0.0
        for block, figure in figures.items():
            if middle and abs(figure / middle - 1) > LARGEST_DEVIATION:
                marked.setdefault(block, []).append(f"{name} {figure / middle - 1:+.0%}")
    return {block: ", ".join(reasons) for block, reasons in sorted(marked.items())}
