"""The comment on a pull request, word for word."""

import json
import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from sandbox.judge.gate import BLOCKS, LARGEST_MARGIN
from sandbox.matrix.smoke import SMOKE_METRICS
from sandbox.record.record import Record
from sandbox.report.render import markdown
from sandbox.report.smoke import SmokeReport, sentence, smoke_data, smoke_document
from unit.record.samples import sample_record
from unit.report.smoke_samples import look, records, report_of

GOLDEN = Path(__file__).parents[2] / "golden" / "smoke"
CRASHED = [
    (
        record.model_copy(
            update={"status": "infra_error", "reason": "died during the run: mysql1: exited (139)"}
        )
        if (record.cell, record.block) == ("variant-head", 1)
        else record
    )
    for record in records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1)
    if record.block < 2
]

SAMPLES: dict[str, SmokeReport] = {
    "no-regression": report_of(look()),
    "worse": report_of(look(head=0.55), look(head=0.54, seed=2)),
    "not-confirmed": report_of(look(head=0.9), look(seed=2)),
    "inconclusive": report_of(look(head=0.96, sd=0.05, seed=3, blocks=16)),
    "environment": report_of(
        look(left=CRASHED), log=["mysqld got signal 11 ;", "Segmentation fault"]
    ),
}


def smoke_markdown(report: SmokeReport) -> str:
    """``smoke.md``, a comment on a pull request."""
    return markdown.text(smoke_document(report), level=2)


def changed(**factors: float) -> list[Record]:
    """Runs in which the head differs from the base by these metrics alone."""
    runs = records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1)
    return [
        _scaled(record, factors) if record.cell == "variant-head" else record for record in runs
    ]


def _scaled(record: Record, factors: Mapping[str, float]) -> Record:
    figures = {
        metric: factor * getattr(record.metrics, metric) for metric, factor in factors.items()
    }
    return record.model_copy(update={"metrics": record.metrics.model_copy(update=figures)})


@pytest.mark.parametrize("name", SAMPLES)
def test_the_course_of_a_sample_can_occur(name: str) -> None:
    """Every suspicion is looked at once more, and only eight inconclusive blocks are followed by
    eight more.
    """
    first, *again = SAMPLES[name].looks
    assert len(again) == (first.look.state == "suspected")
    for each in (first, *again):
        if each.look.blocks > BLOCKS:
            so_far = look(left=[record for record in each.records if record.block <= BLOCKS])
            assert so_far.look.blocks_to_add == each.look.blocks - BLOCKS


@pytest.mark.parametrize("name", SAMPLES)
def test_the_comment_is_the_golden_one(name: str) -> None:
    """After a wanted change: ``python tests/unit/report/test_smoke.py`` writes the files anew."""
    assert smoke_markdown(SAMPLES[name]) == (GOLDEN / f"{name}.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "outcome", "code"),
    [
        ("no-regression", "no regression", 0),
        ("worse", "worse", 1),
        ("not-confirmed", "inconclusive", 3),
        ("inconclusive", "inconclusive", 3),
        ("environment", "environment", 4),
    ],
)
def test_the_data_says_the_same(name: str, outcome: str, code: int) -> None:
    data = json.loads(json.dumps(smoke_data(SAMPLES[name])))
    assert (data["outcome"], data["exit_code"]) == (outcome, code)
    assert data["reason"] == sentence(SAMPLES[name])
    assert data["sides"]["head"]["image_source"] == "built"
    first = data["looks"][0]
    assert first["seed"] and first["blocks"] == (16 if name == "inconclusive" else 8)
    if name != "environment":
        assert [each["metric"] for each in first["findings"]] == list(LARGEST_MARGIN)
        assert {each["metric"] for each in first["verdicts"]} == set(SMOKE_METRICS)
        assert all(
            each["margin"] >= 0.05 and each["detectable"] is not None for each in first["verdicts"]
        )


def test_the_block_that_is_thrown_away_is_in_no_figure() -> None:
    """It does half of what the others do."""
    text = smoke_markdown(SAMPLES["no-regression"])
    row = next(line for line in text.splitlines() if line.startswith("| tps |"))
    assert "| 8 |" in row and "| 994.8 1/s |" in row


def test_medians_have_no_exponent() -> None:
    fast = [
        _scaled(record, {"tps": 12.5})
        for record in records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1)
    ]
    row = next(
        line
        for line in smoke_markdown(report_of(look(left=fast))).splitlines()
        if line.startswith("| tps |")
    )
    assert "| 12,434 1/s |" in row


