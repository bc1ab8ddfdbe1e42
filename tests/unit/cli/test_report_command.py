"""make report: which result it takes, what it leaves there, and that a second report says what the
first said.
"""

import json
from pathlib import Path

import pytest

from perf.made_up import write_made_up
from sandbox.cli.common import reports
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.matrix.result_folder import note_noise, part_of
from sandbox.record.store import ResultFolder
from unit.record.samples import sample_record
from unit.record.test_store import manifest
from unit.report.made_up import write_report


@pytest.fixture(autouse=True)
def _own_calibration(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def bench(results: Path, **changed: object) -> ResultFolder:
    """A result of one bench that left a series and a log."""
    folder = ResultFolder.create(results, manifest())
    run = folder.start_run("bench", 1)
    (run / "seconds.csv").write_text(
        "phase,second,tps\nwarm-up,1,9.0\nmeasure,1,10.0\nmeasure,2,12.0\n"
    )
    (run / "load.log").write_text("sysbench\n")
    files = {"series": "seconds.csv", "load_log": "load.log", "samples": "samples.jsonl"}
    folder.save(sample_record(**{"files": files, **changed}), frozenset())
    return folder


def test_it_leaves_a_page_and_a_summary(tmp_path: Path) -> None:
    result = write_made_up(tmp_path, 42)
    before = {path.name for path in result.path.iterdir()}
    written = write_report(result)
    assert [path.name for path in written] == ["report.html", "summary.md"]
    assert {path.name for path in result.path.iterdir()} - before == {"report.html", "summary.md"}
    assert written[0].read_text().startswith("<!doctype html>") and written[
        1
    ].read_text().startswith("# Durable")


def test_charts_are_written_when_asked_for(tmp_path: Path) -> None:
    written = write_report(bench(tmp_path), charts=True)
    assert [str(path.relative_to(tmp_path)).split("/", 1)[1] for path in written[2:]] == [
        "charts/seconds.svg",
        "charts/seconds.png",
    ]
    assert written[2].read_text().startswith("<svg") and written[3].read_bytes().startswith(
        b"\x89PNG"
    )


def test_a_bench_has_a_report_of_its_own(tmp_path: Path) -> None:
    page = write_report(bench(tmp_path))[0].read_text()
    assert "1,234.5 transactions per second" in page and "NOT ENDED" in page
    assert 'href="runs/bench.1/load.log"' in page and "samples.jsonl" not in page, (
        "no link to what is not there"
    )


def test_a_bench_that_failed_is_reported_too(tmp_path: Path) -> None:
    page = write_report(bench(tmp_path, status="failed", reason="it broke"))[0].read_text()
    assert "failed: it broke." in page


def test_a_result_without_a_good_run_is_no_report(tmp_path: Path) -> None:
    result = write_made_up(tmp_path, 3)
    for path in result.path.glob("runs/*/record.json"):
        record = json.loads(path.read_text())
        path.write_text(json.dumps({**record, "status": "infra_error", "reason": "no image"}))
    with pytest.raises(SandboxError, match="no run of the matrix made-up is usable") as refused:
        write_report(result)
    assert (
        refused.value.exit_code is ExitCode.ENVIRONMENT and "no image" in refused.value.lines()[1]
    )


def test_a_result_without_any_record_is_no_report(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="has no run"):
        write_report(ResultFolder.create(tmp_path, manifest()))


def test_a_record_of_another_version_says_which_part_it_is(tmp_path: Path) -> None:
    result = bench(tmp_path)
    path = result.path / "runs" / "bench.1" / "record.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "schema_version": 7}))
    with pytest.raises(SandboxError, match="cannot be read") as refused:
        write_report(result)
    assert "schema_version" in refused.value.lines()[1]


@pytest.mark.parametrize("content", ["{", "", "[]", None])
@pytest.mark.parametrize("file", ["manifest.json", "runs/bench.1/record.json"])
def test_a_file_that_cannot_be_read_is_three_lines_and_bad_input(
    tmp_path: Path, file: str, content: str | None
) -> None:
    result = bench(tmp_path)
    path = result.path / file
    path.unlink() if content is None else path.write_text(content)
    with pytest.raises(SandboxError) as refused:
        write_report(result)
    assert refused.value.exit_code is ExitCode.BAD_INPUT and result.path.name in refused.value.what
    assert str(Path(file).parent) in refused.value.what, "which one it is"
    assert all(refused.value.lines()) and len(refused.value.lines()) == 3
    assert not list(result.path.glob("report.html"))


def test_the_noise_that_was_known_at_the_end_is_kept(tmp_path: Path) -> None:
    result = write_made_up(tmp_path, 168)
    noisy = {
        name: {"tps": 0.5, "latency_p95_ms": 0.5}
        for name in ("oltp_point_select", "oltp_read_write")
    }
    note_noise(result, noisy)
    written = write_report(result)[1].read_text()
    assert "is worse" not in written, "with such noise nothing can be said"
    note_noise(result, {})
    assert part_of(result).calibrated == {}
    assert "is worse" in write_report(result)[1].read_text()


def test_made_up_results_are_the_same_for_the_same_seed(tmp_path: Path) -> None:
    first, second = (write_made_up(tmp_path / name, 21) for name in "ab")
    for path in first.path.rglob("*.json*"):
        assert path.read_text() == (second.path / path.relative_to(first.path)).read_text()
    assert len(first.records()) == 21 and len(first.samples(first.records()[0])) == 7


def test_as_data_it_says_everything_that_the_page_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    result = write_made_up(tmp_path, 42)
    reports.show_report(result, charts=False, as_json=True)
    data = json.loads(capsys.readouterr().out)
    assert data["files"] == [str(result.path / name) for name in ("report.html", "summary.md")]
    assert data["title"]["text"].startswith("Durable") and "too few" in data["answer"]["text"]
    cells = [
        cell
        for section in data["sections"]
        for part in section["parts"]
        for row in part.get("rows", [])
        for cell in row.get("cells", [])
    ]
    numbers = [cell for cell in cells if cell["value"] is not None]
    assert numbers and all(cell["text"] for cell in numbers)
