"""What is known of a host's own noise: begun by a calibration, grown by canaries, per kind of run."""

from sandbox.results.calibration import MOST_KEPT, Calibration, kind_of_run
from sandbox.results.statistics.verdict import spread

KIND = kind_of_run("AMD EPYC, 2 cores", "oltp_read_only", 10)


def test_a_calibration_gives_the_noise_of_its_kind_alone() -> None:
    known = Calibration().calibrated(KIND, {"tps": [0.1, -0.1, 0.05]})
    assert known.sds(KIND) == {"tps": spread([0.1, -0.1, 0.05])}
    assert known.sds(kind_of_run("AMD EPYC, 2 cores", "oltp_read_only", 5)) is None


def test_a_canary_adds_to_a_calibration_and_begins_none() -> None:
    assert Calibration().grown(KIND, {"tps": [0.1]}) == Calibration()
    known = Calibration().calibrated(KIND, {"tps": [0.1, -0.1], "qps": [0.2]})
    grown = known.grown(KIND, {"tps": [0.3]})
    assert grown.known[KIND] == {"tps": [0.1, -0.1, 0.3], "qps": [0.2]}


def test_the_oldest_go_first() -> None:
    known = Calibration().calibrated(KIND, {"tps": [float(i) for i in range(MOST_KEPT)]})
    assert known.grown(KIND, {"tps": [-1.0]}).known[KIND]["tps"][:1] == [1.0]


def test_calibrated_anew_the_old_is_forgotten() -> None:
    known = Calibration().calibrated(KIND, {"tps": [1.0]}).calibrated(KIND, {"tps": [2.0]})
    assert known.known[KIND] == {"tps": [2.0]}
    assert Calibration.model_validate_json(known.model_dump_json()) == known


def test_a_metric_that_the_runs_do_not_have_is_not_taken_for_free_of_noise() -> None:
    assert Calibration().calibrated(KIND, {"tps": [0.1, -0.1], "latency_p99_ms": []}).sds(KIND) == {
        "tps": spread([0.1, -0.1])
    }
