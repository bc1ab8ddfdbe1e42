"""The stacks of a matrix: all that can be begin in one way, so that what they differ in is what was asked for."""

from collections.abc import Iterable, Mapping

from sandbox.commands.matrix_data import ArmData, DataMaker, first_start
from sandbox.commands.matrix_request import ArmStack
from sandbox.commands.planning import planned, planned_bases
from sandbox.console import Progress as NodeProgress
from sandbox.plan.model import Plan
from sandbox.stack.engine import Docker
from sandbox.stack.protocol import RunningStack
from sandbox.stack.remove import down
from sandbox.stack.snapshots.restore import usable_bases
from sandbox.stack.up import UpOptions, up


class StackMaker:
    """Starts the stacks of a matrix: from data that is kept where they can be, else all from bases or from nothing."""

    def __init__(self, docker: Docker) -> None:
        self.docker = docker
        self.keys: Mapping[ArmStack, str] = {}
        self.bases: Mapping[ArmStack, Mapping[str, Plan]] = {}

    def begin_alike(self, found: Mapping[ArmStack, ArmData], stacks: Iterable[ArmStack], maker: DataMaker) -> None:
        """Makes what they begin from. ``stacks``: all that can run here."""
        wanted = set(stacks)
        self.keys = maker.make_all(found)
        self.bases = {} if self.keys else _bases_of_arms(wanted, self.docker)
        if alone := sorted({stack.request.profile for stack in wanted - set(found)}):
            maker.line.line(f"cannot be restored, so started from nothing, with data of its own: {', '.join(alone)}")

    def up(self, name: str, stack: ArmStack) -> RunningStack:
        """A stack, ready."""
        kept = UpOptions(name, restore=stack in self.keys, snapshot_key=self.keys.get(stack))
        options = first_start(name, self.bases[stack]) if stack in self.bases else kept
        with NodeProgress("matrix") as progress:
            return up(planned(stack.request), options, progress, self.docker).stack

    def down(self, name: str) -> None:
        """Removes a stack, or what is left of one."""
        down(name, lambda _: None, self.docker)


def _bases_of_arms(stacks: Iterable[ArmStack], docker: Docker) -> dict[ArmStack, Mapping[str, Plan]]:
    """What the servers of each arm begin from where no data is kept.

    Empty where this machine has not all of it: every arm then starts from nothing, so that they start alike.
    """
    found = {each: planned_bases(planned(each.request)) for each in stacks}
    return found if all(usable_bases(docker, each) for each in found.values()) else {}
