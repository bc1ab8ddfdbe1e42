"""What `make compare` prints: that it is unpaired, what else differs; and `make history`: where it
changed.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, replace

from sandbox.judge.calibration import Calibration
from sandbox.judge.changes import Shift
from sandbox.judge.past_results import History, history_of
from sandbox.judge.unpaired import ResultSide, compare_results
from sandbox.judge.variants import differences_between
from sandbox.report.document import Document
from sandbox.report.over_time import (
    comparison_document,
    history_data,
    history_document,
    unpaired_data,
)
from sandbox.report.render import terminal
from unit.record.made_results import around, cell, matrix_part, side
from unit.report.made_up_trials import SEEN_MS, trial_side

STEP = Shift("step", 0.5, 25, 6)


def a_side(on: float, seed: int, **changed: object) -> ResultSide:
    figures = {
        "off": around(1000, seed),
        "on": around(on, seed + 1),
        "canary": around(1000, seed + 2),
    }
    return side(figures, matrix_part(), **changed)  # type: ignore[arg-type]


def compared_sides(first: ResultSide, second: ResultSide) -> Document:
    compared, apart = (
        compare_results(first, second, Calibration()),
        differences_between(first, second),
    )
    return comparison_document(first, second, compared, apart)


def lines(first: ResultSide, second: ResultSide) -> list[str]:
    return terminal.lines(compared_sides(first, second))


def history_lines(found: History) -> list[str]:
    return terminal.lines(history_document(found))


def test_it_says_that_it_is_unpaired_and_what_else_differs() -> None:
    text = lines(
        a_side(900, 1, name="old", tool_commit="aaa"),
        a_side(600, 11, name="new", tool_commit="bbb"),
    )
    assert text[0] == "A  old  mysql@9.7, commit aaa" and text[1] == "B  new  mysql@9.7, commit bbb"
    assert text[3].startswith("Unpaired: ") and "  commit of this tool: aaa → bbb" in text
    assert all(len(line) <= 100 for line in text)


def test_each_row_has_both_medians_effect_interval_counts_and_verdict() -> None:
    text = lines(a_side(900, 1), a_side(600, 11))
    row = next(line.split() for line in text if line.strip().startswith("on "))
    assert row[0] == "on" and abs(float(row[1]) - 900) < 20 and abs(float(row[2]) - 600) < 20
    assert (
        -36 < float(row[3].rstrip("%")) < -31
        and row[5] == "…"
        and "8+8" in row
        and row[-1] == "worse"
    )
    assert any("no difference (sees " in line for line in text)
    assert "No other recorded difference." in text
    assert any("noisier of the two canaries" in line for line in text)


def test_what_changed_in_an_unsteady_cell_is_reported_with_its_side() -> None:
    first, second = a_side(900, 1), a_side(600, 11)
    jumped = [replace(run, changes=[STEP] if run.cell == "on" else []) for run in second.runs]
    second = replace(second, runs=jumped)
    assert (
        lines(first, second)[-1]
        == "not steady in B: on: tps, relative to its mean: +50% within block 6"
    )
    data = unpaired_data(
        first,
        second,
        compare_results(first, second, Calibration()),
        differences_between(first, second),
    )
    assert data["unsteady"] == {"A": {}, "B": {"on": [asdict(STEP)]}}


def test_open_trials_are_counted_and_bound_what_is_shown() -> None:
    first, second = (
        trial_side("a", [2e3 + block for block in range(10)]),
        trial_side("b", [SEEN_MS] * 10),
    )
    text = lines(first, second)
    row = " ".join(line for line in text if line.split()[:3] == ["gr", "direct", "host-loss"])
    assert "at least +57,99" in row and "… open" in row and "worse (0+10 open)" in row
    assert max(map(len, text)) <= 100, "a wide table comes in pieces"
    assert any(line.startswith("open: trials of A+B") for line in lines(first, second))
    compared, apart = (
        compare_results(first, second, Calibration()),
        differences_between(first, second),
    )
    data = json.loads(json.dumps(unpaired_data(first, second, compared, apart)))
    (found,) = (each for each in data["verdicts"] if each["open_trials"]["b"])
    assert found["effect"] is found["median_b"] is found["interval_95"][1] is None
    assert found["effect_between"] == [57_995.5, None] and found["median_a"] == 2_004.5


def test_a_history_marks_what_is_only_at_least() -> None:
    levels = {"topology": ["gr"], "proxy": ["direct"], "fault": ["host-loss"]}
    some = [
        trial_side("some", [*[2e3 + block for block in range(9)], SEEN_MS]),
        trial_side("all", [SEEN_MS] * 10),
    ]
    found = history_of(some, ["rto_ms"], levels, Calibration())
    rows = [line for line in history_lines(found) if "2025-01-31" in line]
    assert rows[0].endswith("1 open") and "≥" not in rows[0] and "… open" in rows[0]
    assert rows[1].split()[-6:] == ["≥", "60000", "60000", "…", "open", "10", "open"][-6:]
    points = json.loads(json.dumps(history_data(found)))["series"][0]["points"]
    assert [(each["at_least"], each["open_trials"]) for each in points] == [(False, 1), (True, 10)]
    assert points[1]["interval_95"] == [60e3, None]


def test_a_change_is_found_among_exact_values_alone() -> None:
    levels = {"topology": ["gr"], "proxy": ["direct"], "fault": ["host-loss"]}
    sides = [
        trial_side(f"r{n}", [2e3 + block if n < 8 else SEEN_MS for block in range(10)])
        for n in range(16)
    ]
    (series,) = history_of(sides, ["rto_ms"], levels, Calibration()).series
    assert not any(point.change for point in series.points) and series.points[-1].at_least


def test_many_factors_still_fit() -> None:
    levels = {f"a-long-factor-{n}": f"level-{n}" for n in range(3)}
    part = matrix_part(cells=[cell("off", levels)], comparisons=[])
    figures = {"off": around(1000, 1), "canary": around(1000, 2)}
    text = lines(side(figures, part), side(figures, part))
    assert (
        any("a-long-factor-2" in line and " A " in line for line in text)
        and max(map(len, text)) <= 100
    )
    assert "tps (more)" in text, "what does not fit stands below, with the levels again"


def test_many_variables_are_counted_and_all_in_the_data() -> None:
    first, second = (
        side({"bench": [1.0]}, variables={"mysql1": {f"v{n:02}": value for n in range(14)}})
        for value in "ab"
    )
    text = lines(first, second)
    assert "  mysql1: v09: a → b" in text and "  and 4 more variables   (JSON=1 lists all)" in text
    assert any("too few runs" in line and "1+1" in line for line in text)
    compared, apart = (
        compare_results(first, second, Calibration()),
        differences_between(first, second),
    )
    data = json.loads(json.dumps(unpaired_data(first, second, compared, apart)))
    assert len(data["differences"]["variables"]) == 14 and data["paired"] is False
    assert data["verdicts"][0]["interval_95"] is None and data["verdicts"][0]["detectable"] is None
    assert data["a"]["host_class"] == data["b"]["host_class"] and data["a"]["started_utc"].endswith(
        "Z"
    )


def test_runs_that_are_lost_and_cells_that_are_alone_are_reported() -> None:
    alone = matrix_part(cells=[cell("off", {"rewriter": "off"})])
    first = a_side(900, 1)
    second = side({"off": around(1, 1), "canary": around(1, 2)}, alone, status="infra_error")
    text = lines(first, second)
    assert "only in A: rewriter on" in text
    assert any("infra_error (8 runs lost)" in line for line in text)


def test_an_unfit_side_is_named() -> None:
    bad = side(
        {"off": around(1000, 1), "on": around(900, 2), "canary": around(700, 3)}, matrix_part()
    )
    assert any(line.startswith("UNFIT: the canary of B ") for line in lines(a_side(900, 1), bad))


# history


def history(levels: Sequence[float]) -> History:
    sides = [
        side(
            {"off": around(level, 5 * day), "canary": around(level, 5 * day + 1)},
            matrix_part(cells=matrix_part().cells[:1], comparisons=[]),
            f"r{day}",
            days=day,
            tool_commit="0123456789ab+",
        )
        for day, level in enumerate(levels)
    ]
    sides.insert(0, side({"off": [1.0]}, matrix_part(host_class="Another"), "elsewhere"))
    return history_of(sides, ["tps"], {}, Calibration())


def test_a_row_a_result_with_date_versions_count_value_and_interval() -> None:
    lines = history_lines(history([1000, 1010]))
    assert lines[0] == "matrix quick: What does it cost?" and lines[1].startswith("host: Test CPU")
    assert "tps (1/s, higher is better), rewriter off" in lines
    row = next(line for line in lines if "2025-01-31" in line)
    assert (
        row.split()[:6] == ["2025-01-31", "12:00", "9.7.4-2", "(Debian)", "0123456+", "8"]
        and "…" in row
    )
    assert "left out: elsewhere: different host class: Another" in lines
    assert lines[-1] == "change detection needs at least 6 results"
    assert all(len(line) <= 100 for line in lines)


def test_a_change_is_reported_before_the_result_that_began_it() -> None:
    lines = history_lines(history([1000] * 5 + [700] * 5))
    position = next(n for n, line in enumerate(lines) if line.startswith("  -- "))
    assert (
        lines[position].startswith("  -- worse from here on: -")
        and "(p < 0.001)" in lines[position]
    )
    assert "2025-02-05" in lines[position + 1] and not any("looked for" in line for line in lines)


def test_the_data_has_every_point_and_null_where_there_is_no_interval() -> None:
    data = json.loads(json.dumps(history_data(history([1000] * 5 + [700] * 5))))
    (series,) = data["series"]
    assert (
        len(series["points"]) == 10
        and series["unit"] == "1/s"
        and series["levels"] == {"rewriter": "off"}
    )
    change = series["points"][5]["change"]
    assert change["better"] is False and -0.35 < change["effect"] < -0.25
    assert series["points"][0]["change"] is None and len(series["points"][0]["interval_95"]) == 2
    bench = history_data(history_of([side({"bench": [5.0]})], ["tps"], {}, Calibration()))
    assert bench["series"][0]["points"][0]["interval_95"] is None
    assert bench["subject"] == "bench of mysql@9.7: oltp_read_write, 8 threads, 30 s"
