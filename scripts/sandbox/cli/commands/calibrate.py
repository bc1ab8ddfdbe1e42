"""calibrate: measures the noise of this host in A/A pairs, so that a difference has a margin to exceed."""

import sys
from collections.abc import Mapping
from dataclasses import replace
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrix_run import run_resolved
from sandbox.cli.common.options import Json, Profile, chosen, need_profile, show
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import canary_differences, kind_of_canary
from sandbox.judge.verdict import FEWEST_BLOCKS, MOST_BLOCKS, margin_of
from sandbox.matrix.definition import Cell, Change, Matrix
from sandbox.matrix.resolve import need_baseline, resolve
from sandbox.matrix.selection import Experiment
from sandbox.measure.machine import calibration_path, change_calibration
from sandbox.record.metrics import METRICS, PROCESSOR_TIME
from sandbox.report.text import text_table

ABOUT = About(group="measure", after="smoke", recorded=True)

_SHOWN = (*PROCESSOR_TIME, "tps", "latency_avg_ms", "latency_p95_ms", "latency_p99_ms")
_BLOCKS = (6, 8, 16)


def run(experiment: Experiment, pairs: int, as_json: bool) -> int:
    """Runs A/A pairs, saves and prints the noise that they show; returns the exit code."""
    resolved = replace(resolve(experiment), blocks=pairs)
    need_baseline(resolved)
    result = run_resolved(resolved)
    part, records = result.manifest.matrix, result.records()
    kind = kind_of_canary(part, records) if part else None
    differences = canary_differences(part, records) if part else {}
    pairs = len(differences.get("tps", []))
    if kind is None or pairs < FEWEST_BLOCKS:
        what = f"{pairs} pairs of the calibration are usable; at least {FEWEST_BLOCKS} are needed"
        raise SandboxError(what, f"see: {result.path}", "try: make calibrate", ExitCode.ENVIRONMENT)
    known = change_calibration(lambda before: before.calibrated(kind, differences))
    _print_noise(kind, known.sds(kind) or {}, pairs, as_json)
    return int(ExitCode.OK)


def a_against_a(profile: str, workload: str, threads: int, seconds: int, warmup: int) -> Experiment:
    """One cell, with itself as the canary."""
    change = Change(profile=profile, workload=workload, threads=threads)
    matrix = Matrix(
        name="calibrate",
        title="A/A calibration",
        question="How far apart are two runs of the same setup?",
        common=change,
        factors={"variant": {"A": Change()}},
        baseline={"variant": "A"},
        seconds=seconds,
        warmup=warmup,
    )
    cell = Cell({"variant": "A"}, change)
    return Experiment(matrix, (cell,), cell)


def _print_noise(kind: str, sds: Mapping[str, float], pairs: int, as_json: bool) -> None:
    header = ("metric", "sd of one pair", *(f"counts from, n = {blocks}" for blocks in _BLOCKS))
    rows = [
        (name, f"{sds[name]:.3f}", *(f"{metric.shown(margin_of(metric, sds[name], blocks)):.1%}" for blocks in _BLOCKS))
        for name in _SHOWN
        if name in sds and (metric := METRICS[name]).scale == "ratio"
    ]
    data = {"kind": kind, "pairs": pairs, "sd": dict(sds), "file": str(calibration_path())}
    show(as_json, data, [f"{kind}, {pairs} pairs", *(f"  {line}" for line in text_table(header, rows))])
    if not as_json:
        print(f"saved in {calibration_path()}", file=sys.stderr)


def command(
    profile: Profile = "mysql@9.7",
    workload: Annotated[str, chosen("Workload (oltp_read_only, as in smoke).", completion.workload)] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Measured seconds per run (5).")] = 5,
    warmup: Annotated[int, typer.Option(min=0, help="Seconds of warm-up before each run, discarded (1).")] = 1,
    pairs: Annotated[int, typer.Option(min=6, max=MOST_BLOCKS, help="A/A pairs (24).")] = 24,
    json: Json = False,
) -> int:
    """Measure the noise of this host in A/A pairs, which sets the margin of verdicts."""
    return run(a_against_a(need_profile(profile), workload, threads, seconds, warmup), pairs, json)
