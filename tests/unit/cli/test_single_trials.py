"""Results of single trials: those of now, and those of an earlier version, which called a trial a
bench.
"""

import csv
import io
import json
import re
from pathlib import Path

import pytest

from sandbox.cli.commands import list as list_command
from sandbox.cli.common import lists
from sandbox.cli.common.exports import export
from sandbox.cli.common.over_time import compare, history
from sandbox.cli.common.queries import query
from sandbox.cli.common.results import find_result, read_manifest
from sandbox.core.errors import SandboxError
from sandbox.record.store import ResultFolder
from unit.record.made_results import save
from unit.report.made_up import write_report
from unit.report.made_up_trials import trial_record, write_result

Printed = pytest.CaptureFixture[str]


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def old(tmp_path: Path) -> ResultFolder:
    """A trial as an earlier version saved it: its kind and its cell are those of a bench."""
    return write_result(tmp_path, [trial_record(cell="bench", rto_ms=2_500.0)], kind="bench")


@pytest.fixture
def new(tmp_path: Path, old: ResultFolder) -> ResultFolder:
    """A trial as it is saved now, later than the old one."""
    return write_result(tmp_path, [trial_record(rto_ms=4_000.0)])


def stored_kind(result: ResultFolder) -> str:
    """What the file says, whatever it is read as."""
    return str(json.loads((result.path / "manifest.json").read_text())["kind"])


def test_an_old_trial_is_read_as_a_trial_and_a_bench_stays_a_bench(
    tmp_path: Path, old: ResultFolder, new: ResultFolder
) -> None:
    bench = save(tmp_path, {"bench": [1.0]}, None, 3)
    assert [stored_kind(each) for each in (old, new, bench)] == ["bench", "trial", "bench"]
    assert [read_manifest(each).kind for each in (old, new, bench)] == ["trial", "trial", "bench"]


@pytest.mark.parametrize("text", [None, "{", "[1]", '{"trial": null}'])
def test_a_record_that_is_gone_or_broken_leaves_the_kind_as_it_is(
    old: ResultFolder, text: str | None
) -> None:
    record = old.path / "runs" / "bench.1" / "record.json"
    record.unlink() if text is None else record.write_text(text)
    assert read_manifest(old).kind == "bench"


def test_an_old_trial_is_found_listed_and_reported(
    tmp_path: Path,
    old: ResultFolder,
    new: ResultFolder,
    monkeypatch: pytest.MonkeyPatch,
    capsys: Printed,
) -> None:
    assert find_result(old.path.name, tmp_path, "report").path == old.path
    monkeypatch.setattr(lists, "RESULTS", tmp_path)
    list_command.command("results")
    _, *lines = capsys.readouterr().out.splitlines()
    assert [line.split()[:3] for line in lines] == [
        [each.path.name, "trial", "1"] for each in (old, new)
    ]
    for result, run in ((old, "bench.1"), (new, "trial.1")):
        page, summary = (path.read_text() for path in write_report(result))
        assert f"{run}: RTO" in page and "server-crash of writer" in summary


@pytest.mark.usefixtures("old", "new")
def test_old_and_new_trials_have_one_history(tmp_path: Path, capsys: Printed) -> None:
    history(as_json=True, results=tmp_path)
    shown = json.loads(capsys.readouterr().out)
    assert shown["subject"] == "trial of galera3+haproxy: server-crash"
    (series,) = shown["series"]
    assert series["metric"] == "rto_ms", "what a trial is about, unless another is asked for"
    assert [point["value"] for point in series["points"]] == pytest.approx([2_500.0, 4_000.0])


@pytest.mark.usefixtures("new")
def test_the_index_has_the_kind_of_a_trial_for_both(tmp_path: Path, capsys: Printed) -> None:
    save(tmp_path, {"bench": [1.0]}, None, 3)
    query(
        "select kind, count(*) as n from results group by kind order by kind",
        as_csv=True,
        results=tmp_path,
    )
    assert capsys.readouterr().out.splitlines() == ["kind,n", "bench,1", "trial,2"]


def test_an_old_trial_is_exported(tmp_path: Path, old: ResultFolder, capsys: Printed) -> None:
    export("csv", old.path.name, results=tmp_path)
    (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (row["cell"], float(row["rto_ms"])) == ("bench", 2_500.0)


def test_a_trial_is_compared_with_a_trial_alone(
    tmp_path: Path, old: ResultFolder, new: ResultFolder
) -> None:
    bench = save(tmp_path, {"bench": [1.0]}, None, 3)
    with pytest.raises(SandboxError, match="a bench and a trial cannot be compared") as refused:
        compare(old.path.name, bench.path.name, results=tmp_path)
    assert "A is a trial, B a bench" in refused.value.known


def test_two_single_trials_stand_side_by_side_without_a_verdict(
    tmp_path: Path, old: ResultFolder, new: ResultFolder, capsys: Printed
) -> None:
    assert compare(old.path.name, new.path.name, results=tmp_path) == 0
    text = capsys.readouterr().out
    assert re.search(r"^ +RTO, ms +2500 +4000$", text, re.MULTILINE)
    assert "One trial a side is no comparison" in text and "too noisy" not in text
    assert compare(old.path.name, new.path.name, gate=True, as_json=True, results=tmp_path) == 3
    data = json.loads(capsys.readouterr().out)
    assert data["figures"]["rto_ms"] == {
        "a": {"value": 2_500.0, "at_least": False},
        "b": {"value": 4_000.0, "at_least": False},
    }
    assert {each["verdict"] for each in data["verdicts"]} == {"too noisy"}
