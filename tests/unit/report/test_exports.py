"""Exports are read by what reads them elsewhere: the consumers' own rules, taken from their
source.
"""

import json
import re
import unicodedata
from dataclasses import dataclass, field, replace

import pytest
from pydantic import BaseModel, ConfigDict, TypeAdapter

from sandbox.judge.calibration import Calibration
from sandbox.judge.past_results import history_of
from sandbox.judge.unpaired import ResultSide
from sandbox.record.metrics import METRICS
from sandbox.report.exports import benchstat_lines, entries, tool_of
from unit.record.made_results import around, cell, matrix_part, side
from unit.record.samples import sample_record
from unit.report.made_up_trials import SEEN_MS, trial_side


@dataclass
class Parsed:
    """What golang.org/x/perf/benchfmt makes of a file."""

    results: list[tuple[str, int, dict[str, float], dict[str, str]]] = field(default_factory=list)
    units: dict[str, str] = field(default_factory=dict)
    ignored: list[str] = field(default_factory=list)


def parse_benchmark_format(text: str) -> Parsed:
    """The rules of benchfmt.Reader (golang.org/x/perf at 712aea8, benchfmt/reader.go), an error
    where it has one.

    The format: https://go.dev/design/14313-benchmark-format.
    """
    parsed, config = Parsed(), dict[str, str]()
    for line in text.splitlines():
        if line.startswith("Benchmark"):
            name, iterations, *measured = line.removeprefix("Benchmark").split()
            assert measured and len(measured) % 2 == 0, f"missing units: {line}"
            values = {
                unit: float(value)
                for value, unit in zip(measured[::2], measured[1::2], strict=True)
            }
            parsed.results.append((name, int(iterations), values, dict(config)))
        elif line.split()[:1] == ["Unit"]:
            unit, *pairs = line.split()[1:]
            assert (
                all(re.fullmatch("[^=]+=.*", pair) for pair in pairs) and unit not in parsed.units
            ), line
            parsed.units[unit] = " ".join(pairs)
        elif (found := re.match(r"([^\s:][^\s:]*):(?:[ \t]+(.*))?$", line)) and is_key(found[1]):
            config[found[1]] = found[2] or ""
        elif line:
            parsed.ignored.append(line)
    return parsed


def is_key(key: str) -> bool:
    """A key begins with a lower-case letter, and has no blank and no upper-case letter."""
    categories = [unicodedata.category(letter) for letter in key]
    return categories[0] == "Ll" and "Lu" not in categories


def a_matrix(**changed: object) -> ResultSide:
    part = matrix_part(
        name="query-rewrite",
        cells=[
            cell("off", {"re writer": "off/0", "server": "mysql-8"}),
            cell("on", {"re writer": "on", "server": "mysql-8"}),
        ],
    )
    figures = {"off": around(1000, 1), "on": around(900, 2), "canary": around(1000, 3)}
    return side(figures, part, **changed)  # type: ignore[arg-type]


def test_benchstat_reads_every_run_with_its_values() -> None:
    parsed = parse_benchmark_format("\n".join(benchstat_lines([a_matrix()])))
    names = {name for name, *_ in parsed.results}
    assert names == {
        "QueryRewrite/re_writer=off_0/server=mysql_8",
        "QueryRewrite/re_writer=on/server=mysql_8",
    }
    assert len(parsed.results) == 16, "the canary is no cell of its own"
    _, iterations, values, config = parsed.results[0]
    assert iterations == 37035 and values["transaction/s"] == pytest.approx(around(1000, 1)[0])
    assert values["p95-sec"] == pytest.approx(10 / around(1000, 1)[0]), (
        "seconds, which benchstat scales by itself"
    )
    assert (
        parsed.units["transaction/s"] == "better=higher"
        and parsed.units["p95-sec"] == "better=lower"
    )
    assert {*values} <= {*parsed.units} and len(parsed.units) == len(METRICS)
    assert config["workload"] == "oltp_read_write" and config["host"].startswith("Test CPU")


def test_what_two_results_are_compared_for_does_not_keep_them_apart() -> None:
    """Benchstat puts lines of different configuration into different tables."""
    both = [a_matrix(), a_matrix(name="another", tool_commit="bbb", days=9)]
    first, second = (parse_benchmark_format("\n".join(benchstat_lines([each]))) for each in both)
    assert first.results[0][3] == second.results[0][3]
    assert "# tool commit: bbb" in second.ignored and "# result: another" in second.ignored


