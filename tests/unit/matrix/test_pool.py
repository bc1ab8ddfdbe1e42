"""The stacks of a matrix: what they start from, when one is broken, and that none is left."""

from contextlib import nullcontext
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from sandbox.core.errors import MachineError
from sandbox.matrix import stack_pool
from sandbox.matrix.dataset import Dataset, DatasetMaker, dataset_of
from sandbox.matrix.resolved import StackSpec
from sandbox.matrix.stack_pool import StackPool, StackStarter, is_broken
from sandbox.measure.run_checks import Condition, condition_met, verdict
from sandbox.profile.plan import PlanRequest
from sandbox.record.record import CheckRecord
from sandbox.stack.engine import Docker
from sandbox.stack.planning import offline_plan
from sandbox.stack.protocol import RunningStack
from sandbox.stack.up import UpOptions
from unit.matrix.small_matrix import Engine
from unit.record.samples import sample_record


def stack(name: str, profile: str) -> StackSpec:
    """A stack without loads."""
    request = PlanRequest(profile)
    plan = offline_plan(request)
    return StackSpec(name, request, plan, dataset_of(plan, [], offline_plan))


OLD, NEW, POOLED = (
    stack("variant1", "mysql@5.6"),
    stack("variant2", "mysql@9.7"),
    stack("variant3", "mysql@9.7+haproxy"),
)


class MakerWithAll(DatasetMaker):
    """Finds all data there already."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        super().__init__(
            "data", lambda _: None, self.notes.append, lambda: nullcontext(lambda _: None), Docker()
        )

    def _ensure(self, dataset: Dataset) -> None:
        """It is there."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> dict[str, UpOptions]:
    """How each stack was started, by its profile; no engine is asked."""
    seen: dict[str, UpOptions] = {}

    def up(plan: Any, options: UpOptions, *_: Any) -> Any:
        seen[plan.request.profile] = options
        return SimpleNamespace(stack=None)

    monkeypatch.setattr(stack_pool, "up", up)
    monkeypatch.setattr(stack_pool, "usable_base_directories", lambda *_: None)
    return seen


def starter() -> StackStarter:
    """One that shows nothing."""
    return StackStarter(lambda: nullcontext(lambda _: None), Docker())


def test_a_stack_that_cannot_be_restored_leaves_the_others_their_data(
    started: dict[str, UpOptions],
) -> None:
    assert [each.name for each in (OLD, NEW, POOLED) if each.dataset] == ["variant2", "variant3"]
    stacks, maker = starter(), MakerWithAll()
    stacks.begin_alike([OLD, NEW, POOLED], maker)
    for each in (OLD, NEW, POOLED):
        stacks.up("x", each)
    keys = {profile: options.snapshot_key for profile, options in started.items()}
    assert (
        NEW.dataset and keys[NEW.request.profile] == keys[POOLED.request.profile] == NEW.dataset.key
    )
    assert keys[OLD.request.profile] is None and not started[OLD.request.profile].restore
    assert maker.notes == [
        "cannot be restored, so started from scratch with its own data: mysql@5.6"
    ]


def test_where_all_can_be_restored_nothing_is_said(started: dict[str, UpOptions]) -> None:
    maker = MakerWithAll()
    starter().begin_alike([NEW], maker)
    assert not maker.notes and not started


@dataclass
class Clinging(Engine):
    """The first so many removals of a stack that was brought up fail."""

    failing: int = 1
    here: set[str] = field(default_factory=set)

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        assert name not in self.here, "what is left of it would be taken for the new one"
        self.here.add(name)
        return super().up(name, request)

    def down(self, name: str) -> None:
        super().down(name)
        if name in self.here and self.failing:
            self.failing -= 1
            raise MachineError(
                f"parts of the stack '{name}' cannot be removed", "x", "try: make down"
            )
        self.here.discard(name)


def pool_of(engine: Engine) -> StackPool:
    """Two stacks."""
    return StackPool(
        "m", dict.fromkeys(("one", "two"), PlanRequest("mysql@9.7")), engine.up, engine.down
    )


