"""Where a cell is drawn: along the axis what is counted, by colour what is compared, in panels all
else.
"""

from sandbox.record.manifest import CellPart, MatrixPart
from sandbox.report.charts.layout import MOST_POINTS, layout_of, median_line, thinned
from unit.report.test_verdicts import part


def matrix(factors: dict[str, list[str]], baseline: dict[str, str]) -> MatrixPart:
    """Every combination of two factors or three."""
    combinations: list[dict[str, str]] = [{}]
    for factor, levels in factors.items():
        combinations = [{**each, factor: level} for each in combinations for level in levels]
    cells = [
        CellPart(name=".".join(each.values()), levels=each, profile="m", variant="a")
        for each in combinations
    ]
    return part(factors=factors, baseline=baseline, cells=cells)


THREE = {"commits": ["durable", "relaxed"], "threads": ["1", "16"], "workload": ["rw", "ro"]}


def test_threads_along_the_axis_workloads_in_panels_the_baseline_first() -> None:
    layout = layout_of(matrix(THREE, {"commits": "relaxed"}))
    assert (layout.x, layout.xs) == ("threads", ("1", "16"))
    assert layout.variants == ("commits relaxed", "commits durable")
    assert layout.panels == ["workload rw", "workload ro"]
    place = layout.places["durable.16.ro"]
    assert (place.x, place.variant, place.panel, place.where) == (
        1,
        1,
        "workload ro",
        "workload ro, threads 16",
    )
    assert layout.wheres == [
        "workload rw, threads 1",
        "workload rw, threads 16",
        "workload ro, threads 1",
        "workload ro, threads 16",
    ]


def test_variants_of_one_level_stand_side_by_side_and_never_reach_the_next_level() -> None:
    layout = layout_of(matrix(THREE, {"commits": "relaxed"}))
    first = [
        layout.position(layout.places[f"{variant}.1.rw"]) for variant in ("relaxed", "durable")
    ]
    second = [
        layout.position(layout.places[f"{variant}.16.rw"]) for variant in ("relaxed", "durable")
    ]
    assert first[0] < 0 < first[1] < 0.5 < second[0] < 1 < second[1]


def test_without_anything_counted_the_variants_are_the_axis() -> None:
    versions = {"version": ["mysql@8.0", "mysql@8.4", "mysql@9.7"], "workload": ["rw", "ro"]}
    layout = layout_of(matrix(versions, {"version": "mysql@8.0"}))
    assert layout.x is None and layout.names == layout.variants == tuple(
        f"version {each}" for each in versions["version"]
    )
    assert [layout.position(layout.places[f"{version}.rw"]) for version in versions["version"]] == [
        0,
        1,
        2,
    ]


def test_two_factors_in_the_baseline_make_one_variant_of_each_pair() -> None:
    two = {"commits": ["relaxed", "durable"], "cpus": ["all", "1"], "threads": ["1", "4"]}
    layout = layout_of(matrix(two, {"commits": "relaxed", "cpus": "all"}))
    assert layout.variants[0] == "commits relaxed, cpus all" and len(layout.variants) == 4


def test_a_factor_of_one_level_is_not_shown_everywhere() -> None:
    layout = layout_of(
        matrix({"commits": ["relaxed", "durable"], "threads": ["8"]}, {"commits": "relaxed"})
    )
    assert layout.x is None and layout.panels == [""] and layout.wheres == [""]


def test_long_runs_are_thinned_to_means() -> None:
    points = thinned([float(second) for second in range(600)])
    assert len(points) == MOST_POINTS and points[0] == (5.5, 4.5) and points[-1] == (595.5, 594.5)
    assert thinned([1.0, None, 3.0]) == [(1.0, 1.0), None, (3.0, 3.0)]


def test_a_median_is_of_what_runs_have() -> None:
    assert median_line([[1.0, None, 5.0], [3.0, None]], 0).points == [(1.0, 2.0), None, (3.0, 5.0)]


def test_the_tooltip_of_a_matrix_with_one_varied_factor_names_the_variant_alone() -> None:
    layout = layout_of(matrix({"rewriter": ["off", "on"]}, {"rewriter": "off"}))
    assert [layout.label(each) for each in layout.places.values()] == [
        "rewriter off",
        "rewriter on",
    ]