def test_a_run_that_failed_and_a_value_that_is_missing_are_left_out() -> None:
    assert not parse_benchmark_format(
        "\n".join(benchstat_lines([a_matrix(status="failed")]))
    ).results
    lines = benchstat_lines([side({"bench": [1.0]}, metrics={"tps": 5.0, "errors": 0})])
    ((name, iterations, values, _),) = parse_benchmark_format("\n".join(lines)).results
    assert (name, iterations, values) == (
        "OltpReadWrite/threads=8",
        1,
        {"transaction/s": 5.0, "error/run": 0.0},
    )


def test_the_block_that_was_thrown_away_is_in_no_export() -> None:
    whole = a_matrix()
    cold = [each.model_copy(update={"block": 0}) for each in whole.records if each.block == 1]
    lines = benchstat_lines([replace(whole, records=[*cold, *whole.records])])
    assert len(parse_benchmark_format("\n".join(lines)).results) == 16


def test_a_load_without_rows_is_known_by_its_options() -> None:
    load = sample_record().workload.model_copy(
        update={
            "name": "tpcc",
            "tables": None,
            "rows_per_table": None,
            "options": {"warehouses": 2},
        }
    )
    parsed = parse_benchmark_format(
        "\n".join(benchstat_lines([side({"bench": [1.0]}, workload=load)]))
    )
    config = parsed.results[0][3]
    assert config["options"] == "warehouses=2" and "None" not in config["data"]


class BenchmarkResult(BaseModel):
    """What github-action-benchmark takes (its src/extract.ts at c38cce9); there it coerces, here
    not.
    """

    model_config = ConfigDict(strict=True, extra="forbid", allow_inf_nan=False)
    name: str
    value: float
    range: str | None = None
    unit: str
    extra: str | None = None


def test_github_action_benchmark_reads_an_entry_a_cell_and_metric() -> None:
    series = history_of([a_matrix()], ["tps", "qps"], {}, Calibration()).series
    exported = json.dumps(entries("query-rewrite", series))
    found = TypeAdapter(list[BenchmarkResult]).validate_json(exported)
    assert len(found) == 4, "an empty array is an error there"
    assert len({each.name for each in found}) == 4, "a name is a line of its chart"
    first = found[0]
    assert (
        first.name == "query-rewrite: re writer off/0, server mysql-8: tps" and first.unit == "1/s"
    )
    assert first.value == pytest.approx(1000, rel=0.02)
    assert (
        first.range
        and re.fullmatch(r"± \d+(\.\d+)?", first.range)
        and first.extra
        and "runs: 8" in first.extra
    )
    assert "null" not in exported, "coerced there to the text null, or to 0"


def test_what_is_only_at_least_is_no_value_for_benchstat_and_marked_for_the_action() -> None:
    side = trial_side("open", [SEEN_MS] * 10)
    parsed = parse_benchmark_format("\n".join(benchstat_lines([side])))
    out, back = (
        [values for _, _, values, _ in parsed.results if ("rto-sec" in values) == known]
        for known in (False, True)
    )
    assert len(out) == 10 and len(back) == 6 and all("lag-max-sec" in values for values in out)
    (note,) = (line for line in parsed.ignored if "still open" in line)
    assert "rto_ms of 10 runs" in note and "redundancy_ms of 10 runs" in note
    levels = {"topology": ["gr"], "proxy": ["direct"], "fault": ["host-loss"]}
    (entry,) = entries("x", history_of([side], ["rto_ms"], levels, Calibration()).series)
    assert "range" not in entry and "95 % interval: 60000 to open" in entry["extra"]
    assert "still open at the end: 10 trials; the value is at least this" in entry["extra"]


def test_without_an_interval_there_is_no_range() -> None:
    (entry,) = entries(
        "bench", history_of([side({"bench": [5.0]})], ["tps"], {}, Calibration()).series
    )
    assert "range" not in entry


def test_one_file_is_of_one_direction() -> None:
    assert tool_of(["tps", "qps"]) == "customBiggerIsBetter"
    assert tool_of(["latency_p95_ms", "errors"]) == "customSmallerIsBetter"
    assert tool_of(["tps", "latency_p95_ms"]) is None
