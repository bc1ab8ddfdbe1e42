"""The experiment of a smoke benchmark: a base, a head, and the base once more, each on a server of its own."""

from sandbox.experiment.definition import Change, Matrix
from sandbox.experiment.selection import Experiment, make_experiment

BASE, HEAD = "base", "head"
METRICS = ("server_cpu_ms_per_tx", "tps", "latency_p95_ms")
"""The first two decide; the third is never steady on a shared machine in five seconds (docs/statistics.md, rule 12)."""


def smoke_experiment(base: Change, head: Change, load: Change, seconds: int, warmup_s: int) -> Experiment:
    """Slices of base, head and canary, each on its own stack, even if the sides are the same. Seconds: per slice."""
    sides = {name: side.model_copy(update={"apart": name}) for name, side in ((BASE, base), (HEAD, head))}
    matrix = Matrix(
        name="smoke",
        title="Smoke benchmark",
        question="Is the head worse than the base?",
        common=load,
        factors={"variant": sides},
        baseline={"variant": BASE},
        metrics=list(METRICS),
        depth="slices",
        warmup=warmup_s,
        seconds=seconds,
    )
    return make_experiment(matrix)
