"""What other commands make of the results of repros; what `bisect` refuses before it starts."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from sandbox.cli.common.bisecting import BisectRequest, bisect
from sandbox.cli.common.exports import export
from sandbox.cli.common.over_time import compare, history
from sandbox.cli.common.queries import query
from sandbox.cli.common.reports import document_of
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.record.manifest import Manifest, ReprosPart
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.report.render import terminal
from unit.record.made_results import around, save
from unit.report.made_up_repros import repro_record

Printed = pytest.CaptureFixture[str]
BEGAN = datetime(2025, 2, 3, 4, 5, 6, tzinfo=UTC)


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


def repros(results: Path, records: list[Record], days: int = 0, **part: Any) -> ResultFolder:
    """A result of repros."""
    began = BEGAN + timedelta(days=days)
    manifest = Manifest(
        kind="repro", slug="metadata-lock", profile="mysql@9.7", command=["sandbox", "repro"],
        started_utc=began, repro=ReprosPart(key="k", **part),
    )  # fmt: skip
    result = ResultFolder.create(results, manifest)
    for record in records:
        result.start_run(record.cell, record.block)
        result.save(record, frozenset())
    result.finish(began + timedelta(minutes=1))
    return result


def repeats(verdicts: str, version: str = "9.7.4") -> list[Record]:
    """A repeat for each letter: r reproduced, f fixed, u unknown."""
    words: dict[str, Any] = {"r": "reproduced", "f": "fixed", "u": "unknown"}
    return [repro_record(words[letter], version, block) for block, letter in enumerate(verdicts, 1)]


@pytest.mark.parametrize(
    ("before", "after", "word", "code"),
    [
        ("ff", "fr", "came", ExitCode.FAILED),
        ("rr", "ff", "gone", ExitCode.OK),
        ("rf", "fr", "no difference", ExitCode.OK),
        ("rfffffffffff", "rrrrrrrrrrrr", "more often", ExitCode.FAILED),
        ("rrrrrrrrrrrr", "rfffffffffff", "less often", ExitCode.OK),
        ("rr", "uu", "unclear", ExitCode.UNKNOWN),
    ],
)
def test_two_results_of_repros_are_compared_by_what_became_of_the_bug(
    tmp_path: Path, capsys: Printed, before: str, after: str, word: str, code: ExitCode
) -> None:
    first = repros(tmp_path, repeats(before))
    second = repros(tmp_path, repeats(after), days=1)
    assert compare(first.path.name, second.path.name, gate=True, results=tmp_path) == code
    assert f" {word}" in capsys.readouterr().out
    assert compare(first.path.name, second.path.name, results=tmp_path) == ExitCode.OK


def test_what_only_one_of_them_has_is_no_verdict(tmp_path: Path, capsys: Printed) -> None:
    first = repros(tmp_path, repeats("r", "8.4.10"))
    second = repros(tmp_path, repeats("r", "9.7.4"), days=1)
    code = compare(first.path.name, second.path.name, gate=True, results=tmp_path)
    assert code == ExitCode.UNKNOWN
    printed = capsys.readouterr().out
    assert "only in A" in printed and "only in B" in printed


def test_a_history_is_of_the_newest_result_that_has_metrics(
    tmp_path: Path, capsys: Printed
) -> None:
    save(tmp_path, {"bench": around(1000, 1)})
    repros(tmp_path, repeats("r"), days=9)
    assert history(results=tmp_path) == ExitCode.OK
    assert "tps" in capsys.readouterr().out


def test_with_repros_alone_there_is_no_history(tmp_path: Path) -> None:
    repros(tmp_path, repeats("r"))
    with pytest.raises(SandboxError, match="there is no such result"):
        history(results=tmp_path)


def test_each_repeat_is_a_row_of_a_query_and_of_a_table(tmp_path: Path, capsys: Printed) -> None:
    repros(tmp_path, repeats("rf"), search="bisect", answer="The bug is in 9.7.4.")
    query("select repro, block, verdict, version from repros order by block", True, False, tmp_path)
    rows = json.loads(capsys.readouterr().out)
    assert [(row["block"], row["verdict"]) for row in rows] == [(1, "reproduced"), (2, "fixed")]
    assert rows[0]["repro"] == "metadata-lock"
    query("select search, answer from results", True, False, tmp_path)
    (row,) = json.loads(capsys.readouterr().out)
    assert row == {"search": "bisect", "answer": "The bug is in 9.7.4."}
    export("csv", "latest", results=tmp_path)
    head, first, *_ = capsys.readouterr().out.splitlines()
    assert "reproduced" in first.split(",") and "verdict" in head.split(",")


@pytest.mark.parametrize("format_", ["benchstat", "github-action-benchmark"])
def test_formats_for_metrics_take_no_repro(tmp_path: Path, format_: str) -> None:
    repros(tmp_path, repeats("r"))
    with pytest.raises(SandboxError) as refused:
        export(format_, "latest", results=tmp_path)
    assert refused.value.what == "a repro has verdicts, and no metrics"


def test_all_results_as_benchstat_leave_repros_out(tmp_path: Path, capsys: Printed) -> None:
    save(tmp_path, {"bench": around(1000, 1)})
    repros(tmp_path, repeats("r"))
    assert export("benchstat", "all", results=tmp_path) == ExitCode.OK
    assert "Benchmark" in capsys.readouterr().out


def test_the_report_of_a_search_begins_with_its_answer(tmp_path: Path) -> None:
    result = repros(
        tmp_path, repeats("r"), search="bisect", answer="The bug is in 9.7.4.",
        notes=["release notes: https://example.org/"],
    )  # fmt: skip
    text = terminal.text(document_of(result))
    assert text.index("The bug is in 9.7.4.") < text.index("https://example.org/")


def test_tries_that_have_one_version_are_told_apart(tmp_path: Path) -> None:
    tries = [
        repro_record("reproduced").model_copy(update={"cell": "metadata-lock.try-1"}),
        repro_record("fixed").model_copy(update={"cell": "metadata-lock.try-2"}),
    ]
    text = terminal.text(document_of(repros(tmp_path, tries)))
    assert "try-1" in text and "try-2" in text


def asked(**given: Any) -> BisectRequest:
    usual: dict[str, Any] = {
        "word": "snapshot-isolation-1020", "good": "10.5", "bad": "11.8", "over": "versions",
        "profile": None, "sets": (), "repeat": None, "command": (),
    }  # fmt: skip
    return BisectRequest(**{**usual, **given})


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"over": "time"}, "OVER=time is nothing to bisect over"),
        ({"good": None}, "two different ends"),
        ({"bad": "10.5"}, "two different ends"),
        ({"repo": "/src"}, "REPO= is for a search over commits"),
        ({"over": "commits"}, "OVER=commits needs REPO, BUILD, BINARY"),
        ({"over": "settings", "good": "x", "bad": "y"}, "GOOD=x cannot be read"),
        ({"over": "settings", "good": "a=1", "bad": "a=1 b"}, "'b' is not an assignment"),
        ({"over": "settings", "good": "a=1", "bad": "a='1'"}, "GOOD and BAD set the same"),
    ],
)
def test_bad_input_is_refused_before_anything_starts(given: dict[str, Any], text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        bisect(asked(**given), False)
    assert text in refused.value.what and refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_search_over_commits_needs_a_clean_tree(tmp_path: Path) -> None:
    given = {"over": "commits", "repo": str(tmp_path), "build": "make", "binary": "build"}
    with pytest.raises(SandboxError, match="is no source tree under git"):
        bisect(asked(**given), False)
