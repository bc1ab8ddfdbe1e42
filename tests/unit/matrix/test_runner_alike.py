"""Variants of a matrix are held against that of their own baseline, however the matrix was
started.
"""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from sandbox.matrix.definition import Matrix
from sandbox.matrix.resolved import schedule
from sandbox.matrix.selection import select
from sandbox.profile.plan import PlanRequest
from sandbox.stack.protocol import RunningStack
from unit.fake_stack import FakeStack
from unit.matrix.resolved import resolved
from unit.matrix.small_matrix import Engine, records, run, selection


def test_variants_that_differ_in_what_nobody_asked_for_fail(tmp_path: Path) -> None:
    """The fake's servers say innodb_flush_log_at_trx_commit=1 in every variant."""

    class Unlike(Engine):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            stack = FakeStack(name=name, profile=request.profile)
            if name.endswith("variant2"):
                stack.variables["innodb_flush_log_at_trx_commit"] = "2"
            return stack

    name = "innodb_flush_log_at_trx_commit"
    alike = {variant: {name: "1"} for variant in ("variant1", "variant2", "canary")}
    result, _ = run(tmp_path / "alike", Unlike(), blocks=3, planned=alike)
    statuses = {(r.cell.split(".")[0], r.status) for r in records(result)}
    assert statuses == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "failed")}
    failed = next(record for record in records(result) if record.status == "failed")
    assert failed.reason and f"{name} is 2, the baseline has 1" in failed.reason
    asked, _ = run(
        tmp_path / "asked", Unlike(), blocks=3, planned={**alike, "variant2": {name: "2"}}
    )
    assert {record.status for record in records(asked)} == {"ok"}


@dataclass
class Saying(Engine):
    """Servers of some stacks say something else of themselves than the fake's usually do."""

    said: dict[str, dict[str, str]] = field(default_factory=dict)

    def up(self, name: str, request: PlanRequest) -> RunningStack:
        stack = super().up(name, request)
        assert isinstance(stack, FakeStack)
        stack.variables |= self.said.get(name, {})
        return stack


FLUSH = "innodb_flush_log_at_trx_commit"


@pytest.mark.parametrize("seed", range(1, 5))
def test_each_variant_is_held_against_that_of_its_own_baseline(tmp_path: Path, seed: int) -> None:
    """The canary's baseline is of the other pair: what that pair says is nothing to this one."""
    data = selection().matrix.model_dump(exclude_unset=True)
    data["factors"]["pair"] = {"a": {"apart": "a"}, "b": {"apart": "b"}}
    plan = select(Matrix.model_validate(data))
    made = resolved(plan)
    assert made.canary_of.levels["pair"] == "a"
    variant_of = {
        (cell.levels["rewriter"], cell.levels["pair"]): cell.stack for cell in made.cells.values()
    }
    planned = {variant: {FLUSH: "1"} for variant in [*variant_of.values(), "canary"]}
    engine = Saying(said={f"m-{variant_of['off', 'b']}": {FLUSH: "2"}})
    result, _ = run(tmp_path, engine, blocks=1, selection=plan, planned=planned, seed=seed)
    failed = {record.cell for record in records(result) if record.status == "failed"}
    assert failed == {"rewriter-on.threads-4.pair-b", "rewriter-on.threads-8.pair-b"}


def test_a_baseline_of_an_earlier_start_is_what_the_rest_is_held_against(tmp_path: Path) -> None:
    plan = selection("restart")
    orders = {
        seed: [run.stack for run in schedule(resolved(plan), 1, seed)] for seed in range(1, 50)
    }
    seed = next(
        seed for seed, order in orders.items() if order.index("variant1") < order.index("variant2")
    )
    planned = {variant: {FLUSH: "1"} for variant in ("variant1", "variant2", "canary")}
    given: dict[str, Any] = {"blocks": 1, "selection": plan, "planned": planned, "seed": seed}
    engine = Engine()

    def interrupt_the_second_variant() -> None:
        if engine.done[-1] == "up m-variant2":
            raise KeyboardInterrupt

    engine.on_load = interrupt_the_second_variant
    with pytest.raises(KeyboardInterrupt):
        run(tmp_path, engine, **given)
    result, _ = run(tmp_path, Saying(said={"m-variant2": {FLUSH: "2"}}), **given)
    statuses = {(record.cell.split(".")[0], record.status) for record in records(result)}
    assert statuses == {("rewriter-off", "ok"), ("canary", "ok"), ("rewriter-on", "failed")}


def test_a_baseline_that_says_otherwise_when_it_is_started_anew_fails(tmp_path: Path) -> None:
    class Changing(Saying):
        def up(self, name: str, request: PlanRequest) -> RunningStack:
            self.said = {"m-variant1": {FLUSH: "2"}} if "up m-variant1" in self.done else {}
            return super().up(name, request)

    planned = {variant: {FLUSH: "1"} for variant in ("variant1", "variant2", "canary")}
    result, _ = run(tmp_path, Changing(), selection=selection("restart"), planned=planned)
    failed = {
        (record.cell.split(".")[0], record.block)
        for record in records(result)
        if record.status == "failed"
    }
    assert failed == {("rewriter-off", 2)}
