"""A calibration is a matrix of one cell and itself; what it finds is kept for later verdicts."""

from pathlib import Path

import pytest

from sandbox.cli.commands import calibrate
from sandbox.core.errors import ExitCode, SandboxError
from sandbox.judge.calibration import Calibration
from sandbox.matrix.calibrate import a_against_a
from sandbox.matrix.resolved import schedule
from sandbox.measure.machine import calibration_path, change_calibration, read_calibration
from unit.matrix.resolved import resolved

LOAD = ("oltp_read_only", 8, 5, 1, 24)


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


def test_each_block_is_a_pair_of_the_same_in_random_order() -> None:
    runs = schedule(resolved(a_against_a("mysql@9.7", *LOAD)), 24, 7)
    pairs = [tuple(run.cell for run in runs[i : i + 2]) for i in range(0, 48, 2)]
    assert len(runs) == 48 and {frozenset(pair) for pair in pairs} == {
        frozenset(("variant-A", "canary"))
    }
    assert len(set(pairs)) == 2, "the order never changed"
    assert len({run.of.name for run in runs}) == 1


def test_what_was_found_is_kept_for_every_checkout() -> None:
    assert read_calibration() == Calibration()
    change_calibration(lambda known: known.calibrated("kind", {"tps": [0.1, 0.2]}))
    change_calibration(lambda known: known.grown("kind", {"tps": [0.3]}))
    assert read_calibration().known == {"kind": {"tps": [0.1, 0.2, 0.3]}}


def test_a_broken_cache_is_no_calibration() -> None:
    calibration_path().parent.mkdir(parents=True)
    calibration_path().write_text("{")
    assert read_calibration() == Calibration()


def test_a_mistyped_profile_is_refused_as_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate, "run_resolved", lambda *_: pytest.fail("it began"))
    with pytest.raises(SandboxError, match="unknown term 'mysqll") as refused:
        calibrate.run(a_against_a("mysqll@9.7", *LOAD), as_json=False)
    assert refused.value.exit_code is ExitCode.BAD_INPUT