def test_a_head_that_is_better_is_no_regression_and_shows_by_how_much() -> None:
    text = sentence(report_of(look(head=1.5)))
    assert (
        text.startswith("No regression")
        and "processor time -33." in text
        and "throughput +" in text
    )


def test_a_loss_that_each_look_finds_by_another_metric_is_worse_and_says_where() -> None:
    cost, throughput = changed(server_cpu_ms_per_tx=1.25), changed(tps=0.8)
    text = sentence(report_of(look(left=cost), look(left=throughput, seed=2)))
    assert re.match(
        r"Worse: processor time \+2\S+ \[\S+, \S+\] in the first look; throughput -\S+ \[\S+,"
        r" \S+\] "
        r"in a fresh repetition, on new stacks and with a new seed\. Losses above ",
        text,
    ), text


def test_a_loss_that_the_other_look_rules_out_is_not_confirmed() -> None:
    dearer = changed(server_cpu_ms_per_tx=1.25, tps=1.25)
    text = sentence(report_of(look(left=dearer), look(left=changed(tps=0.8), seed=2)))
    assert "did not confirm it: one look rules out the loss that the other found (" in text


def test_a_canary_that_differs_is_reported() -> None:
    assert sentence(report_of(look(canary=0.8))).startswith(
        "Inconclusive: the base differs from itself"
    )


def test_one_line_says_what_was_found_and_what_would_have_been_caught() -> None:
    text = sentence(SAMPLES["no-regression"])
    assert re.fullmatch(
        r"No regression: losses above 5\.0% of processor time or 4\.8% of throughput are"
        r" excluded \("
        r"processor time \S+% \[\S+%, \S+%\], throughput \S+% \[\S+%, \S+%\]\)\.",
        text,
    ), text
    assert all("\n" not in sentence(each) for each in SAMPLES.values())


def test_a_metric_that_is_too_noisy_to_decide_says_from_where_on_it_would_be_seen() -> None:
    noisy = sentence(report_of(look(sd=0.6, seed=1, blocks=16)))
    assert "throughput is too noisy here: only a loss of " in noisy and noisy.endswith(
        "would have been caught."
    )


def test_what_cannot_be_measured_is_reported_as_such() -> None:
    left = [
        record.model_copy(
            update={"metrics": record.metrics.model_copy(update={"server_cpu_ms_per_tx": None})}
        )
        for record in records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1)
    ]
    assert sentence(report_of(look(left=left))).startswith(
        "Inconclusive: processor time could not be measured ("
    )


def test_fewer_blocks_than_planned_are_reported_with_the_run_that_failed() -> None:
    left = [
        (
            record.model_copy(update={"status": "failed", "reason": "setting not in effect"})
            if (record.cell, record.block) == ("variant-head", 4)
            else record
        )
        for record in records({"variant-base": 1, "variant-head": 0.5, "canary": 1}, 1)
    ]
    short = report_of(look(left=left))
    assert short.outcome == "inconclusive", "however worse the rest is"
    assert "fewer good blocks than the 8 planned: variant-head: setting not in effect" in sentence(
        short
    )
    assert "- variant-head, block 4: failed: setting not in effect" in smoke_markdown(short)


def test_a_load_without_rows_is_reported_by_its_options() -> None:
    load = sample_record().workload.model_copy(
        update={
            "name": "tpcc",
            "tables": None,
            "rows_per_table": None,
            "options": {"warehouses": 2, "items": 1000},
        }
    )
    left = records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1, workload=load)
    assert "- load: tpcc, 8 threads, items=1000 warehouses=2; host: Test CPU" in smoke_markdown(
        report_of(look(left=left))
    )


def test_a_head_that_refuses_everything_is_said_to_have_failed() -> None:
    left = [
        (
            record.model_copy(
                update={"status": "failed", "reason": "SET is not in effect: mysql1: x is 1, not 2"}
            )
            if record.cell == "variant-head"
            else record
        )
        for record in records({"variant-base": 1, "variant-head": 1, "canary": 1}, 1)
    ]
    refused = report_of(look(left=left))
    assert refused.outcome == "inconclusive", (
        "no trouble of the environment, and no regression that was measured"
    )
    assert "planned: variant-head: SET is not in effect: mysql1: x is 1, not 2" in sentence(refused)
    assert "| failed |" in smoke_markdown(refused)


if __name__ == "__main__":
    for golden, sample in SAMPLES.items():
        (GOLDEN / f"{golden}.md").write_text(smoke_markdown(sample), encoding="utf-8")
