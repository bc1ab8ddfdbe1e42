"""The manifest of a matrix: the cells, what is compared with what, and the host checks."""

from typing import Literal

from pydantic import AliasChoices, Field

from sandbox.results.record import Part

Adjustment = Literal["Holm", "Benjamini-Hochberg"]
Depth = Literal["slices", "restart"]


class CellPart(Part):
    """One cell. ``skipped``: why it cannot run here; null for one that can."""

    name: str
    levels: dict[str, str]
    profile: str
    variant: str = Field(validation_alias=AliasChoices("variant", "arm"), serialization_alias="arm")
    """The stack that it runs on, by its name in the experiment; ``arm`` in the file."""
    skipped: str | None = None


class ComparisonPart(Part):
    """A cell and the one it is compared with."""

    cell: str
    baseline: str


class HostCheck(Part):
    """The machine before a block: loop iterations in half a second of processor time, and the median of 50 fsyncs."""

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
    metrics: list[str]
    factors: dict[str, list[str]]
    """Levels that were run, by factor."""
    left_out: dict[str, list[str]] = Field(default_factory=dict)
    """Levels that ONLY= excluded."""
    baseline: dict[str, str]
    cells: list[CellPart]
    comparisons: list[ComparisonPart]
    canary: ComparisonPart
    canary_workload: str | None = None
    host_checks: list[HostCheck] = Field(default_factory=list)
    planned: dict[str, dict[str, str]] = Field(default_factory=dict)
    """By variant, the variables that component, settings and SET= gave its servers."""
    calibrated: dict[str, float] | None = None
    """Host noise known when it was judged, for the canary's workload, by metric; empty: none; null: not judged yet."""
    calibrated_others: dict[str, dict[str, float]] = Field(default_factory=dict)
    """The same for every other workload of its cells that the host was calibrated for."""
    overhead_s: float | None = None
    """Wall time besides warm-up and measured seconds; null for a matrix that was not run in one go."""
    estimated_overhead_s: float | None = Field(
        default=None,
        validation_alias=AliasChoices("estimated_overhead_s", "foreseen_overhead_s"),
        serialization_alias="foreseen_overhead_s",
    )
    """The same as estimated for a machine like the one that the estimate was measured on."""
