"""Adding a metric is a row and its producer: in a copy, all that shows figures shows it."""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from contract.copied_checkout import CopiedPython, copied_checkout, remove_bytecode

TESTS = Path(__file__).parents[1]
TABLE = "scripts/sandbox/record/metrics.py"
ROWS = """\
    Metric(
        "queries_per_tx",
        "statements per transaction",
        "statement/transaction",
        unit="statements",
        group="throughput",
        produced_by=("load",),
        higher_is_better=False,
    ),
    _trial_time("last_heal_ms", "healed after", "last-heal-sec"),
"""
PRODUCERS = {
    "scripts/sandbox/load/common/load_output.py": (
        "return {**per_second, ",
        'return {**per_second, "queries_per_tx": round(queries / transactions, 3), ',
    ),
    "scripts/sandbox/measure/trial/result.py": (
        '"queue_max": queue_max(',
        '"last_heal_ms": round((healed_us - t0_us) / 1000, 1), "queue_max": queue_max(',
    ),
}
"""File → what is replaced in it by what."""


MATRIX = """\
title: Statements
question: How many are there?
common: {profile: mysql@9.7, workload: oltp_read_only}
factors: {threads: {one: {threads: 1}, two: {threads: 2}}}
baseline: {threads: one}
metrics: [queries_per_tx]
"""
LOADS, TRIALS = "quick", "made-up-failover"
"""Matrices of which there are results."""


@dataclass(frozen=True)
class Copy:
    """The checkout with two metrics more, and results with figures of them."""

    folder: Path
    python: CopiedPython
    results: dict[str, str]
    """Matrix → its newest result."""
    measured: dict[str, Any]
    """The figures of one bench and one trial, and what these and two matrices print."""

    @property
    def statements(self) -> float:
        """Of a transaction of the load."""
        return float(self.measured["queries_per_tx"])

    @property
    def healed_ms(self) -> float:
        """From the injection to the heal."""
        return float(self.measured["last_heal_ms"])

    def page(self, matrix: str) -> str:
        """The text of the newest report, with what its charts say."""
        return unescape((self.path(matrix) / "report.html").read_text())

    def path(self, matrix: str) -> Path:
        """The newest result."""
        return self.folder / "results" / self.results[matrix]

    def sandbox(self, *words: str) -> str:
        """What a command of the copy prints."""
        return ran(self.python, "-m", "sandbox.cli", *words)


def ran(python: CopiedPython, *words: str) -> str:
    """What the copy's Python prints."""
    done = python.run(*words)
    assert done.returncode == 0, done.stderr
    return done.stdout


def replace_once(path: Path, before: str, after: str) -> None:
    """Changes one place of a file."""
    text = path.read_text()
    assert text.count(before) == 1, f"{path} has {before!r} {text.count(before)} times"
    path.write_text(text.replace(before, after))


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Copy]:
    """Made and measured once."""
    folder = tmp_path_factory.mktemp("copy")
    copied_checkout(folder, ("compose", "images", "profiles", "scripts"))
    replace_once(folder / TABLE, ")\nMETRICS = {", f"{ROWS})\nMETRICS = {{")
    for name, (before, after) in PRODUCERS.items():
        replace_once(folder / name, before, after)
    (folder / "profiles" / "matrices" / "statements.yaml").write_text(MATRIX)
    results = folder / "results"
    results.mkdir()
    program = TESTS / "contract" / "measured_with_new_metrics.py"
    python = CopiedPython(
        folder,
        {
            "PYTHONPATH": os.pathsep.join([str(folder / "scripts"), str(TESTS)]),
            "XDG_CACHE_HOME": str(folder / "cache"),
        },
    )
    measured = json.loads(ran(python, str(program), str(results)))
    sql = "select matrix, max(result) as newest from results group by matrix"
    made = Copy(folder, python, {}, measured)
    rows = json.loads(made.sandbox("query", "--json", sql))
    made.results.update({row["matrix"]: row["newest"] for row in rows})
    for matrix in (LOADS, TRIALS):
        made.sandbox("report", made.results[matrix])
    yield made
    python.close()
    remove_bytecode(folder)


def table_rows(text: str, title: str) -> dict[str, list[str]]:
    """First column → the others, of the table below a title on a terminal."""
    _, _, rest = text.partition(f"\n{title}")
    lines = rest.partition("\n\n")[0].splitlines()
    cells = [re.split(r"\s{2,}", line.strip()) for line in lines[1:]]
    return {first: others for first, *others in cells}


def test_each_is_measured_by_its_producer(copy: Copy) -> None:
    assert copy.statements > 1
    assert copy.healed_ms == pytest.approx(6000, abs=20)


def test_each_is_in_the_record(copy: Copy) -> None:
    wanted = ((LOADS, "queries_per_tx", "off"), (TRIALS, "last_heal_ms", "canary"))
    for matrix, metric, cell in wanted:
        record = json.loads((copy.path(matrix) / "runs" / f"{cell}.1" / "record.json").read_text())
        assert record["metrics"][metric] == copy.measured[metric]


def test_a_matrix_may_ask_for_it(copy: Copy) -> None:
    rows = json.loads(copy.sandbox("list", "matrices", "--json"))["matrices"]
    assert "statements" in {row["matrix"] for row in rows}


def test_the_index_has_a_column_for_each(copy: Copy) -> None:
    sql = "select result, cell, queries_per_tx as x, last_heal_ms as y from runs where block = 1"
    rows = json.loads(copy.sandbox("query", "--json", sql))
    found = {(row["result"], row["cell"]): (row["x"], row["y"]) for row in rows}
    assert found[copy.results[LOADS], "off"] == (copy.statements, None)
    assert found[copy.results[TRIALS], "canary"] == (None, copy.healed_ms)


