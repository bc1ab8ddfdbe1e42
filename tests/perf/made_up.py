"""A made-up result of any size, for `make perf` and for tests of what reads results: plausible,
drawn from a seed.
"""

import itertools
import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

from sandbox.record.manifest import (
    CellPart,
    ComparisonPart,
    HostCheck,
    Manifest,
    MatrixPart,
    RunEntry,
)
from sandbox.record.record import (
    EntryRecord,
    Environment,
    HostLoad,
    Metrics,
    NodeRecord,
    Record,
    WorkloadRecord,
)
from sandbox.record.server_series import COUNTERS
from sandbox.record.store import ResultFolder

FACTORS = {
    "commits": ["relaxed", "durable"],
    "threads": ["1", "2", "4", "8", "16"],
    "workload": ["oltp_read_write", "oltp_point_select"],
}
BASELINE = {"commits": "relaxed"}
SECONDS = 5
_BEGAN = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)
_SINGLE_THREAD = {"oltp_read_write": 180.0, "oltp_point_select": 9000.0}
_DURABLE_COSTS = {"oltp_read_write": 0.35, "oltp_point_select": 0.0}
_STATEMENTS = {
    "oltp_read_write": {
        "Com_select": 14.0,
        "Com_update": 2.0,
        "Com_delete": 1.0,
        "Com_insert": 1.0,
        "Com_commit": 1.0,
    },
    "oltp_point_select": {"Com_select": 1.0},
}
_GAUGES = {counter.name for counter in COUNTERS if counter.kind == "gauge"}
_ELSEWHERE = ("wsrep_", "Threadpool_", "Innodb_deadlocks")
"""What a plain MySQL server does not have."""


def write_made_up(
    results: Path, records: int, seed: int = 1, factors: Mapping[str, list[str]] = FACTORS
) -> ResultFolder:
    """A matrix of two variants and a canary in blocks, so many records in all, as large on disk as
    real ones.
    """
    draw = np.random.default_rng(seed)
    part = _part(factors, records)
    order = [f"{cell}.{block}" for block in range(1, part.blocks + 1) for cell in _names(part)][
        :records
    ]
    manifest = Manifest(
        kind="matrix", slug="matrix-made-up", profile="mysql@9.7", started_utc=_BEGAN,
        command=["sandbox", "matrix", "--matrix", "made-up", "--seconds", str(SECONDS)],
        runs=[RunEntry(run=run, status="ok") for run in order], matrix=part,
    )  # fmt: skip
    result = ResultFolder.create(results, manifest)
    cells = {cell.name: cell.levels for cell in part.cells}
    cells["canary"] = cells[part.canary.baseline]
    for number, run in enumerate(order):
        cell, _, block = run.rpartition(".")
        _write_run(result, _Run(cell, int(block), cells[cell], number), draw)
    result.finish(_BEGAN + timedelta(seconds=(SECONDS + 1) * records))
    return result


class _Run:
    """One run to be made up."""

    def __init__(self, cell: str, block: int, levels: Mapping[str, str], number: int) -> None:
        self.cell, self.block, self.levels = cell, block, levels
        self.started = _BEGAN + timedelta(seconds=(SECONDS + 1) * number)
        self.threads = int(levels["threads"])
        self.durable = levels["commits"] == "durable"
        self.workload = levels["workload"]

    def tps(self, noise: float) -> float:
        """More threads do more until two processors are busy; durable commits cost what they
        cost.
        """
        parallel = self.threads / (1 + self.threads / 6)
        cost = _DURABLE_COSTS[self.workload] / (1 + self.threads / 8) if self.durable else 0.0
        return _SINGLE_THREAD.get(self.workload, 100.0) * parallel * (1 - cost) * noise


