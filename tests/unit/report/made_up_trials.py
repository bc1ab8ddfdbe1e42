"""Made-up trials: a matrix of two topologies, two ways in and two faults, with what each figure of
a page needs.

direct is out for 9.3 to 12 s, haproxy for 2.7 to 4.5 s. At topology gr and host-loss, eight trials
through haproxy and two direct ones are still out after 60 s. One trial of galera with host-loss
through haproxy lost 3 writes.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any

from sandbox.judge.compare import Judged, observations
from sandbox.judge.matrix import judge_matrix
from sandbox.judge.open_trials import by_log_rank
from sandbox.judge.unpaired import ResultSide
from sandbox.record.manifest import (
    CellPart,
    ComparisonPart,
    HostCheck,
    Manifest,
    MatrixPart,
    RepeatsPart,
    ResultKind,
    RunEntry,
)
from sandbox.record.record import CheckRecord, Environment, Metrics, Record
from sandbox.record.store import ResultFolder
from sandbox.record.trial import (
    BackwardsReads,
    Figures,
    Lag,
    LedgerCounts,
    OpCount,
    StaleReads,
    TrialRecord,
    TrialStep,
    WritersSeen,
)
from sandbox.report.charts.layout import RunData
from unit.record.samples import sample_record
from unit.report.made_up_logs import T0_MS, probe_lines

FACTORS = {
    "topology": ["galera", "gr"],
    "proxy": ["direct", "haproxy"],
    "fault": ["server-crash", "host-loss"],
}
BLOCKS = 10
SEEN_MS = 60_000.0
"""Of a trial that was still out at its end."""
COMMAND = ["/x/sandbox", "matrix", "--matrix", "made-up-failover"]
PATTERN = "Inconsistent by"
"""What repeated trials are looked through for."""
_BEGAN = datetime(2025, 1, 31, 12, 0, 0, tzinfo=UTC)


def cell_name(topology: str, proxy: str, fault: str) -> str:
    """As the matrix names it."""
    return f"topology-{topology}.proxy-{proxy}.fault-{fault}"


def part(**changed: Any) -> MatrixPart:
    """The plan of the matrix: haproxy against direct."""
    levels = [
        {"topology": topology, "proxy": proxy, "fault": fault}
        for topology in FACTORS["topology"]
        for proxy in FACTORS["proxy"]
        for fault in FACTORS["fault"]
    ]
    cells = [
        CellPart(
            name=cell_name(**each),
            levels=each,
            profile=f"{each['topology']}3",
            variant=cell_name(**each),
        )
        for each in levels
    ]
    pairs = [
        ComparisonPart(cell=cell_name(**each), baseline=cell_name(**{**each, "proxy": "direct"}))
        for each in levels
        if each["proxy"] != "direct"
    ]
    given: dict[str, Any] = {
        "name": "made-up-failover",
        "title": "Failover, made up",
        "question": "How long are writes out?",
        "note": "Made up: no server was asked.",
        "key": "0" * 16,
        "host_class": "Test CPU, 2 cores",
        "seed": 4711,
        "blocks": BLOCKS,
        "depth": "restart",
        "warmup_s": 2,
        "seconds": 10,
        "metrics": ["rto_ms", "rto_new_connection_ms", "write_errors"],
        "factors": FACTORS,
        "baseline": {"proxy": "direct"},
        "cells": cells,
        "comparisons": pairs,
        "canary": ComparisonPart(
            cell="canary", baseline=cell_name("galera", "direct", "host-loss")
        ),
        "host_checks": [
            HostCheck(block=block, cpu_turns=900_000, fsync_ms=0.8)
            for block in range(1, BLOCKS + 1)
        ],
        "calibrated": {},
    }
    return MatrixPart(**{**given, **changed})


@cache
def records() -> list[Record]:
    """Ten trials of each cell and of the canary, by block."""
    plan = part()
    named = {**{cell.name: cell.levels for cell in plan.cells}, "canary": {**plan.cells[1].levels}}
    numbered = list(enumerate(named.items(), 1))
    return [
        _record_of(name, levels, block, step)
        for block in range(1, BLOCKS + 1)
        for step, (name, levels) in numbered
    ]


def _record_of(name: str, levels: Mapping[str, str], block: int, step: int) -> Record:
    direct, fault = levels["proxy"] == "direct", levels["fault"]
    tenth = block * step % 11  # each of 1 to 10 once, in another order in each cell
    rto = 9_000.0 + 300 * tenth if direct else 2_500.0 + 200 * tenth
    if fault == "host-loss" and levels["topology"] == "gr":
        rto = SEEN_MS if block > (8 if direct else 2) else rto
    lost = 3 if name == cell_name("galera", "haproxy", "host-loss") and block == 4 else 0
    return trial_record(
        cell=name, block=block, fault=fault, rto_ms=rto, direct=direct, lost=lost,
        still_out=rto == SEEN_MS,
    )  # fmt: skip


def trial_record(
    cell: str = "trial",
    block: int = 1,
    fault: str = "server-crash",
    node: str = "galera1",
    rto_ms: float = 2_500.0,
    direct: bool = False,
    lost: int | None = 0,
    still_out: bool = False,
    **changed: Any,
) -> Record:
    """One trial; the times after the RTO follow from it."""
    figures = _figures(rto_ms, still_out)
    errors = round(rto_ms / 10)
    metrics = Metrics(
        rto_ms=rto_ms,
        rto_new_connection_ms=rto_ms + 40,
        outage_first_ms=rto_ms - 10,
        outage_longest_ms=rto_ms - 10,
        outage_total_ms=rto_ms - 10,
        detection_ms=None if direct else rto_ms / 2,
        election_ms=None if still_out else rto_ms - 500,
        brownout_ms=None if still_out else 3_000.0,
        redundancy_ms=None if still_out else 25_000.0 + block,
        lag_max_ms=340.0,
        write_errors=errors,
        read_errors=errors // 2,
        lost=lost,
        phantom=0,
        duplicate=0,
        stale=12,
        lateness_p99_ms=1.5,
    )
    files = {"probe": "probe.log"}
    return sample_record(
        **{
            "cell": cell,
            "block": block,
            "run_id": f"made-up/{cell}.{block}",
            "metrics": metrics,
            "files": files,
            "profile": "galera3+haproxy",
            "started_utc": _BEGAN + timedelta(minutes=block),
            "environment": Environment(cpu_model="Test CPU", cpus=2),
            "checks": _checks(lost),
            "trial": _trial(fault, node, figures, lost, direct, still_out),
            **changed,
        }
    )


def _figures(rto_ms: float, still_out: bool) -> Figures:
    censored = (
        "outage_first_ms",
        "outage_longest_ms",
        "outage_total_ms",
        "rto_ms",
        "rto_new_connection_ms",
    )
    return Figures(
        rto_ms=rto_ms,
        rto_new_connection_ms=rto_ms + 40,
        lag={"galera2": Lag(max_ms=340.0, integral_ms_s=99.0)},
        censored=censored if still_out else (),
        no_outage=("rto_ms",) if rto_ms == 0 else (),
        resolution_ms={
            "rto_ms": 10.0,
            "rto_new_connection_ms": 50.0,
            "detection_ms": 100.0,
            "election_ms": 110.0,
            "lag": 200.0,
        },
        threshold_ms={"pooled": 50.0},
        recovered_by_op={},
        baseline_p99_ms=8.0,
        lateness_p50_ms=0.5,
        lateness_p99_ms=1.5,
        missed={},
        errors_before={"writes": {}, "reads": {}},
        errors_during={"writes": {"2013": 200, "1047": 50}, "reads": {"2013": 125}},
        errors_after={"writes": {}, "reads": {}},
        longest_block_ms={"pooled": rto_ms},
    )


def _trial(
    fault: str, node: str, figures: Figures, lost: int | None, direct: bool, still_out: bool
) -> TrialRecord:
    healed = T0_MS + 15_000
    step = TrialStep(
        fault=fault,
        target="writer",
        nodes=[node],
        options={},
        at_s=10.0,
        began_ms=T0_MS,
        ended_ms=T0_MS + 61,
        healed_ms=healed,
    )
    writers = [
        WritersSeen(at_ms=T0_MS - 9_000, nodes=[node]),
        WritersSeen(at_ms=T0_MS + 100, nodes=[]),
    ]
    if not still_out:
        writers.append(WritersSeen(at_ms=T0_MS + 2_000, nodes=[f"{node[:-1]}2"]))
    return TrialRecord(
        steps=[step],
        t0_ms=T0_MS,
        end_ms=T0_MS + SEEN_MS,
        whole_ms=None if still_out else T0_MS + 25_001,
        direct=direct,
        rates={"pooled": 100, "fresh": 20, "writer": 100, "reader": 100},
        timeout_s=2.0,
        writers=writers,
        figures=figures,
        ledger=ledger(lost),
    )


def ledger(lost: int | None) -> LedgerCounts:
    """1,000 acknowledged writes; ``lost`` None: the writer's rows could not be read."""
    none = OpCount(count=0, examples=())
    found = None if lost is None else OpCount(count=lost, examples=tuple(range(1, lost + 1)))
    return LedgerCounts(
        acked=1_000,
        failed=20,
        unknown=30,
        rows={"galera1": 1_005},
        writer="galera2",
        lost=found,
        lost_on_readers={},
        phantom=none,
        duplicate=none,
        recovered=OpCount(count=5, examples=(7,)),
        unknown_absent=none,
        unlisted=none,
        divergent=none,
        missing_on={},
        split_brain=None,
        stale={
            "writer": StaleReads(reads=900, stale=0, above_1s=0, longest_age_ms=None, examples=()),
            "reader": StaleReads(
                reads=800, stale=12, above_1s=2, longest_age_ms=1_340.0, examples=()
            ),
        },
        non_monotonic=BackwardsReads(count=0, examples=()),
    )


