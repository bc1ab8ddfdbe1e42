"""The experiment of a smoke benchmark: three variants on servers of their own, whatever tells them apart."""

from sandbox.experiment.definition import CANARY, Change, Matrix
from sandbox.experiment.gate import METRICS, smoke_experiment
from sandbox.experiment.selection import Experiment, schedule
from sandbox.results.gate import LARGEST_MARGIN

LOAD = Change(workload="oltp_read_only", threads=4, rows=25_000, tables=4)


def made(base: Change, head: Change) -> Experiment:
    """The experiment of two sides."""
    return smoke_experiment(base, head, LOAD, 5, 1)


def test_a_against_a_has_a_server_for_each_variant() -> None:
    experiment = made(Change(profile="mysql@9.7"), Change(profile="mysql@9.7"))
    assert sorted(set(experiment.stack_of.values())) == ["variant1", "variant2"]
    runs = schedule(experiment, 8, 7, first=0)
    assert len(runs) == 9 * 3 and {run.block for run in runs} == set(range(9))
    assert {(run.cell, run.stack) for run in runs} == {
        ("variant-base", "variant1"),
        ("variant-head", "variant2"),
        (CANARY, "canary"),
    }
    canary = next(run for run in runs if run.cell == CANARY)
    assert canary.of.name == "variant-base", "the canary is the base once more"


def test_each_side_has_what_it_was_given() -> None:
    head = Change(profile="mysql@8.4", image="sha256:1", set=["max_connections=9", "x=1"], cpus="0.5", memory="1g")
    base, changed = (cell.change for cell in made(Change(profile="mysql@9.7"), head).cells)
    assert (base.profile, base.image, base.set, base.cpus, base.memory) == ("mysql@9.7", None, [], None, None)
    assert (changed.profile, changed.image, changed.cpus, changed.memory) == ("mysql@8.4", "sha256:1", "0.5", "1g")
    assert changed.set == ["max_connections=9", "x=1"]
    assert (base.threads, base.rows, base.workload) == (changed.threads, changed.rows, changed.workload)


def test_the_head_alone_is_compared_by_what_decides_and_what_is_shown() -> None:
    experiment = made(Change(profile="mysql"), Change(profile="mysql"))
    assert experiment.matrix.depth == "slices" and experiment.matrix.metrics == list(METRICS)
    assert [(each.cell, each.baseline) for each in experiment.comparisons] == [("variant-head", "variant-base")]
    assert set(LARGEST_MARGIN) < set(METRICS)


def test_a_matrix_file_may_ask_for_an_image_and_is_adjusted_as_before() -> None:
    data = {
        "name": "x", "title": "x", "question": "x?", "common": {"profile": "mysql"},
        "factors": {"image": ["mine:1", "mine:2"]}, "baseline": {"image": "mine:1"},
    }  # fmt: skip
    matrix = Matrix.model_validate(data)
    assert [cell.change.image for cell in matrix.all_cells()] == ["mine:1", "mine:2"]
    assert len({cell.stack_key for cell in matrix.all_cells()}) == 2
    assert matrix.adjustment == "Benjamini-Hochberg"
