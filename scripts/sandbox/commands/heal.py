"""heal: ends the faults that `fault`, or a trial that was killed, has left in a stack, and waits until it is ready."""

from sandbox.commands.common.options import Json, Name, Timeout, show
from sandbox.commands.common.running import quiet_stack
from sandbox.console import ProgressDisplay
from sandbox.errors import ExitCode, SandboxError
from sandbox.faults.common.breaker import heal_recorded, release_helpers
from sandbox.stack import lifecycle
from sandbox.stack.journal import Breakage, forget_all
from sandbox.stack.naming import DEFAULT_NAME, AmbiguousStackError, name_option, project_name
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.readiness import LeftClusterError, NotReadyError
from sandbox.stack.stack import Stack

HELP = ("a stack", 14)


def command(name: Name = None, timeout: Timeout = None, json: Json = False) -> None:
    """Heal everything that was broken on purpose, and wait until the stack is ready."""
    healed: list[Breakage] = []
    with ProgressDisplay("heal") as progress:
        stack = _stack(name, progress)
        if stack:
            _heal(stack, healed, progress, timeout)
    data = [{"fault": each.fault, "node": each.node} for each in healed]
    ended = (
        "every node is ready" if stack else f"the stack '{name or DEFAULT_NAME}' is gone, and with it what was broken"
    )
    done = f"healed {', '.join(each.text for each in healed)}" if healed else "nothing was broken on purpose"
    show(json, {"healed": data, "ready": bool(stack)}, [f"{done}; {ended}" if stack else ended])


def _heal(stack: Stack, healed: list[Breakage], progress: OnEvent, timeout: int | None) -> None:
    """Heals all and waits; ``healed`` gets what is done, and so does the terminal, whatever comes after it."""

    def report(each: Breakage) -> None:
        healed.append(each)
        progress(Note(f"healed {each.text}"))

    def wait(node: str) -> None:
        progress(Note(f"{node}: a write that had no room may hold it up for another minute"))

    try:
        problem = heal_recorded(stack, report, wait)
        if problem:
            raise problem
        for client in (node for node in stack.nodes() if node.kind == "client"):
            stack.control(client.name).weigh(1)  # a trial that was killed had given it precedence
        _wait_until_ready(stack, progress, timeout)
        release_helpers(stack)
    except KeyboardInterrupt:
        known, step = "what is not healed yet stays written down", f"try: make heal{name_option(stack.name)}"
        raise SandboxError("interrupted", known, step, ExitCode.INTERRUPTED) from None


def _wait_until_ready(stack: Stack, progress: OnEvent, timeout: int | None) -> None:
    """Restarts, each node once, what its fault ends only now: a write that had no room can still end the server."""
    restarted: set[str] = set()
    while True:
        try:
            lifecycle.start(stack.refreshed(), progress, timeout)
        except NotReadyError as late:
            has_left = isinstance(late, LeftClusterError)
            if late.node in restarted or (not has_left and stack.refreshed().container(late.node).running):
                raise
            why = "has left its cluster and does not return by itself" if has_left else "has ended"
            progress(Note(f"{late.node} {why}: restarting it"))
            stack.docker.ask("restart", stack.container(late.node).id)
            restarted.add(late.node)
        else:
            return


def _stack(name: str | None, progress: OnEvent) -> Stack | None:
    """The stack; None for one that is gone and has left something in the journal, which is forgotten."""
    try:
        return quiet_stack(name, progress)
    except AmbiguousStackError:
        raise
    except SandboxError as absent:
        if absent.exit_code is ExitCode.BAD_INPUT and forget_all(project_name(name or DEFAULT_NAME)):
            return None
        raise