def test_a_stack_that_could_not_be_removed_is_removed_before_the_next_start_and_at_the_end() -> (
    None
):
    engine = Clinging(failing=3)
    stacks = pool_of(engine)
    first = stacks.ready("one")
    for use in (stacks.discard, stacks.ready):
        with pytest.raises(MachineError, match="cannot be removed"):
            use("one")
    with pytest.raises(MachineError, match="cannot be removed"):
        stacks.discard_all()
    assert stacks.ready("one") is not first and engine.here == {"m-one"}
    engine.failing = 1
    with pytest.raises(MachineError, match="cannot be removed"):
        stacks.discard("one")
    stacks.discard_all()
    assert not engine.here


def test_a_failed_start_that_could_not_be_removed_is_removed_at_the_end() -> None:
    engine = Clinging(broken={"m-one"})
    stacks = pool_of(engine)
    with pytest.raises(MachineError, match="cannot be removed"):
        stacks.ready("one")
    stacks.discard_all()
    assert not engine.here


def test_only_failed_starts_in_a_row_give_a_stack_up() -> None:
    engine = Engine()
    stacks = pool_of(engine)
    for _ in range(3):
        engine.broken = {"m-one"}
        with pytest.raises(MachineError, match="is not ready"):
            stacks.ready("one")
        engine.broken = set()
        assert stacks.ready("one")
        stacks.discard("one")
    engine.broken = {"m-one"}
    for _ in range(5):
        with pytest.raises(MachineError, match="is not ready"):
            stacks.ready("one")
    assert engine.done.count("up m-one") == 3 * 2 + 3


SHARED = Condition(status="Threads_connected", below_share_of_threads=0.5, because="not shared")
GREW = Condition(
    status="Com_stmt_execute", take="increase", at_most=0, because="prepared statements were used"
)


def test_samples_meet_a_condition_or_say_what_they_are() -> None:
    met = condition_met(SHARED, 64, {"a": [1, 20, 90], "b": [2, 3, 4]}, ["a", "b"])
    assert (met.name, met.verdict) == ("condition_Threads_connected", "pass")
    assert "is 23 (median), must be less than 32" in met.detail
    unmet = condition_met(SHARED, 64, {"a": [67, 67, 3]}, ["a"])
    assert unmet.verdict == "fail" and unmet.detail.startswith(
        "not shared: Threads_connected is 67 (median)"
    )
    assert condition_met(GREW, 1, {"a": [7, 7]}, ["a"]).verdict == "pass"
    assert condition_met(GREW, 1, {"a": [7, 8]}, ["a"]).verdict == "fail"


@pytest.mark.parametrize("samples", [{}, {"a": []}, {"a": [1.0]}])
def test_what_was_not_sampled_is_not_proved(samples: dict[str, list[float]]) -> None:
    check = condition_met(SHARED, 64, samples, ["a", "b"])
    assert check.verdict == "fail" and "no sample of" in check.detail


def check(name: str, verdict_of_it: str) -> CheckRecord:
    """One check."""
    return CheckRecord.model_validate(
        {"name": name, "verdict": verdict_of_it, "detail": f"about {name}"}
    )


def test_an_unmet_condition_is_infra_error_unless_something_worse_explains_it() -> None:
    unmet = check("condition_Threads_connected", "fail")
    assert verdict(None, [unmet]) == ("infra_error", "about condition_Threads_connected")
    assert verdict("it broke", [unmet]) == ("failed", "it broke")
    assert verdict(None, [unmet, check("load_reached_server", "fail")])[0] == "failed"
    assert verdict(None, [unmet, check("nodes_alive", "fail")]) == (
        "infra_error",
        "about nodes_alive",
    )


def test_a_stack_is_started_anew_unless_all_its_nodes_lived() -> None:
    lost = sample_record(status="infra_error", reason="x", checks=[check("nodes_alive", "fail")])
    unmet = sample_record(status="infra_error", reason="x", checks=[check("nodes_alive", "pass")])
    unasked = sample_record(status="infra_error", reason="x", checks=[])
    assert [is_broken(each) for each in (lost, unmet, unasked, sample_record())] == [
        True,
        False,
        True,
        False,
    ]
