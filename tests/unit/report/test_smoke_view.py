"""The comment on a pull request, word for word."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from sandbox.plan.smoke import METRICS
from sandbox.report.smoke_data import smoke_data
from sandbox.report.smoke_sentence import sentence
from sandbox.report.smoke_told import SmokeTold
from sandbox.report.smoke_view import smoke_markdown
from sandbox.results.record import Record
from unit.report.smoke_samples import look, records, told
from unit.results.samples import sample_record

GOLDEN = Path(__file__).parents[2] / "golden" / "smoke"
CRASHED = [
    record.model_copy(update={"status": "infra_error", "reason": "died during the run: mysql1: exited (139)"})
    if (record.cell, record.block) == ("arm-head", 1)
    else record
    for record in records({"arm-base": 1, "arm-head": 1, "canary": 1}, 1)
    if record.block < 2
]
SAMPLES: dict[str, SmokeTold] = {
    "no-regression": told(look()),
    "worse": told(look(head=0.55), look(head=0.54, seed=2)),
    "not-confirmed": told(look(head=0.9), look(seed=2)),
    "too-noisy": told(look(head=0.95, sd=0.05, seed=3)),
    "environment": told(look(left=CRASHED), log=["mysqld got signal 11 ;", "Segmentation fault"]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_the_comment_is_the_golden_one(name: str) -> None:
    """After a wanted change: ``python tests/unit/report/test_smoke_view.py`` writes the files anew."""
    assert smoke_markdown(SAMPLES[name]) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "outcome", "code"),
    [("no-regression", "no regression", 0), ("worse", "worse", 1), ("not-confirmed", "no regression", 0),
     ("too-noisy", "undecided", 3), ("environment", "environment", 4)],
)  # fmt: skip
def test_the_data_says_the_same(name: str, outcome: str, code: int) -> None:
    data = json.loads(json.dumps(smoke_data(SAMPLES[name])))
    assert (data["outcome"], data["exit_code"]) == (outcome, code)
    assert data["reason"] == sentence(SAMPLES[name])
    assert data["sides"]["head"]["image_source"] == "built"
    first = data["looks"][0]
    assert first["seed"] and first["blocks"] == 8
    if name != "environment":
        assert {each["metric"] for each in first["verdicts"]} == set(METRICS)
        assert all(each["margin"] >= 0.05 and each["detectable"] is not None for each in first["verdicts"])


def test_the_block_that_is_thrown_away_is_in_no_figure() -> None:
    """It does half of what the others do."""
    text = smoke_markdown(SAMPLES["no-regression"])
    row = next(line for line in text.splitlines() if line.startswith("| tps |"))
    assert " 8 |" in row and "| 1,00" in row


def test_a_head_that_is_better_is_said_to_be() -> None:
    assert sentence(told(look(head=1.5))).startswith("The head is better by tps (+")


def test_a_canary_that_differs_is_told() -> None:
    assert sentence(told(look(canary=0.8))).startswith("Unfit: the base differs from itself")


def jumping(record: Record) -> Sequence[float]:
    """Five seconds of each slice, between which the machine of the base becomes half as fast again."""
    around = np.random.default_rng(record.block).normal(1000, 20, 5)
    return list(around * (1.5 if record.cell == "arm-base" and record.block >= 6 else 1))


def test_a_base_that_jumped_is_told_with_its_jump() -> None:
    unsteady = told(look(series=jumping))
    assert unsteady.outcome == "undecided"
    assert sentence(unsteady) == (
        "Not steady: base (tps, of its mean: +41% from block 6 on). "
        "This is no regression that was seen, and no absence of one."
    )
    found = smoke_data(unsteady)["looks"][0]["unsteady"]["arm-base"]
    assert [(each["kind"], each["block"]) for each in found] == [("drift", 1), ("step", 6)]


def test_a_regression_that_may_not_be_called_one_is_not_said_to_be_unseen() -> None:
    hidden = told(look(head=0.5, series=jumping))
    assert hidden.outcome == "undecided", "figures alone decide nothing"
    text = sentence(hidden)
    assert text.endswith("The figures alone would be worse by tps (-49.6%), latency_p95_ms (+98.5%): measure again.")
    assert "no regression that was seen" not in text


def test_fewer_blocks_than_planned_are_told_with_the_run_that_failed() -> None:
    left = [
        record.model_copy(update={"status": "failed", "reason": "setting not in effect"})
        if (record.cell, record.block) == ("arm-head", 4)
        else record
        for record in records({"arm-base": 1, "arm-head": 0.5, "canary": 1}, 1)
    ]
    short = told(look(left=left))
    assert short.outcome == "undecided", "however worse the rest is"
    assert "Fewer blocks than the 8" in sentence(short)
    assert "- arm-head, block 4: failed: setting not in effect" in smoke_markdown(short)


def test_a_load_without_rows_is_told_by_its_options() -> None:
    load = sample_record().workload.model_copy(
        update={"name": "tpcc", "tables": None, "rows_per_table": None, "options": {"warehouses": 2, "items": 1000}}
    )
    left = records({"arm-base": 1, "arm-head": 1, "canary": 1}, 1, workload=load)
    assert "- load: tpcc, 8 threads, items=1000 warehouses=2; host: Test CPU" in smoke_markdown(told(look(left=left)))


def test_a_head_that_refuses_everything_is_said_to_have_failed() -> None:
    left = [
        record.model_copy(update={"status": "failed", "reason": "SET is not in effect: mysql1: x is 1, not 2"})
        if record.cell == "arm-head"
        else record
        for record in records({"arm-base": 1, "arm-head": 1, "canary": 1}, 1)
    ]
    refused = told(look(left=left))
    assert refused.outcome == "undecided", "no trouble of the environment, and no regression that was measured"
    assert "came out good (arm-head: SET is not in effect: mysql1: x is 1, not 2)." in sentence(refused)
    assert "| failed |" in smoke_markdown(refused)


if __name__ == "__main__":
    for golden, sample in SAMPLES.items():
        (GOLDEN / f"{golden}.md").write_text(smoke_markdown(sample), encoding="utf-8")
