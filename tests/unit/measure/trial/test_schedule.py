"""Schedules: lengths of time as text, steps and profiles read with what is wrong in them, steps
drawn from a seed.
"""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.action import ACTION_KINDS
from sandbox.measure.trial.scenario import (
    FaultProfile,
    named_profile,
    read_profile,
    scenario_of,
    schedule_names,
)
from sandbox.measure.trial.schedule import (
    LONGEST_S,
    RandomSteps,
    Schedule,
    Step,
    length,
    seconds,
    span,
)

GOOD = """\
title: T
steps:
  - {at: 10s, fault: partition, target: writer, for: 20s, away_from: proxies}
  - at: 1m
    fault: hang
    for: 500ms
"""
DRAWN = """\
title: T
random:
  faults: [hang, reset]
  targets: [writer, one-reader]
  count: 3
  every: 20s..40s
  for: 5s..15s
"""


def write(tmp_path: Path, text: str, name: str = "mine") -> Path:
    """A fault profile."""
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "expected"),
    [("10s", 10.0), ("500ms", 0.5), ("2m", 120.0), ("1.5s", 1.5), ("0.5m", 30.0), ("2 m", 120.0)],
)
def test_a_length_of_time_has_a_unit(text: str, expected: float) -> None:
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["10", "s", "-1s", "1h", "10s.", "", 10, None, "0.0001s", "0.5ms"])
def test_any_other_text_is_refused_with_what_is_allowed(text: object) -> None:
    with pytest.raises(ValueError, match="such as 500ms, 10s or 2m is expected"):
        seconds(text)


@given(st.integers(0, 10_000_000))
def test_a_length_reads_back_as_it_was_written(ms: int) -> None:
    assert seconds(length(ms / 1000)) == ms / 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [("20s..40s", (20.0, 40.0)), ("3s", (3.0, 3.0)), ("500ms..2m", (0.5, 120))],
)
def test_a_span_has_two_ends(text: str, expected: tuple[float, float]) -> None:
    assert span(text) == expected


@pytest.mark.parametrize(
    ("text", "known"),
    [("40s..20s", "the shorter one comes first"), ("1s..", "is expected"), (3, "is")],
)
def test_a_span_that_is_none_is_refused(text: object, known: str) -> None:
    with pytest.raises(ValueError, match=known):
        span(text)


def test_a_profile_is_read_with_the_options_beside_the_other_keys(tmp_path: Path) -> None:
    assert read_profile(write(tmp_path, GOOD)).schedule() == Schedule(
        steps=[
            Step(at_s=10, fault="partition", for_s=20, options={"away_from": "proxies"}),
            Step(at_s=60, fault="hang", target="writer", for_s=0.5),
        ]
    )


