"""restart, stop and start: data stays, clusters form again, and ready means ready each time."""

from sandbox.stack.inventory import Container
from sandbox.stack.protocol import NodeEvent, OnEvent
from sandbox.stack.readiness import Readiness
from sandbox.stack.stack import Stack


def restart(stack: Stack, node: str, on_event: OnEvent, timeout_s: float | None = None) -> Stack:
    """Stops one node gracefully and starts it, then waits for the whole stack.

    Raises SandboxError: exit 2 for an unknown node, exit 4 where the stack does not become ready.
    """
    container = stack.container(node)
    on_event(NodeEvent(node, "stopping"))
    stack.docker.ask("restart", container.id)
    return start(stack.refreshed(), on_event, timeout_s)


def stop(stack: Stack, on_event: OnEvent) -> Stack:
    """Stops every node gracefully, all at once, each within its grace period; data stays. SandboxError (exit 4)."""
    active = [container for container in stack.containers if container.state in ("running", "paused")]
    for container in active:
        on_event(NodeEvent(container.node, "stopping"))
    _unpause(stack, active)
    if active:
        stack.docker.ask("stop", *(container.id for container in active))
    stopped = stack.refreshed()
    for container in active:
        on_event(NodeEvent(container.node, "stopped"))
    return stopped


def start(stack: Stack, on_event: OnEvent, timeout_s: float | None = None) -> Stack:
    """Starts every stopped node and waits until the whole stack is ready. SandboxError (exit 4) where it is not."""
    stack = start_idle(stack)
    Readiness(stack, on_event, timeout_s).wait()
    return stack


def start_idle(stack: Stack) -> Stack:
    """Starts every stopped node without waiting; returns the stack as it is then."""
    idle = [container for container in stack.containers if not container.running]
    if not idle:
        return stack
    _unpause(stack, idle)
    stopped = [container.id for container in idle if container.state != "paused"]
    if stopped:
        stack.docker.ask("start", *stopped)
    return stack.refreshed()


def _unpause(stack: Stack, containers: list[Container]) -> None:
    paused = [container.id for container in containers if container.state == "paused"]
    if paused:
        stack.docker.ask("unpause", *paused)
