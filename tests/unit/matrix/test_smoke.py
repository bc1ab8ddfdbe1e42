"""The cells of a smoke benchmark: base, head and canary, each with what it was given."""

from sandbox.judge.gate import LARGEST_MARGIN
from sandbox.matrix.cell import CANARY, Change
from sandbox.matrix.resolved import ResolvedMatrix, schedule
from sandbox.matrix.smoke import SMOKE_METRICS, smoke_selection
from unit.matrix.resolved import resolved

LOAD = Change(workload="oltp_read_only", threads=4, rows=25_000, tables=4)


def smoke(base: Change, head: Change) -> ResolvedMatrix:
    """The matrix of a smoke benchmark with these two sides."""
    return resolved(smoke_selection(base, head, LOAD))


def test_a_against_a_has_a_server_for_each_variant() -> None:
    made = smoke(Change(profile="mysql@9.7"), Change(profile="mysql@9.7"))
    assert sorted({cell.stack for cell in made.cells.values()}) == ["variant1", "variant2"]
    runs = schedule(made, 8, 7, first=0)
    assert len(runs) == 9 * 3 and {run.block for run in runs} == set(range(9))
    assert {(run.cell, run.stack) for run in runs} == {
        ("variant-base", "variant1"),
        ("variant-head", "variant2"),
        (CANARY, "canary"),
    }
    canary = next(run for run in runs if run.cell == CANARY)
    assert canary.of.name == "variant-base", "the canary is the base once more"


def test_each_side_has_what_it_was_given() -> None:
    head = Change(
        profile="mysql@8.4",
        image=["sha256:1"],
        set=["max_connections=9", "x=1"],
        cpus="0.5",
        memory="1g",
    )
    base, changed = (
        cell.change for cell in smoke(Change(profile="mysql@9.7"), head).cells.values()
    )
    assert (base.profile, base.image, base.set, base.cpus, base.memory) == (
        "mysql@9.7",
        None,
        [],
        None,
        None,
    )
    assert (changed.profile, changed.image, changed.cpus, changed.memory) == (
        "mysql@8.4",
        ["sha256:1"],
        "0.5",
        "1g",
    )
    assert changed.set == ["max_connections=9", "x=1"]
    assert (base.threads, base.rows, base.workload) == (
        changed.threads,
        changed.rows,
        changed.workload,
    )


def test_the_head_alone_is_compared_by_what_decides_and_what_is_shown() -> None:
    made = smoke(Change(profile="mysql"), Change(profile="mysql"))
    assert made.matrix.depth == "slices" and made.matrix.metrics == list(SMOKE_METRICS)
    assert [(each.cell, each.baseline) for each in made.comparisons] == [
        ("variant-head", "variant-base")
    ]
    assert set(LARGEST_MARGIN) < set(SMOKE_METRICS)
