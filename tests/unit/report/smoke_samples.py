"""Looks of a smoke benchmark as they could have come out, from records as they could have been
left.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from sandbox.judge.gate import Look
from sandbox.judge.matrix import judge_matrix
from sandbox.matrix.cell import Change
from sandbox.matrix.result_folder import matrix_part
from sandbox.matrix.smoke import SMOKE_METRICS, smoke_selection
from sandbox.record.manifest import HostCheck, MatrixPart
from sandbox.record.record import Record
from sandbox.report.smoke import SmokeLook, SmokeReport
from unit.matrix.resolved import resolved
from unit.record.samples import METRICS, sample_record

BLOCKS = 8
SIDES = {"base": "`mysql@9.7`", "head": "`mysql@9.7` `CPUS=0.5`"}
COMMAND = ["/x/sandbox", "smoke", "--profile", "mysql@9.7", "--head-cpus", "0.5"]


def part(seed: int, checks: Sequence[HostCheck] = (), blocks: int = BLOCKS) -> MatrixPart:
    """The plan of a look."""
    load = Change(workload="oltp_read_only", threads=2, rows=25_000, tables=4)
    base, head = Change(profile="mysql@9.7"), Change(profile="mysql@9.7", cpus="0.5")
    selection = smoke_selection(base, head, load)
    made = resolved(
        selection, blocks=blocks, seed=seed, host_class="Test CPU, 2 cores", gate=lambda _: 0
    )
    return matrix_part(made).model_copy(update={"host_checks": list(checks)})


def records(
    factors: Mapping[str, float], seed: int, sd: float = 0.01, blocks: int = BLOCKS, **changed: Any
) -> list[Record]:
    """Runs of base, head and canary, the thrown-away block first: ``factors`` times 1,000
    transactions a second.

    Their processor time, which whoever shares the machine does not move, is a third as noisy.
    """
    draw = np.random.default_rng(seed)
    made = []
    for block in range(blocks + 1):
        for cell, factor in factors.items():
            tps = 1000 * factor * float(np.exp(draw.normal(0, sd))) * (0.5 if block == 0 else 1)
            cost = 1.5 / factor * float(np.exp(draw.normal(0, sd / 3)))
            figures = {
                "tps": tps,
                "latency_p95_ms": 8000 / tps,
                "writes_per_s": 0.0,
                "server_cpu_ms_per_tx": cost,
            }
            variables = {
                "mysql1": {
                    "sync_binlog": "1",
                    "innodb_buffer_pool_size": str(int(134_217_728 * factor)),
                }
            }
            given = {
                "cell": cell,
                "block": block,
                "metrics": METRICS.model_copy(update=figures),
                "variables": variables,
            }
            made.append(sample_record(**given, **changed))
    return made


def look(
    head: float = 1.0,
    seed: int = 1,
    canary: float = 1.0,
    sd: float = 0.01,
    left: Sequence[Record] | None = None,
    blocks: int = BLOCKS,
) -> SmokeLook:
    """A look whose head does ``head`` times what the base does; ``left``: its records, where they
    are others.
    """
    runs = list(
        left
        if left is not None
        else records({"variant-base": 1, "variant-head": head, "canary": canary}, seed, sd, blocks)
    )
    checks = [
        HostCheck(block=block, cpu_turns=100, fsync_ms=1.0 + (block == 3))
        for block in range(1, blocks + 1)
    ]
    of = part(seed, checks, blocks)
    good = any(record.status == "ok" and record.block for record in runs)
    lost, failed = (
        next(
            (f"{record.cell}: {record.reason}" for record in runs if record.status == status), None
        )
        for status in ("infra_error", "failed")
    )
    judged = judge_matrix(of, runs, lambda _: (), {}) if good else None
    return SmokeLook(
        f"20250131T23595{seed}Z-matrix-smoke", of, runs, Look(judged, blocks, lost, failed), 201.0
    )


def report_of(*looks: SmokeLook, log: Sequence[str] = ()) -> SmokeReport:
    """All that a benchmark of these looks has to tell."""
    assert all(each.part.metrics == list(SMOKE_METRICS) for each in looks)
    return SmokeReport(looks, SIDES, COMMAND, log)
