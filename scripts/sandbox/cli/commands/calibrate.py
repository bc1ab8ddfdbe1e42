"""calibrate: measures the noise of this host in A/A pairs, so that a difference has a margin to
exceed.
"""

import sys
from typing import Annotated

import typer

from sandbox.cli.common import completion
from sandbox.cli.common.matrices import run_resolved
from sandbox.cli.common.options import Json, Profile, chosen, need_profile
from sandbox.cli.common.showing import show_document
from sandbox.cli.registry import About
from sandbox.core.errors import ExitCode
from sandbox.judge.verdict import MOST_BLOCKS
from sandbox.matrix.calibrate import a_against_a, calibrated
from sandbox.matrix.resolve import need_baseline, resolve
from sandbox.matrix.selection import Selection
from sandbox.report.matrix_notes import calibration_data, calibration_document

ABOUT = About(group="measure", after="smoke", recorded=True)


def run(selection: Selection, as_json: bool) -> int:
    """Runs A/A pairs, saves and prints the noise that they show; returns the exit code."""
    resolved = resolve(selection)
    need_baseline(resolved)
    noise = calibrated(run_resolved(resolved))
    data = calibration_data(noise.kind, noise.pairs, noise.sds, noise.file)
    show_document(as_json, data, calibration_document(noise.kind, noise.pairs, noise.sds))
    if not as_json:
        print(f"saved in {noise.file}", file=sys.stderr)
    return int(ExitCode.OK)


def command(
    profile: Profile = "mysql@9.7",
    workload: Annotated[
        str, chosen("Workload (oltp_read_only, as in smoke).", completion.workload)
    ] = "oltp_read_only",
    threads: Annotated[int, typer.Option(min=1, help="Client threads (8).")] = 8,
    seconds: Annotated[int, typer.Option(min=1, help="Measured seconds per run (5).")] = 5,
    warmup: Annotated[
        int, typer.Option(min=0, help="Seconds of warm-up before each run, discarded (1).")
    ] = 1,
    pairs: Annotated[int, typer.Option(min=6, max=MOST_BLOCKS, help="A/A pairs (24).")] = 24,
    json: Json = False,
) -> int:
    """Measure the noise of this host in A/A pairs, which sets the margin of verdicts."""
    selection = a_against_a(need_profile(profile), workload, threads, seconds, warmup, pairs)
    return run(selection, json)
