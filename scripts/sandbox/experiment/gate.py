"""The experiment of a smoke benchmark: a base, a head, and the base once more, each on a server of its own."""

from dataclasses import dataclass

from sandbox.experiment.definition import Change, Matrix
from sandbox.experiment.selection import Experiment, make_experiment

BASE, HEAD = "base", "head"
METRICS = ("server_cpu_ms_per_tx", "tps", "latency_p95_ms")
"""The first two decide; the third is never steady on a shared machine in five seconds (docs/statistics.md, rule 12)."""


@dataclass(frozen=True, slots=True)
class SmokeSide:
    """One side. ``image``: local reference or identity that replaces the profile's database image."""

    profile: str
    image: str | None = None
    assignments: tuple[str, ...] = ()
    cpus: str | None = None
    memory: str | None = None

    def change(self, name: str) -> Change:
        """The side as a level of the matrix, with a stack of its own even if another side is the same."""
        limits = {"image": self.image, "cpus": self.cpus, "memory": self.memory}
        return Change(profile=self.profile, set=list(self.assignments), apart=name, **limits)


@dataclass(frozen=True, slots=True)
class SmokeLoad:
    """The load, the same for all sides. Seconds are per slice."""

    workload: str
    threads: int
    rows: int
    tables: int
    seconds: int
    warmup_s: int


def smoke_experiment(base: SmokeSide, head: SmokeSide, load: SmokeLoad) -> Experiment:
    """Slices of base, head and canary, each on its own stack.

    Raises pydantic.ValidationError for a load that no workload takes, such as zero threads.
    """
    matrix = Matrix(
        name="smoke",
        title="Smoke benchmark",
        question="Is the head worse than the base?",
        common=Change(workload=load.workload, threads=load.threads, rows=load.rows, tables=load.tables),
        factors={"variant": {BASE: base.change(BASE), HEAD: head.change(HEAD)}},
        baseline={"variant": BASE},
        metrics=list(METRICS),
        depth="slices",
        warmup=load.warmup_s,
        seconds=load.seconds,
    )
    return make_experiment(matrix)