def _checks(lost: int | None) -> list[CheckRecord]:
    verdict: Any = "unknown" if lost is None else "fail" if lost else "pass"
    return [
        CheckRecord(name="lost", verdict=verdict, detail=f"{lost} of 1,000"),
        CheckRecord(name="phantom", verdict="pass", detail="none"),
    ]


def runs(found: list[Record] | None = None) -> list[RunData]:
    """The records as the command reads them."""
    return [
        RunData(record, {}, {}, {"probe": f"runs/{record.cell}.{record.block}/probe.log"})
        for record in (records() if found is None else found)
    ]


def judged(found: list[Record] | None = None, plan: MatrixPart | None = None) -> Judged:
    """The verdicts on them."""
    known, plan = records() if found is None else found, plan or part()
    return by_log_rank(judge_matrix(plan, known, lambda _: (), {}), plan, known)


def with_percentile(cell: str, block: int, p95_ms: float, still_open: bool) -> Record:
    """A trial whose percentile is only known to be at least so long, where it is open."""
    made = trial_record(cell=cell, block=block)
    assert made.trial and made.trial.figures
    figures = made.trial.figures.model_copy(
        update={"censored": ("latency_p95_ms",) if still_open else ()}
    )
    metrics, trial = made.metrics, made.trial.model_copy(update={"figures": figures})
    return made.model_copy(
        update={"metrics": metrics.model_copy(update={"latency_p95_ms": p95_ms}), "trial": trial}
    )


