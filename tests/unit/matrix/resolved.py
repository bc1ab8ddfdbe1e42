"""Resolved matrices as tests want them: no engine is asked."""

from collections.abc import Callable, Collection, Mapping
from types import SimpleNamespace
from typing import Any

from sandbox.load.common.registry import resolve_workload
from sandbox.load.common.workload import make_parameters
from sandbox.matrix.cell import CANARY, Cell
from sandbox.matrix.resolve import stack_names
from sandbox.matrix.resolved import ResolvedCell, ResolvedMatrix, choose_canary
from sandbox.matrix.selection import Selection
from sandbox.measure.bench import BenchRequest
from sandbox.measure.run import NO_LOAD
from sandbox.profile.plan import PlanRequest


def no_load(_: Cell) -> BenchRequest:
    """The load of a cell whose load does not matter."""
    return BenchRequest(resolve_workload(NO_LOAD, {}), make_parameters())


def resolved(
    selection: Selection,
    load_of: Callable[[Cell], Any] = no_load,
    blocks: int = 2,
    skipped: Mapping[str, str] | None = None,
    planned: Mapping[str, Mapping[str, str]] | None = None,
    proxied: Collection[str] = (),
    cold: Collection[str] = (),
    topology: tuple[str, int] = ("single", 1),
    host_class: str = "here",
    **given: Any,
) -> ResolvedMatrix:
    """``planned``: variables by stack; ``cold``: stacks that cannot be restored."""
    reasons = skipped or {}
    names = stack_names(selection.cells)
    cells = [
        ResolvedCell(
            cell.levels, cell.change, load_of(cell), names[cell.name], reasons.get(cell.name)
        )
        for cell in selection.cells
    ]
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
        for name in [*names.values(), CANARY]
    }
    return ResolvedMatrix(
        matrix=selection.matrix.model_copy(update={"blocks": blocks}),
        cells={cell.name: cell for cell in cells},
        canary_of=choose_canary(selection.matrix, cells),
        stacks=stacks,
        host_class=host_class,
        left_out=selection.left_out,
        **given,
    )