def test_a_matrix_judges_each(copy: Copy) -> None:
    rows = table_rows(copy.measured["matrix"], "queries_per_tx")
    assert rows["on"][0] == "+50.0%" and rows["on"][-1] == "worse", "more is worse, says the row"
    assert "SECONDS=5" in copy.measured["matrix"], "it is of one server, so it can be calibrated"
    assert "By last_heal_ms: least at proxy direct: 6,000 ms" in copy.measured["trials"]
    assert "make calibrate" not in copy.measured["trials"]
    summary = (copy.path(LOADS) / "summary.md").read_text()
    assert "| rewriter on | +50.0% |" in summary.partition("### queries_per_tx")[2]


def test_a_bench_shows_it(copy: Copy) -> None:
    """Only what it has: it is no trial."""
    row = rf"^statements per transaction +{copy.statements:,} statements$"
    assert re.search(row, copy.measured["bench"], re.MULTILINE)
    assert "healed after" not in copy.measured["bench"]


def test_a_trial_and_the_tables_of_trials_show_it(copy: Copy) -> None:
    assert re.search(r"^healed after +6,000 ms$", copy.measured["trial"], re.MULTILINE)
    summary = (copy.path(TRIALS) / "summary.md").read_text()
    (header,) = [line for line in summary.splitlines() if "| healed after |" in line]
    rows = summary.partition(header)[2].splitlines()[2:]
    column = header.split(" | ").index("healed after")
    assert [row.split(" | ")[column] for row in rows[:3]] == ["6,000", "6,000", "12,000"]


def test_charts_draw_each(copy: Copy) -> None:
    page = copy.page(LOADS)
    assert "<h4>statements per transaction</h4>" in page
    assert "<h4>statements per transaction, relative</h4>" in page
    assert f": {copy.statements:.4g} statements, 8 blocks" in page
    assert "ratio; less is better" in page
    page = copy.page(TRIALS)
    assert "healed after, every trial" in page
    assert f"block 1: {copy.healed_ms:,.0f} ms" in page


def test_history_follows_each(copy: Copy) -> None:
    words = ("history", "--matrix", LOADS, "--metric", "queries_per_tx")
    off, on = json.loads(copy.sandbox(*words, "--json"))["series"]
    assert [point["value"] for point in off["points"]] == pytest.approx([copy.statements] * 2)
    assert [point["value"] for point in on["points"]] == pytest.approx([1.5 * copy.statements] * 2)
    assert off["unit"] == "statements"
    assert "queries_per_tx (statements, lower is better), rewriter off" in copy.sandbox(*words)
    (first, *_) = json.loads(copy.sandbox("history", "--matrix", TRIALS, "--json"))["series"]
    assert (first["metric"], first["points"][0]["value"]) == ("last_heal_ms", copy.healed_ms)


def test_two_results_are_compared_by_it(copy: Copy) -> None:
    before = min(each.name for each in (copy.folder / "results").glob(f"*-{LOADS}"))
    words = ("compare", "--a", before, "--b", copy.results[LOADS], "--json")
    verdicts = json.loads(copy.sandbox(*words))["verdicts"]
    assert {each["metric"] for each in verdicts} == {"queries_per_tx"}
    assert verdicts[0]["median_a"] == copy.statements


@pytest.mark.parametrize(
    ("matrix", "exported", "factor", "metric"),
    [
        (LOADS, "statement/transaction", 1, "queries_per_tx"),
        (TRIALS, "last-heal-sec", 1e-3, "last_heal_ms"),
    ],
)
def test_benchstat_gets_each_in_its_unit(
    copy: Copy,
    matrix: str,
    exported: str,
    factor: float,
    metric: str,
) -> None:
    text = copy.sandbox("export", "--format", "benchstat", "--result", copy.results[matrix])
    assert f"Unit {exported} better=lower" in text.splitlines()
    values = re.findall(rf"^Benchmark.* (\S+) {exported}", text, re.MULTILINE)
    assert min(map(float, values)) == pytest.approx(factor * copy.measured[metric])


@pytest.mark.parametrize(
    ("matrix", "metric", "unit"),
    [(LOADS, "queries_per_tx", "statements"), (TRIALS, "last_heal_ms", "ms")],
)
def test_the_github_action_gets_each(copy: Copy, matrix: str, metric: str, unit: str) -> None:
    words = ("--format", "github-action-benchmark", "--metric", metric)
    entries = json.loads(copy.sandbox("export", *words, "--result", copy.results[matrix]))
    assert all(each["name"].endswith(metric) and each["unit"] == unit for each in entries)
    assert min(each["value"] for each in entries) == pytest.approx(copy.measured[metric])


def test_a_record_of_before_is_still_read(copy: Copy) -> None:
    """One without the new keys, as every stored result is."""
    path = copy.path(LOADS) / "runs" / "off.1" / "record.json"
    record = json.loads(path.read_text())
    for name in ("queries_per_tx", "last_heal_ms"):
        del record["metrics"][name]
    older = copy.folder / "older.json"
    older.write_text(json.dumps(record))
    program = (
        "import sys, pathlib; from sandbox.record.record import Record;"
        "print(Record.model_validate_json(pathlib.Path(sys.argv[1]).read_text()).to_json())"
    )
    metrics = json.loads(ran(copy.python, "-c", program, str(older)))["metrics"]
    assert metrics == {**record["metrics"], "queries_per_tx": None, "last_heal_ms": None}