def trial_side(name: str, rto_ms: Sequence[float], **plan: Any) -> ResultSide:
    """A result of one cell and the canary, as a comparison takes it; what lasted ``SEEN_MS`` was
    still out.
    """
    cell, same = cell_name("gr", "direct", "host-loss"), cell_name("galera", "direct", "host-loss")
    lengths = {cell: rto_ms, same: [9_000.0] * 6, "canary": [9_000.0 + block for block in range(6)]}
    found = [
        trial_record(cell=each, block=block, rto_ms=rto, still_out=rto == SEEN_MS)
        for each, rtos in lengths.items()
        for block, rto in enumerate(rtos, 1)
    ]
    return side_of(name, found, part(**{"metrics": ["rto_ms"], **plan}))


def side_of(name: str, found: Sequence[Record], plan: MatrixPart) -> ResultSide:
    """Records as a comparison takes them."""
    manifest = Manifest(
        kind="matrix", slug="x", profile="gr3", command=[], started_utc=_BEGAN, matrix=plan
    )
    seen = observations(found, lambda _: (), "restart")
    return ResultSide(name, manifest, found, seen, judge_matrix(plan, found, lambda _: (), {}))


def write_result(
    results: Path,
    found: list[Record] | None = None,
    plan: MatrixPart | None = None,
    kind: ResultKind = "trial",
    repeats: RepeatsPart | None = None,
) -> ResultFolder:
    """The result on disk, with the log of a prober next to each record.

    Of one record a single trial; its manifest says ``kind``. ``repeats``: of repeated ones.
    """
    known = records() if found is None else found
    single = len(known) == 1 or repeats is not None
    manifest = Manifest(
        kind=kind if single else "matrix",
        slug="failover",
        profile="galera3+haproxy",
        started_utc=_BEGAN,
        command=["sandbox", "trial", "--fault", "server-crash"] if single else COMMAND,
        matrix=None if single else plan or part(),
        repeats=repeats,
        runs=[
            RunEntry(run=f"{record.cell}.{record.block}", status=record.status) for record in known
        ],
    )
    result = ResultFolder.create(results, manifest)
    for record in known:
        folder = result.run_path(record)
        folder.mkdir()
        (folder / "probe.log").write_text(_log(record.metrics.rto_ms or 0.0), encoding="utf-8")
        (folder / "record.json").write_text(record.to_json(), encoding="utf-8")
    result.finish(_BEGAN + timedelta(hours=1))
    return result


def repeated(
    count: int, lost_in: Sequence[int] = (), first_ms: float = 2_000.0, **changed: Any
) -> list[Record]:
    """So many trials on one stack, each 100 ms longer out than the one before. ``lost_in``: trials
    that left a member evicted.
    """
    found = []
    for block in range(1, count + 1):
        record = trial_record(block=block, rto_ms=first_ms + 100 * (block - 1), **changed)
        assert record.trial
        reason = "Inconsistent by consensus"
        lost = {"galera2": f"evicted: {reason}"} if block in lost_in else {}
        lines = {"galera2": f"WSREP: {reason}"} if block in lost_in else {}
        seen = {"lost_members": lost, "log_lines": {PATTERN: lines}}
        trial = record.trial.model_copy(update=seen)
        found.append(record.model_copy(update={"trial": trial}))
    return found


@cache
def _log(rto_ms: float) -> str:
    return "\n".join(probe_lines(rto_ms)) + "\n"
