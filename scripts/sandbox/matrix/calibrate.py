"""A calibration: a matrix of one cell and itself, whose differences are the noise of this host."""

from collections.abc import Mapping
from dataclasses import dataclass

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import canary_differences, kind_of_canary
from sandbox.judge.verdict import FEWEST_BLOCKS
from sandbox.matrix.cell import Change
from sandbox.matrix.definition import Matrix
from sandbox.matrix.selection import Selection
from sandbox.measure.machine import calibration_path, change_calibration
from sandbox.record.store import ResultFolder


@dataclass(frozen=True)
class KnownNoise:
    """The noise of this host for runs of a kind. ``sds``: by metric, the sd of one pair."""

    kind: str
    pairs: int
    sds: Mapping[str, float]
    file: str
    """Where it is kept."""


def a_against_a(
    profile: str, workload: str, threads: int, seconds: int, warmup: int, pairs: int
) -> Selection:
    """One cell, with itself as the canary. Seconds: per run."""
    matrix = Matrix(
        name="calibrate",
        title="A/A calibration",
        question="How far apart are two runs of the same setup?",
        common=Change(profile=profile, workload=workload, threads=threads),
        factors={"variant": {"A": Change()}},
        baseline={"variant": "A"},
        seconds=seconds,
        warmup=warmup,
        blocks=pairs,
    )
    return Selection(matrix, tuple(matrix.all_cells()))


def calibrated(result: ResultFolder) -> KnownNoise:
    """The noise that a calibration has shown, saved for later verdicts.

    Raises SandboxError (exit 4) if too few of its pairs are usable.
    """
    part = result.manifest.matrix
    records = result.records()
    kind = kind_of_canary(part, records) if part else None
    differences = canary_differences(part, records) if part else {}
    pairs = len(differences.get("tps", []))
    if kind is None or pairs < FEWEST_BLOCKS:
        what = f"{pairs} pairs of the calibration are usable; at least {FEWEST_BLOCKS} are needed"
        known = f"see: {result.path}"
        raise SandboxError(what, known, "try: make calibrate", ExitCode.ENVIRONMENT)
    calibration = change_calibration(lambda before: before.calibrated(kind, differences))
    return KnownNoise(kind, pairs, calibration.sds(kind) or {}, str(calibration_path()))
