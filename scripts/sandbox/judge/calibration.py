"""Host noise: differences of A/A pairs, by host class, workload and length of the run
(docs/statistics.md, rule 7).
"""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import Field

from sandbox.judge.compare import Known, differences_of, observations
from sandbox.judge.verdict import spread
from sandbox.record.manifest import MatrixPart
from sandbox.record.metrics import METRICS
from sandbox.record.record import Part, Record

MOST_KEPT = 400
"""Differences kept per kind of run; the oldest are dropped first, since a host changes."""

BlockDifferences = Mapping[str, Sequence[float]]
"""Metric → one difference per block, on the metric's scale."""


class Calibration(Part):
    """The known noise of this user's hosts: kind of run → metric → differences, oldest first."""

    schema_version: int = 1
    known: dict[str, dict[str, list[float]]] = Field(default_factory=dict)

    def sds(self, kind: str) -> dict[str, float] | None:
        """Standard deviation of A/A differences by metric; None for a kind of run that was never
        calibrated.
        """
        found = self.known.get(kind)
        return (
            {metric: spread(values) for metric, values in found.items() if len(values) > 1}
            if found
            else None
        )

    def calibrated(self, kind: str, differences: BlockDifferences) -> "Calibration":
        """A copy with a new calibration in place of the known one of this kind."""
        fresh = {metric: list(values) for metric, values in differences.items()}
        return self.model_copy(update={"known": {**self.known, kind: fresh}})

    def grown(self, kind: str, differences: BlockDifferences) -> "Calibration":
        """A copy with a canary's differences added; a canary alone starts no calibration."""
        if kind not in self.known:
            return self
        pools = self.known[kind]
        more = {
            metric: [*values, *differences.get(metric, [])][-MOST_KEPT:]
            for metric, values in pools.items()
        }
        return self.model_copy(update={"known": {**self.known, kind: more}})


def kind_of_run(host_class: str, workload: str, seconds: int) -> str:
    """The scope of a calibration: ``AMD EPYC, 2 cores, …; oltp_read_only; 10 s``."""
    return f"{host_class}; {workload}; {seconds} s"


def canary_differences(part: MatrixPart, records: Iterable[Record]) -> dict[str, list[float]]:
    """The host's own noise according to the canary, by metric."""
    runs = observations(list(records), lambda _: (), part.depth)
    return {name: differences_of(runs, part.canary_pair, name) for name in METRICS}


def noise_of(part: MatrixPart, records: Iterable[Record], calibration: Calibration) -> Known:
    """The host noise noted when the result was judged; if it was not judged, what is known now.
    None of trials'.
    """
    records = list(records)
    if part.calibrated is None:
        known = {}
        for load in dict.fromkeys(each.workload.name for each in records):
            sds = calibration.sds(kind_of_run(part.host_class, load, part.seconds))
            if sds:
                known[load] = sds
    else:
        known = dict(part.calibrated_others)
        own = _load_of_canary(part, records)
        if own and part.calibrated:
            known[own] = part.calibrated
    return {load: sds for load, sds in known.items() if load not in beside_trials(records)}


def noted(part: MatrixPart, records: Iterable[Record], known: Known) -> dict[str, object]:
    """The known host noise as the fields of the part: a later report says the same."""
    own = _load_of_canary(part, records)
    others = {load: dict(sds) for load, sds in known.items() if load != own}
    return {"calibrated": dict(known.get(own or "", {})), "calibrated_others": others}


def kind_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    """The canary's kind of run; None if it never ran, or was a trial."""
    workload = _load_of_canary(part, records)
    return workload and kind_of_run(part.host_class, workload, part.seconds)


def _load_of_canary(part: MatrixPart, records: Iterable[Record]) -> str | None:
    records = list(records)
    own = next(
        (record.workload.name for record in records if record.cell == part.canary.cell), None
    )
    return None if own in beside_trials(records) else own


def beside_trials(records: Iterable[Record]) -> set[str]:
    """Workloads next to which something broke: their latency is that of a prober under a fault, no
    noise of a bench.
    """
    return {record.workload.name for record in records if record.trial is not None}
