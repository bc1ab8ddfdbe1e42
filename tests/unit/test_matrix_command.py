"""A matrix or calibration that was interrupted, or came to nothing, says so as one; no engine is asked."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.commands import calibrate, matrix, matrix_request
from sandbox.commands.calibrate import CalibrateOptions, a_against_a
from sandbox.errors import ExitCode, SandboxError
from sandbox.run.calibration_file import calibration_path

OPTIONS = CalibrateOptions("mysql@9.7", "oltp_read_only", 8, 5, 1, 24, False)


@pytest.fixture(autouse=True)
def _no_engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(matrix_request, "engine_facts", lambda _: SimpleNamespace())
    monkeypatch.setattr(matrix_request, "host_class", lambda _: "here")
    monkeypatch.setattr(matrix_request, "_planned_variables", lambda _: {})


@pytest.mark.parametrize(
    "interruption",
    [KeyboardInterrupt(), SandboxError("interrupted", "x", "try: make up NAME=matrix-arm1", ExitCode.INTERRUPTED)],
)
def test_wherever_it_is_interrupted_it_says_how_to_go_on(
    monkeypatch: pytest.MonkeyPatch, interruption: BaseException
) -> None:
    def stopped(*_: Any) -> None:
        raise interruption

    monkeypatch.setattr(matrix, "run_matrix", stopped)
    with pytest.raises(SandboxError) as told:
        matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert told.value.exit_code is ExitCode.INTERRUPTED
    assert told.value.lines() == [
        "interrupted before the first run",
        "every run that ended is saved, and every stack of the matrix is removed",
        "try: the same command again (it goes on from there)",
    ]


def test_an_engine_that_went_away_says_what_is_saved_and_how_to_go_on(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(_request: Any, _stacks: Any, _results: Any, line: Any) -> None:
        line.done, line.runs = 3, 18
        raise SandboxError("the Docker engine does not answer", "no socket", "try: make doctor", ExitCode.ENVIRONMENT)

    monkeypatch.setattr(matrix, "run_matrix", gone)
    with pytest.raises(SandboxError) as told:
        matrix.run_experiment(a_against_a(OPTIONS), 6, {}, None, False)
    assert told.value.lines() == [
        "the Docker engine does not answer",
        "no socket; 3 of 18 runs are saved",
        "try: make doctor; then the same command again (it goes on from there)",
    ]


def test_a_calibration_without_a_good_pair_leaves_what_is_known(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    empty = SimpleNamespace(manifest=SimpleNamespace(matrix=None), records=list, path=tmp_path)
    monkeypatch.setattr(calibrate, "need_images", lambda _: None)
    monkeypatch.setattr(calibrate, "run_experiment", lambda *_: empty)
    with pytest.raises(SandboxError, match="0 pairs of the calibration were any good") as refused:
        calibrate.run(OPTIONS)
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert not calibration_path().exists()