def test_null_is_as_if_not_given(tmp_path: Path) -> None:
    path = write(tmp_path, GOOD.replace("for: 500ms", "for: null\n    what: null"))
    assert read_profile(path).schedule().steps[1] == Step(at_s=60, fault="hang")


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("title: T", "titel: T", 1, "titel: there is no such key; did you mean 'title'?"),
        ("title: T\n", "", 1, "title: field required"),
        (
            "fault: hang",
            "action: promoet",
            5,
            "steps.1.action: there is no action 'promoet'; did you mean 'promote'?",
        ),
        (
            "fault: hang",
            "action: promote",
            6,
            "steps.1.for: an action has no length: it ends when it is done",
        ),
        (
            "fault: hang\n    for: 500ms",
            "action: promote\n    aftr_s: 1",
            6,
            "aftr_s: the action promote has no option",
        ),
        (
            "fault: hang\n    for: 500ms",
            "action: promote\n    after_s: 99",
            6,
            "after_s: after_s=99 is not valid",
        ),
        (
            "fault: hang",
            "fault: hang\n    action: promote",
            4,
            "steps.1: a step is either a fault or an action",
        ),
        ("    fault: hang\n", "", 4, "steps.1: a step is either a fault or an action: which one?"),
        (
            "target: writer",
            "target: same",
            3,
            "steps.0.target: there is no step before it whose nodes are the same",
        ),
        (
            "fault: hang",
            "fault: hnag",
            5,
            "steps.1.fault: there is no fault 'hnag'; did you mean 'hang'?",
        ),
        (
            "for: 500ms",
            "what: nothing",
            6,
            "steps.1.what: what=nothing is not valid for the fault hang; ",
        ),
        (
            "for: 500ms",
            "waht: server",
            6,
            "steps.1.waht: the fault hang has no option 'waht'; did you mean 'what'?",
        ),
        (
            "for: 500ms",
            "for: 500",
            6,
            "steps.1.for: a length of time such as 500ms, 10s or 2m is expected",
        ),
        ("for: 500ms", "for: 0s", 6, "steps.1.for: input should be greater than 0"),
        ("for: 500ms", "for: 60m", 6, "steps.1.for: it ends after 60m, the longest schedule"),
        ("at: 1m", "at: 61m", 4, "steps.1.at: at most 3600.0 is expected"),
        ("at: 1m\n    ", "", 4, "steps.1.at: field required"),
        ("at: 1m", "at: [1]", 4, "steps.1.at: a length of time"),
        ("away_from: proxies", "away_from: {a: b}", 3, "steps.0.options.away_from"),
        ("fault: hang", "fault: partition\n    at: 15s", 6, "the key 'at' appears twice"),
        (
            "at: 1m\n    fault: hang",
            "at: 29s\n    fault: partition",
            4,
            "partition of writer at 29s overlaps with the one at 10s",
        ),
        ("title: T", "title: [", 3, "expected"),
        (
            "  - at: 1m\n    fault: hang\n    for: 500ms",
            "  - hang",
            4,
            "steps.1: a step is a mapping: at, fault or action, target, for",
        ),
        (
            "title: T",
            "title: T\nrandom: {faults: [hang], count: 1, every: 9s, for: 1s}",
            1,
            "it has either steps or random",
        ),
    ],
)
def test_what_is_wrong_is_reported_with_file_and_line(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in GOOD
    path = write(tmp_path, GOOD.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        read_profile(path)
    assert refused.value.what == f"{path}:{line} is not a valid fault profile", refused.value.known
    assert message in refused.value.known
    assert refused.value.next_step == f"try: make trial FAULT={path.stem}   (after fixing the file)"
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        (
            "hang, reset",
            "hang, rest",
            3,
            "random.faults: there is no fault 'rest'; did you mean 'reset'?",
        ),
        ("hang, reset", "sql", 3, "random.faults: the fault sql needs statement"),
        ("count: 3", "cuont: 3", 5, "random.cuont: there is no such key; did you mean 'count'?"),
        ("count: 3", "count: 101", 5, "random.count: at most 100 is expected"),
        ("20s..40s", "40s..20s", 6, "random.every: 40s..20s: the shorter one comes first"),
        (
            "5s..15s",
            "5s..25s",
            2,
            "random: for is at most 20s: each is healed before the next one begins",
        ),
        ("5s..15s", "0s..15s", 2, "random: every and for are longer than nothing"),
        ("count: 3", "count: 90", 2, "random: count × every exceeds 60m, the longest schedule"),
        (DRAWN, "- a\n", 1, "a fault profile is a mapping: title, and steps or random"),
        (DRAWN, "", 1, "a fault profile is a mapping"),
        (DRAWN, "title: T\n", 1, "it has either steps or random"),
    ],
)
def test_what_is_wrong_with_a_draw_is_reported_likewise(
    tmp_path: Path, old: str, new: str, line: int, message: str
) -> None:
    assert old in DRAWN
    path = write(tmp_path, DRAWN.replace(old, new))
    with pytest.raises(SandboxError) as refused:
        read_profile(path)
    assert refused.value.what == f"{path}:{line} is not a valid fault profile", refused.value.known
    assert message in refused.value.known


def test_a_file_that_cannot_be_read_is_no_profile(tmp_path: Path) -> None:
    with pytest.raises(SandboxError, match="cannot be read"):
        read_profile(tmp_path / "none.yaml")


@st.composite
def spans(draw: st.DrawFn, low_ms: int, high_ms: int) -> str:
    low = draw(st.integers(low_ms, high_ms))
    return f"{length(low / 1000)}..{length(draw(st.integers(low, high_ms)) / 1000)}"


@given(
    st.lists(st.sampled_from(["hang", "reset", "server-crash"]), min_size=1, max_size=3),
    st.lists(st.sampled_from(["writer", "one-reader"]), min_size=1, max_size=2),
    st.integers(1, 30), spans(10_000, 100_000), spans(1, 10_000), st.integers(0, 2**40),
)  # fmt: skip
def test_what_is_drawn_is_valid_and_the_same_for_the_same_seed(
    faults: list[str], targets: list[str], count: int, every: str, lasting: str, seed: int
) -> None:
    given_: dict[str, Any] = {
        "faults": faults,
        "targets": targets,
        "count": count,
        "every": every,
        "for": lasting,
    }
    steps = RandomSteps.model_validate(given_)
    drawn = steps.drawn(seed)
    assert drawn == steps.drawn(seed) and len(drawn.steps) == count
    began_s = 0.0
    for step in drawn.steps:
        assert (
            step.fault in faults
            and step.target in targets
            and step.for_s is not None
            and step.end_s is not None
        )
        assert span(every)[0] - 1e-6 <= step.at_s - began_s <= span(every)[1] + 1e-6
        assert span(lasting)[0] <= step.for_s <= span(lasting)[1]
        began_s = step.at_s
    ends = [step.end_s or 0 for step in drawn.steps]
    assert all(end <= step.at_s + 1e-6 for end, step in zip(ends, drawn.steps[1:], strict=False)), (
        "one at a time"
    )
    assert ends[-1] <= LONGEST_S + 1e-6


