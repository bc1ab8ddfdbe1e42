"""What `make history` prints: a row a result, and a line where it changed for good."""

import json
from collections.abc import Sequence

from sandbox.report.history_table import history_data, history_lines
from sandbox.results.calibration import Calibration
from sandbox.results.history import History, history_of
from unit.results.made_results import around, matrix_part, side


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
    assert row.split()[:6] == ["2025-01-31", "12:00", "9.7.4-2", "(Debian)", "0123456+", "8"] and "…" in row
    assert "left out: elsewhere: different host class: Another" in lines
    assert lines[-1] == "change detection needs at least 6 results"
    assert all(len(line) <= 100 for line in lines)


def test_a_change_is_told_before_the_result_that_began_it() -> None:
    lines = history_lines(history([1000] * 5 + [700] * 5))
    position = next(n for n, line in enumerate(lines) if line.startswith("  -- "))
    assert lines[position].startswith("  -- worse from here on: -") and "(p < 0.001)" in lines[position]
    assert "2025-02-05" in lines[position + 1] and not any("looked for" in line for line in lines)


def test_the_data_has_every_point_and_null_where_there_is_no_interval() -> None:
    data = json.loads(json.dumps(history_data(history([1000] * 5 + [700] * 5))))
    (series,) = data["series"]
    assert len(series["points"]) == 10 and series["unit"] == "1/s" and series["levels"] == {"rewriter": "off"}
    change = series["points"][5]["change"]
    assert change["better"] is False and -0.35 < change["effect"] < -0.25
    assert series["points"][0]["change"] is None and len(series["points"][0]["interval_95"]) == 2
    bench = history_data(history_of([side({"bench": [5.0]})], ["tps"], {}, Calibration()))
    assert bench["series"][0]["points"][0]["interval_95"] is None
    assert bench["subject"] == "bench of mysql@9.7: oltp_read_write, 8 threads, 30 s"
