"""make trial REPEAT=: what is asked for, what is printed, and what other commands make of its
result.
"""

import csv
import io
import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.cli.commands import trial
from sandbox.cli.common import repeating
from sandbox.cli.common.exports import export
from sandbox.cli.common.over_time import compare, history
from sandbox.cli.common.queries import query
from sandbox.cli.common.reports import document_of
from sandbox.cli.main import main
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.measure.trial.repeats import Repeats
from sandbox.record.manifest import RepeatsPart
from sandbox.record.store import ResultFolder
from sandbox.report.render import terminal
from unit.report.made_up import write_report
from unit.report.made_up_trials import repeated, trial_record, write_result

Printed = pytest.CaptureFixture[str]
WHOLE = RepeatsPart(count=8, fresh=False, end="complete")
CAME = RepeatsPart(
    count=12, fresh=False, until="lost-member", end="came", reason="lost-member came in trial 8"
)


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def series(results: Path, part: RepeatsPart = WHOLE, **given: Any) -> ResultFolder:
    """Eight trials in one result."""
    return write_result(results, repeated(8, **given), repeats=part)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Repeats]:
    """The series that would have been made; its result is one of eight good trials."""
    found: list[Repeats] = []
    results = tmp_path / "results"

    def made(_stack: Any, _request: Any, repeats: Repeats, *_: Any) -> ResultFolder:
        found.append(repeats)
        return series(results)

    monkeypatch.setattr(repeating, "RESULTS", results)
    monkeypatch.setattr(repeating, "quiet_stack", lambda *_: SimpleNamespace())
    monkeypatch.setattr(repeating, "repeat_trial", made)
    return found


def test_a_series_is_asked_for_and_printed(asked: list[Repeats], capsys: Printed) -> None:
    code = trial.command(fault="server-crash", repeat=12, until="log:WSREP")
    assert asked == [Repeats(12, "log:WSREP")] and code == ExitCode.OK
    text = capsys.readouterr().out
    assert "8 of 8 trials  complete" in text and "Figures, trials: 8 (few)" in text
    assert text.rstrip().endswith("/runs")


def test_it_is_data_as_well(asked: list[Repeats], capsys: Printed) -> None:
    trial.command(fault="server-crash", repeat=12, json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["result"].startswith("results/") and data["title"]["text"].endswith("8 trials")


def test_the_load_has_options_of_its_own(asked: list[Repeats]) -> None:
    trial.command(
        fault="join",
        workload="writers",
        load_options=["table=shared ledger=on"],
        repeat=3,
        until="writers_lost",
    )
    assert asked == [Repeats(3, "writers_lost")]
    with pytest.raises(SandboxError):
        trial.command(fault="join", workload="writers", load_options=["tabel=shared"])


@pytest.mark.parametrize("count", ["0", "201", "x"])
def test_a_count_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: Printed, count: str
) -> None:
    argv = ["sandbox", "trial", "--fault", "hang", "--repeat", count]
    monkeypatch.setattr(sys, "argv", argv)
    with pytest.raises(SystemExit) as ended:
        main()
    lines = capsys.readouterr().err.splitlines()
    assert ended.value.code == ExitCode.BAD_INPUT and len(lines) == 3 and "REPEAT" in lines[0]


def test_a_stack_that_cannot_be_restored_is_refused_before_anything(
    asked: list[Repeats], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> None:
        raise SandboxError("FRESH=1: the stack 'a' cannot be restored", "why", "try: …")

    monkeypatch.setattr(repeating, "restoring", refuse)
    with pytest.raises(SandboxError, match="cannot be restored"):
        trial.command(fault="server-crash", repeat=3, fresh=True)
    assert not asked


# What other commands make of it.


def test_a_report_has_rates_figures_and_the_median_trial_in_time(tmp_path: Path) -> None:
    result = series(tmp_path, CAME, lost_in=[8])
    page, summary = (path.read_text() for path in write_report(result))
    assert "lost-member came in trial 8" in summary and "trial.4: RTO" in page
    assert "1 of 8" in terminal.text(document_of(result))


def test_two_series_are_compared_with_a_verdict(tmp_path: Path, capsys: Printed) -> None:
    first = series(tmp_path)
    second = series(tmp_path, first_ms=9_000.0)
    assert compare(first.path.name, second.path.name, as_json=True, results=tmp_path) == 0
    data = json.loads(capsys.readouterr().out)
    (verdict,) = data["verdicts"]
    assert verdict["metric"] == "rto_ms" and "figures" not in data
    compare(first.path.name, second.path.name, results=tmp_path)
    text = capsys.readouterr().out
    assert "One trial a side" not in text and "rto_ms" in text


def test_series_and_single_trials_have_one_history(tmp_path: Path, capsys: Printed) -> None:
    write_result(tmp_path, [trial_record(rto_ms=4_000.0)])
    series(tmp_path)
    history(as_json=True, results=tmp_path)
    (found,) = json.loads(capsys.readouterr().out)["series"]
    assert [point["runs"] for point in found["points"]] == [1, 8]
    assert [point["value"] for point in found["points"]] == pytest.approx([4_000, 2_350])


def test_every_trial_is_a_row_of_queries_and_exports(tmp_path: Path, capsys: Printed) -> None:
    result = series(tmp_path)
    query("select count(*) as n, max(rto_ms) as most from runs", as_csv=True, results=tmp_path)
    assert capsys.readouterr().out.splitlines() == ["n,most", "8,2700.0"]
    export("csv", result.path.name, results=tmp_path)
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["block"] for row in rows] == [str(number) for number in range(1, 9)]
    export("benchstat", result.path.name, results=tmp_path)
    assert capsys.readouterr().out.count(" rto-sec") == 1 + 8, "its unit, and each trial"