def test_another_seed_draws_another_schedule(tmp_path: Path) -> None:
    profile = read_profile(write(tmp_path, DRAWN))
    assert len({profile.schedule(seed).model_dump_json() for seed in range(20)}) == 20
    assert {step.fault for seed in range(20) for step in profile.schedule(seed).steps} == {
        "hang",
        "reset",
    }


@pytest.mark.parametrize("target", ["writer", "same"])
def test_a_fault_that_ends_what_another_one_has_ended_waits_for_its_heal(target: str) -> None:
    """The heal of disk-full starts the node again, 10 s before that of host-loss."""
    full, lost = (
        Step(at_s=10, for_s=20, fault="disk-full"),
        Step(at_s=20, for_s=20, target=target, fault="host-loss"),
    )
    with pytest.raises(
        ValidationError, match=f"host-loss of {target} at 20s overlaps with disk-full at 10s"
    ):
        Schedule(steps=[full, lost])
    assert Schedule(steps=[full, lost.model_copy(update={"fault": "hang"})]).steps
    assert Schedule(steps=[full, lost.model_copy(update={"at_s": 30.0})]).steps


@pytest.mark.parametrize(
    ("steps", "overlap"),
    [
        ([(10, 5, "writer"), (15, 5, "writer")], False),
        ([(10, 5.001, "writer"), (15, 5, "writer")], True),
        ([(15, 5, "writer"), (10, 6, "writer")], True),
        ([(10, None, "writer"), (100, 5, "writer")], True),
        ([(10, 5, "writer"), (100, None, "writer")], False),
        ([(10, 5, "writer"), (10, 5, "one-reader")], False),
        ([(0.1, 0.2, "writer"), (0.3, 1, "writer")], False),
    ],
)
def test_a_target_is_healed_before_the_same_fault_hits_it_again(
    steps: list[tuple[float, float | None, str]], overlap: bool
) -> None:
    made = [
        Step(at_s=at_s, for_s=for_s, target=target, fault="hang") for at_s, for_s, target in steps
    ]
    if overlap:
        with pytest.raises(ValidationError, match="overlaps with the one at"):
            Schedule(steps=made)
    else:
        assert Schedule(steps=made).steps == made


def test_actions_are_steps_with_options_and_may_overlap(tmp_path: Path) -> None:
    text = """\
title: T
steps:
  - {at: 12s, action: promote, after_s: 3}
  - {at: 10s, fault: partition, away_from: servers}
  - {at: 12s, action: promote, after_s: 3}
  - {at: 11s, fault: server-crash, target: same, for: 5s}
"""
    schedule = read_profile(write(tmp_path, text)).schedule()
    promote = Step(at_s=12, action="promote", options={"after_s": 3})
    assert schedule.steps[0] == schedule.steps[2] == promote
    assert (promote.name, promote.fault, promote.target, promote.end_s) == (
        "promote",
        None,
        "writer",
        None,
    )
    assert [step.name for step in schedule.in_time()] == [
        "partition",
        "server-crash",
        "promote",
        "promote",
    ]


def test_a_shipped_schedule_promotes_and_rejoins() -> None:
    steps = named_profile("promotion").steps
    assert [(step.at_s, step.name) for step in steps] == [
        (10, "server-crash"),
        (10.5, "promote"),
        (30, "rejoin"),
    ]
    assert steps[1].options == {"after_s": 1} and steps[0].for_s is None


def test_a_profile_is_found_by_its_name(tmp_path: Path) -> None:
    write(tmp_path, GOOD)
    write(tmp_path, DRAWN, "drawn")
    assert schedule_names([tmp_path]) == ["drawn", "mine"]
    assert named_profile("mine", [tmp_path]) == FaultProfile.model_validate({
        "title": "T",
        "steps": [
            {"at": "10s", "fault": "partition", "for": "20s", "away_from": "proxies"},
            {"at": "1m", "fault": "hang", "for": "500ms"},
        ],
    })  # fmt: skip
    with pytest.raises(SandboxError) as refused:
        named_profile("mien", [tmp_path])
    assert (
        refused.value.known == "did you mean 'mine'?"
        and refused.value.exit_code is ExitCode.BAD_INPUT
    )


