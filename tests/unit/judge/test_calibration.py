"""What is known of a host's own noise: begun by a calibration, grown by canaries, per kind of
run.
"""

from sandbox.judge.calibration import (
    MOST_KEPT,
    Calibration,
    kind_of_canary,
    kind_of_run,
    noise_of,
    noted,
)
from sandbox.judge.verdict import spread
from unit.report.made_up_trials import part, trial_record

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


def test_a_trial_neither_has_the_noise_of_benches_nor_adds_to_it() -> None:
    """They have the workload, its length and the host in common, but their latency is a
    prober's under a fault.
    """
    plan, trials = (
        part(calibrated=None),
        [trial_record(cell="canary", block=block) for block in (1, 2)],
    )
    kind = kind_of_run(plan.host_class, trials[0].workload.name, plan.seconds)
    known = Calibration().calibrated(kind, {"tps": [0.1, -0.1], "latency_p95_ms": [0.2, 0.1]})
    assert kind_of_canary(plan, trials) is None and noise_of(plan, trials, known) == {}
    assert noted(plan, trials, {}) == {"calibrated": {}, "calibrated_others": {}}
    earlier = part(
        calibrated={"tps": 0.1}, calibrated_others={trials[0].workload.name: {"tps": 0.1}}
    )
    assert noise_of(earlier, trials, known) == {}
    benches = [each.model_copy(update={"trial": None}) for each in trials]
    assert kind_of_canary(plan, benches) == kind and noise_of(plan, benches, known) != {}
