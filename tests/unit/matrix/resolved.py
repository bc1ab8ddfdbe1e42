"""Resolved experiments as tests want them: no engine is asked."""

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

from sandbox.matrix.definition import CANARY, Cell
from sandbox.matrix.resolve import Resolved, ResolvedCell
from sandbox.matrix.selection import Experiment
from sandbox.profile.plan import PlanRequest


def resolved(
    experiment: Experiment,
    load_of: Callable[[Cell], Any] = lambda _: None,
    blocks: int = 2,
    skipped: Mapping[str, str] | None = None,
    planned: Mapping[str, Mapping[str, str]] | None = None,
    proxied: Collection[str] = (),
    cold: Collection[str] = (),
    topology: tuple[str, int] = ("single", 1),
    host_class: str = "here",
    **given: Any,
) -> Resolved:
    """``planned``: variables by stack; ``cold``: stacks that cannot be restored."""
    reasons = skipped or {}
    cells = {
        cell.name: ResolvedCell(cell, experiment.stack_of[cell.name], load_of(cell), reasons.get(cell.name))
        for cell in experiment.cells
    }
    names = [*dict.fromkeys(experiment.stack_of.values()), CANARY]
    stacks: Any = {
        name: SimpleNamespace(
            name=name,
            request=PlanRequest("mysql@9.7"),
            profile="mysql@9.7",
            plan=True,
            dataset=None if name in cold else SimpleNamespace(),
            variables=(planned or {}).get(name, {}),
            has_proxy=name in proxied,
            topology=topology,
        )
        for name in names
    }
    return Resolved(experiment, cells, stacks, blocks, host_class, **given)