def test_names_of_faults_and_profiles_and_steps_make_one_schedule(tmp_path: Path) -> None:
    write(tmp_path, "title: T\nsteps:\n  - {at: 5s, fault: hang, for: 3s}\n", "hang")
    named = scenario_of(
        ["hang", "unplug", {"at": "30s", "fault": "hang", "what": "server"}], folders=[tmp_path]
    )
    assert named.schedule().steps == [
        Step(at_s=5, fault="hang", for_s=3),
        Step(at_s=10, fault="unplug"),
        Step(at_s=30, fault="hang", options={"what": "server"}),
    ]


def test_what_is_only_named_hits_the_target(tmp_path: Path) -> None:
    write(tmp_path, "title: T\nsteps:\n  - {at: 5s, fault: hang, for: 3s}\n", "hang")
    scenario = scenario_of(
        ["hang", "unplug", {"at": "30s", "fault": "hang"}], "proxy", folders=[tmp_path]
    )
    steps = scenario.schedule().steps
    assert [step.target for step in steps] == ["proxy", "proxy", "writer"] and steps[0].for_s == 3


def test_a_name_with_a_target_of_its_own_hits_that(tmp_path: Path) -> None:
    write(tmp_path, "title: T\nsteps:\n  - {at: 5s, fault: hang, for: 3s}\n", "hang")
    aimed = [{"named": "hang", "target": "proxy"}, {"named": "reset", "target": "all"}]
    steps = scenario_of([*aimed, "unplug"], "one-reader", folders=[tmp_path]).schedule().steps
    assert [(step.at_s, step.target) for step in steps] == [
        (5, "proxy"),
        (10, "all"),
        (10, "one-reader"),
    ]


@pytest.mark.parametrize(
    "name", [name for name in ACTION_KINDS.names() if name != "rolling-upgrade"]
)
def test_every_action_may_be_only_named(name: str, tmp_path: Path) -> None:
    assert scenario_of([name], "one-reader", [tmp_path]).schedule().steps == [
        Step(at_s=10, action=name, target="one-reader")
    ]


def test_each_seed_draws_steps_of_its_own_from_what_was_read_once(tmp_path: Path) -> None:
    path = write(tmp_path, DRAWN, "drawn")
    scenario, profile = (
        scenario_of(["drawn", {"at": "60m", "fault": "unplug"}], folders=[tmp_path]),
        read_profile(path),
    )
    path.unlink()
    for seed in (1, 7):
        assert scenario.schedule(seed).steps == [
            *profile.schedule(seed).steps,
            Step(at_s=3600, fault="unplug"),
        ]


def test_the_target_of_random_steps_is_replaced_where_they_have_one(tmp_path: Path) -> None:
    write(tmp_path, DRAWN.replace("targets: [writer, one-reader]", "targets: [writer]"), "one")
    write(tmp_path, DRAWN, "several")
    assert {
        step.target for step in scenario_of(["one"], "proxy", [tmp_path]).schedule(3).steps
    } == {"proxy"}
    with pytest.raises(SandboxError, match="several takes no target"):
        scenario_of(["several"], "proxy", [tmp_path])


@pytest.mark.parametrize(
    ("faults", "target", "what", "known"),
    [
        (["mien"], None, "there is no fault 'mien'", "did you mean 'mine'?"),
        (["sql"], None, "the fault sql needs statement", "what breaks it"),
        (["rolling-upgrade"], None, "the action rolling-upgrade needs to", "version to upgrade to"),
        (["rejion"], None, "there is no fault 'rejion'", "did you mean 'rejoin'?"),
        (
            ["mine"],
            "proxy",
            "the fault profile mine takes no target",
            "it has several of its own: one-reader, writer",
        ),
        ([], None, "these faults are no schedule: steps", "at least 1 item"),
        (
            ["hang", "hang"],
            None,
            "these faults are no schedule: steps.1",
            "hang of writer at 10s overlaps",
        ),
        (
            [{"at": 3, "fault": "hang"}],
            None,
            "these faults are no schedule: steps.0.at",
            "a length of time such as",
        ),
        (
            [{"at": "3s", "fault": "hang", "x": 1}],
            None,
            "these faults are no schedule: steps.0.x",
            "no option 'x'",
        ),
    ],
)
def test_names_that_make_no_schedule_are_refused(
    tmp_path: Path, faults: list[str | dict[str, Any]], target: str | None, what: str, known: str
) -> None:
    text = (
        "title: T\nsteps:\n  - {at: 1s, fault: hang, for: 1s}\n  - {at: 5s, fault: hang, target:"
        " one-reader}\n"
    )
    write(tmp_path, text)
    with pytest.raises(SandboxError) as refused:
        scenario_of(faults, target, folders=[tmp_path])
    assert refused.value.what == what and known in refused.value.known
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3
