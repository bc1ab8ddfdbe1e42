"""Runs that came to nothing say why, once for each variant."""

from sandbox.report.lost_runs import lost_runs
from sandbox.results.manifest import CellPart, ComparisonPart, MatrixPart
from unit.results.samples import sample_record


def test_they_are_told_by_variant_with_the_first_reason() -> None:
    cells = [
        CellPart(name=f"{variant}-{number}", levels={"a": variant, "n": str(number)}, profile="mysql", variant=variant)
        for variant in ("x", "y")
        for number in range(6)
    ]
    part = MatrixPart(
        name="m", title="M", question="What?", note="", key="k", host_class="here", seed=1, blocks=1, depth="slices",
        warmup_s=1, seconds=1, metrics=["tps"], factors={}, baseline={"a": "x"}, cells=cells,
        comparisons=[ComparisonPart(cell="y-0", baseline="x-0")], canary=ComparisonPart(cell="canary", baseline="x-0"),
    )  # fmt: skip
    lost = [sample_record(cell=f"y-{n}", status="infra_error", reason=f"not shared {n}") for n in range(5)]
    records = [sample_record(cell="x-0"), *lost, sample_record(cell="canary", status="failed", reason=None)]
    assert lost_runs(part, records) == [
        "5 runs infra_error (y-0, y-1, y-2, y-3, …): not shared 0",
        "1 run failed (canary): no reason given",
    ]
    assert lost_runs(part, records[:1]) == []