def _part(factors: Mapping[str, list[str]], records: int) -> MatrixPart:
    levels = [
        dict(zip(factors, each, strict=True)) for each in itertools.product(*factors.values())
    ]
    cells = [
        CellPart(
            name=_cell(each),
            levels=each,
            profile="mysql@9.7",
            variant=f"variant{1 + (each['commits'] == 'durable')}",
        )
        for each in levels
    ]
    pairs = [
        (_cell(each), _cell({**each, **BASELINE}))
        for each in levels
        if each["commits"] != "relaxed"
    ]
    blocks = -(-records // (len(cells) + 1))
    return MatrixPart(
        name="made-up",
        title="Durable commits",
        note="Made up: no server was asked.",
        question="What do durable commits cost, at which number of threads?",
        key="0" * 16,
        host_class="Test CPU, 2 cores, engine 27.0, overlay2",
        seed=4711,
        blocks=blocks,
        depth="slices",
        warmup_s=1,
        seconds=SECONDS,
        metrics=["tps", "latency_p95_ms"],
        factors=dict(factors),
        baseline=BASELINE,
        cells=cells,
        comparisons=[ComparisonPart(cell=cell, baseline=base) for cell, base in pairs],
        canary=ComparisonPart(cell="canary", baseline=pairs[len(pairs) // 2][1]),
        host_checks=[
            HostCheck(block=block, cpu_turns=900_000, fsync_ms=0.8)
            for block in range(1, blocks + 1)
        ],
        planned={"variant1": {"sync_binlog": "0"}, "variant2": {"sync_binlog": "1"}},
        calibrated={},
    )


def _names(part: MatrixPart) -> list[str]:
    return [*(cell.name for cell in part.cells), "canary"]


def _cell(levels: Mapping[str, str]) -> str:
    return ".".join(f"{factor}-{level}".replace("_", "-") for factor, level in levels.items())


def _write_run(result: ResultFolder, run: _Run, draw: np.random.Generator) -> None:
    folder = result.path / "runs" / f"{run.cell}.{run.block}"
    folder.mkdir()
    tps = run.tps(float(np.exp(draw.normal(0, 0.04))))
    seconds = [tps * float(np.exp(draw.normal(0, 0.06))) for _ in range(SECONDS)]
    p95 = 1.9e3 * run.threads / tps
    rows = [
        "phase,second,threads,tps,qps,reads_per_s,writes_per_s,p95_ms,conflicts_per_s,reconnects_per_s,errors"
    ]
    rows += [
        f"measure,{second},{run.threads},{each:.2f},{20 * each:.2f},{14 * each:.2f},{4 * each:.2f},{p95:.2f},0.0,0.0,0"  # noqa: E501
        for second, each in enumerate(seconds, start=1)
    ]
    files = {
        "series": "seconds.csv",
        "samples": "samples.jsonl",
        "load_log": "load.log",
        "log_mysql1": "logs/mysql1.log",
    }
    (folder / "logs").mkdir()
    texts = {
        "seconds.csv": "\n".join(rows) + "\n",
        "samples.jsonl": "".join(_samples(run, seconds)),
    }
    texts |= {"load.log": "made up\n", "logs/mysql1.log": "made up\n"}
    texts["record.json"] = _record(result, run, seconds, p95, files).to_json()
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8")


def _samples(run: _Run, seconds: list[float]) -> Iterator[str]:
    status: dict[str, float] = {
        **{f"Innodb_other_{index:03}": 1000.0 * index for index in range(120)},
        **{each.name: 0 for each in COUNTERS if not each.name.startswith(_ELSEWHERE)},
    }
    for slot, tps in enumerate([0.0, *seconds, 0.0]):
        for name in status:
            if name in _GAUGES:
                status[name] = run.threads if slot else 1
            elif name not in ("Aborted_connects", "Sort_merge_passes", "Innodb_log_waits"):
                status[name] += int(tps * _per_transaction(run, name))
        line = {"node": "mysql1", "slot": slot, "t_s": float(slot), "status": status}
        yield json.dumps(line, separators=(",", ":")) + "\n"


def _per_transaction(run: _Run, name: str) -> float:
    if name.startswith("Com_"):
        return _STATEMENTS.get(run.workload, {}).get(name, 0.0)
    if "fsync" in name:
        return 1.0 if run.durable else 0.02
    return 2.0 + len(name) % 7


def _record(
    result: ResultFolder, run: _Run, seconds: list[float], p95: float, files: dict[str, str]
) -> Record:
    tps = sum(seconds) / len(seconds)
    variables = {f"innodb_variable_{index:03}": "a value as long as most" for index in range(600)}
    variables |= {"sync_binlog": "1" if run.durable else "0", "hostname": f"host-{run.cell}"}
    return Record(
        run_id=f"{result.path.name}/{run.cell}.{run.block}",
        profile="mysql@9.7",
        stack="made-up",
        started_utc=run.started,
        seed=1,
        cell=run.cell,
        block=run.block,
        status="ok",
        reason=None,
        command=["sandbox", "matrix"],
        nodes=[_node()],
        workload=_workload(run),
        metrics=Metrics(
            tps=tps,
            qps=20 * tps,
            latency_avg_ms=p95 / 1.9,
            latency_p50_ms=p95 / 2,
            latency_p95_ms=p95,
            latency_p99_ms=1.4 * p95,
            latency_max_ms=9 * p95,
            tps_sd_1s=float(np.std(seconds, ddof=1)),
            points_1s=len(seconds),
            transactions=int(sum(seconds)),
            queries=int(20 * sum(seconds)),
            measured_s=float(SECONDS),
            errors=0,
            errors_by_code={},
            conflicts=0,
            conflicts_by_code={},
            reconnects=0,
        ),
        status_delta={
            "mysql1": {f"Innodb_counter_{index:03}": int(tps) * index for index in range(400)}
        },
        variables={"mysql1": variables},
        environment=Environment(
            cpu_model="Test CPU",
            cpus=2,
            memory_bytes=8 * 2**30,
            operating_system="Debian",
            kernel="6.1",
            engine_version="27.0",
            storage_driver="overlay2",
            cgroup_version="2",
            data_file_system={"mysql1": "ext4"},
            during=HostLoad(cpu_busy_percent=97.0, steal_percent=0.1),
        ),
        checks=[],
        files=files,
    )


def _node() -> NodeRecord:
    return NodeRecord(
        name="mysql1",
        term="mysql@9.7",
        role="writer",
        image="sandbox/mysql:9.7",
        image_id="sha256:" + "0" * 64,
        image_source="built",
        digest=None,
        package_version="9.7.4",
        server_version="9.7.4 (Debian)",
    )


def _workload(run: _Run) -> WorkloadRecord:
    options: dict[str, Any] = {"script": run.workload}
    return WorkloadRecord(
        name=run.workload,
        threads=run.threads,
        seconds=SECONDS,
        warmup_s=1,
        tables=4,
        rows_per_table=50_000,
        distribution="uniform",
        rate_per_s=None,
        options=options,
        entry=EntryRecord(via="writer", node="mysql1", host="mysql1", port=3306, multiplexes=False),
    )
