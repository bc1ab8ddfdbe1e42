"""The stack of an upgrade check: started, checked, removed whatever happens."""

import hashlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sandbox.load.common.workload import Event
from sandbox.measure.execute import now, run_alone
from sandbox.profile.library import Library
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.reader import load_library
from sandbox.record.record import Record
from sandbox.record.store import ResultFolder
from sandbox.stack.beside import supply_beside
from sandbox.stack.engine import Docker
from sandbox.stack.lifecycle import down
from sandbox.stack.planning import planned, planned_base_directories
from sandbox.stack.protocol import OnEvent
from sandbox.stack.supply import ensure_images, needs_supply
from sandbox.stack.up import UpOptions, up
from sandbox.upgrade.run import UpgradeQuestion, upgrade_request
from sandbox.upgrade.sides import UpgradeSides, refuse_downgrade, refuse_unavailable_sides
from sandbox.upgrade.steps import UPGRADE
from sandbox.upgrade.toolkit import IMAGE


def plan_of_sides(sides: UpgradeSides, library: Library, docker: Docker) -> Plan:
    """The plan of both servers.

    Raises SandboxError: exit 2 for a downgrade, exit 4 for a version that is not available here.
    """
    plan = planned(PlanRequest(sides.profile), library, docker)
    refuse_downgrade(plan, sides)
    refuse_unavailable_sides(plan)
    return plan


@dataclass(frozen=True)
class UpgradeRunner:
    """An upgrade check, in a result of its own under ``results``."""

    results: Path
    command: Sequence[str]
    on_event: Callable[[Event], None]
    shows: Callable[[], AbstractContextManager[OnEvent]]
    """Shows a stack that starts."""
    docker: Docker

    def carry_out(self, question: UpgradeQuestion, plan: Plan) -> tuple[Record, ResultFolder]:
        """The record of the check and its result; nothing of its stack is left.

        Raises SandboxError (exit 4) where the stack does not start.
        """
        name = self._name(question)
        try:
            with self.shows() as progress:
                supply_beside(IMAGE, progress, self.docker)
                if needs_supply(plan):
                    plan = ensure_images(plan, progress, self.docker)
                bases = partial(planned_base_directories, plan, load_library())
                options = UpOptions(name, restore=True, base_directories=bases)
                stack = up(plan, options, progress, self.docker).stack
            request = upgrade_request(question, self.command)
            return run_alone(UPGRADE, stack, request, self.results, self.on_event)
        finally:
            down(name, lambda _: None, self.docker)

    def _name(self, question: UpgradeQuestion) -> str:
        # Of its check alone: another one may have begun in the same second.
        text = f"{now()} {question.log_file.sha256} {question.sides.profile} {id(self)}"
        return f"upgrade-{hashlib.sha256(text.encode()).hexdigest()[:6]}"
