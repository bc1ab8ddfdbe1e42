"""Ends what was broken on purpose in a stack, and waits until it is ready."""

from dataclasses import dataclass, field

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.action import ActionRefusedError
from sandbox.failure.actions.repair import repair_servers
from sandbox.failure.breaker import heal_recorded, release_helpers
from sandbox.stack import lifecycle
from sandbox.stack.journal import Breakage
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.readiness import BrokenServerError, NotReadyError
from sandbox.stack.stack import Stack


@dataclass
class Healed:
    """What was healed and repaired so far; it is said whatever comes after it."""

    healed: list[Breakage] = field(default_factory=list)
    repaired: list[str] = field(default_factory=list)

    @property
    def text(self) -> str:
        """One sentence."""
        parts = [f"healed {', '.join(each.text for each in self.healed)}"] if self.healed else []
        parts += [f"repaired: {', '.join(self.repaired)}"] if self.repaired else []
        return "; ".join(parts) or "nothing was broken on purpose"


def heal(stack: Stack, progress: OnEvent, timeout: int | None, repair: bool) -> Healed:
    """Heals all and waits; what is done is said at once. ``repair``: also what does not return by
    itself.

    Raises SandboxError: exit 4 where a node is not ready in the end, exit 130 on Ctrl-C.
    """
    done = Healed()

    def report(each: Breakage) -> None:
        done.healed.append(each)
        progress(Note(f"healed {each.text}"))

    def wait(node: str) -> None:
        progress(Note(f"{node}: a write that had no room may hold it up for another minute"))

    try:
        problem = heal_recorded(stack, report, wait)
        if problem:
            raise problem
        for client in (node for node in stack.nodes() if node.kind == "client"):
            stack.control(client.name).weigh(1)  # a trial that was killed had given it precedence
        _Recovery(stack, done, progress, timeout, repair).wait()
        release_helpers(stack)
    except KeyboardInterrupt:
        known, step = (
            "what is not healed yet stays written down",
            f"try: make heal{name_option(stack.name)}",
        )
        raise SandboxError("interrupted", known, step, ExitCode.INTERRUPTED) from None
    return done


class _Recovery:
    """The wait until the stack is ready, and what is done meanwhile to servers that do not come
    back by themselves.
    """

    def __init__(
        self, stack: Stack, done: Healed, progress: OnEvent, timeout: int | None, repair: bool
    ) -> None:
        """``repair``: brings back every one of them, once; else members that a healed fault has
        left behind restart.
        """
        self._stack, self._done, self._progress, self._timeout = stack, done, progress, timeout
        self._may_repair = repair
        self._restarted: set[str] = set()

    def wait(self) -> None:
        """Raises SandboxError (exit 4) where a node is not ready in the end."""
        while True:
            try:
                lifecycle.start(self._stack.refreshed(), self._progress, self._timeout)
            except BrokenServerError as lost:
                if not self._repair() and not self._restart_what_faults_left(lost):
                    raise
            except NotReadyError as late:
                if self._stack.refreshed().container(late.node).running or not self._restart(
                    {late.node: "has ended"}
                ):
                    raise
            else:
                if not self._repair():
                    return

    def _repair(self) -> bool:
        """Whether there was something to repair, which was asked for; servers that are detached are
        ready, too.
        """
        if not self._may_repair:
            return False
        self._may_repair = False
        try:
            self._done.repaired += repair_servers(
                self._stack.refreshed(), lambda text: self._progress(Note(text))
            )
        except ActionRefusedError as refused:
            raise MachineError(refused.what, refused.known, refused.next_step) from refused
        return bool(self._done.repaired)

    def _restart_what_faults_left(self, lost: BrokenServerError) -> bool:
        """A member that a fault has driven out of its cluster joins it when it starts."""
        if not self._done.healed or any(
            state.repair != "restart" for state in lost.broken.values()
        ):
            return False
        return self._restart({node: f"is {state.text}" for node, state in lost.broken.items()})

    def _restart(self, late: dict[str, str]) -> bool:
        """Node → why; each node once. Whether any was restarted."""
        todo = {node: why for node, why in late.items() if node not in self._restarted}
        for node, why in todo.items():
            self._progress(Note(f"{node} {why}: restarting it"))
            self._stack.docker.ask("restart", self._stack.container(node).id)
        self._restarted |= {*todo}
        return bool(todo)
