"""Whether a cell can run on this machine, and why not."""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.fault import FAULT_KINDS, SETTING_OF, refuse_unable
from sandbox.failure.targets import impossible
from sandbox.load.common.workload import refuse_unfit
from sandbox.matrix.definition import Cell
from sandbox.matrix.resolved import CellWithLoad, Load
from sandbox.measure.trial.run import TrialRequest
from sandbox.profile.plan import Plan, PlanRequest, entry_words
from sandbox.stack.engine import Docker
from sandbox.stack.engine_facts import lacking
from sandbox.stack.naming import identity
from sandbox.stack.planning import planned
from sandbox.stack.protocol import StackNode


class Plans:
    """Plans of this machine, each made once."""

    def __init__(self) -> None:
        self._made: dict[PlanRequest, Plan | SandboxError] = {}
        self.docker = Docker()

    def __call__(self, request: PlanRequest) -> Plan:
        """The plan of a request. Raises SandboxError if it cannot be planned."""
        if request not in self._made:
            try:
                self._made[request] = planned(request)
            except SandboxError as error:
                self._made[request] = error
        made = self._made[request]
        if isinstance(made, SandboxError):
            raise made
        return made

    def refusal(self, cell: Cell) -> SandboxError | None:
        """Why the stack of a cell cannot be planned; None for one that can."""
        try:
            self(cell.plan_request)
        except SandboxError as error:
            # A broken checkout is not the cell's fault.
            if error.exit_code is not ExitCode.BAD_INPUT:
                raise
            return error
        return None

    def reason(self, cell: Cell) -> str | None:
        """Why the stack of a cell cannot run here; None for one that can."""
        refusal = self.refusal(cell)
        if refusal:
            return f"{refusal.what}: {refusal.known}"
        plan = self(cell.plan_request)
        via = cell.change.via
        if via and via not in entry_words(plan):
            return f"via: {via} is not part of {plan.profile}"
        references = sorted({node.choice.reference for node in plan.unavailable()})
        if references:
            return f"not available here: {', '.join(references)}"
        return None


def why_skipped(cell: CellWithLoad, plans: Plans) -> str | None:
    """Why a cell cannot run here: its stack, its load or its fault; None for one that can."""
    reason = plans.reason(cell)
    if reason:
        return reason
    try:
        _refuse_unfit(plans(cell.plan_request), cell.load, plans.docker)
    except SandboxError as error:
        return f"{error.what}: {error.known}"
    return None


def _refuse_unfit(plan: Plan, load: Load, docker: Docker) -> None:
    """Raises SandboxError for a load that cannot run on the stack, or a fault that it cannot
    have.
    """
    kinds = {node.kind for node in plan.nodes}
    refuse_unfit(load.workload.workload, load.workload.name, kinds, plan.profile)
    if isinstance(load, TrialRequest):
        _refuse_targets(load.scenario.aims, plan, load.via)
        _refuse_without_setting(load.scenario.certain, plan)
        _refuse_unable_kernel(load.scenario.certain, plan, docker)


def _refuse_targets(aims: Sequence[tuple[str, str]], plan: Plan, via: str | None) -> None:
    """Raises SandboxError for a target that the group of the entry point never has.

    With ``via``: one that no group has.
    """
    nodes = _nodes_of(plan)
    groups = list(
        dict.fromkeys(node.group_index for node in nodes if node.is_server and node.group_index)
    )
    if not groups:
        return
    for name, word in aims:
        problems = [impossible(name, word, nodes, group) for group in groups]
        refused = [problem for problem in problems if problem]
        everywhere = len(refused) == len(groups)
        if everywhere or (refused and not via):
            raise refused[0]


def _nodes_of(plan: Plan) -> list[StackNode]:
    """The nodes that a stack of the plan would have."""
    return [
        StackNode(
            name=node.name,
            term=node.term,
            component=node.component.name,
            kind=node.kind,
            group_index=node.group_index,
            family=None,
            host=node.name,
            port=next(iter(node.ports.values()), None),
        )
        for node in plan.nodes
    ]


def _refuse_without_setting(faults: Sequence[str], plan: Plan) -> None:
    """Raises SandboxError for a fault that needs a setting which no server of the stack has."""
    settings = {name for node in plan.databases for name in node.settings}
    for fault in faults:
        needed = {SETTING_OF[need] for need in FAULT_KINDS.named(fault).needs if need in SETTING_OF}
        for setting in needed - settings:
            what = f"the fault {fault} is skipped"
            known = f"no server has the setting {setting}"
            step = f"try: make plan PROFILE={plan.profile}+{setting}"
            raise SandboxError(what, known, step, ExitCode.UNKNOWN)


def _refuse_unable_kernel(faults: Sequence[str], plan: Plan, docker: Docker) -> None:
    """Raises SandboxError for a fault that the engine's kernel cannot have.

    It is asked in the client's image. Where that is not here, or does not answer, nothing is known:
    then the trial itself is skipped.
    """
    images = [
        node.choice.reference
        for node in plan.nodes
        if node.kind == "client" and node.choice.source == "local"
    ]
    for image in images:
        kernel_lacks = partial(lacking, docker, image, identity("abilities"))
        for fault in faults:
            with suppress(MachineError):
                refuse_unable(kernel_lacks, fault)
