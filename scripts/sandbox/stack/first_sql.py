"""`INIT=`: the user's SQL, run once on the writer of a stack that is ready."""

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.model import UserFile
from sandbox.stack.access import client_argv
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.stack import Stack

_MARK = "/sandbox/init"
_LIMIT_S = 3600.0


def run_init(stack: Stack, init: UserFile | None, on_event: OnEvent) -> None:
    """Runs the file as root on a writer of every group where it has not run yet.

    The client's container records it, and is removed with the data. Raises SandboxError: exit 1 where a server rejects
    a statement, exit 4 where an earlier run was interrupted.
    """
    if init is None or (state := _state(stack)) == "done":
        return
    option = name_option(stack.name)
    if state == "begun":
        raise SandboxError(
            f"INIT={init.name} was started by an earlier command and did not finish",
            "the data may contain part of it; it is not run twice",
            f"try: make down{option}   (then make up again)",
            ExitCode.ENVIRONMENT,
        )
    _set_state(stack, "begun")
    for entry in stack.entries.writers():
        on_event(Note(f"running {init.name} on {entry.node}"))
        result = stack.run(stack.client.node, client_argv(stack, entry), stdin=init.content, timeout_s=_LIMIT_S)
        if result.code:
            raise SandboxError(
                f"INIT={init.name} failed on {entry.node}",
                result.stderr.strip().rpartition("\n")[2],
                f"try: make down{option}   (then fix the file and make up again)",
                ExitCode.FAILED,
            )
    _set_state(stack, "done")


def _state(stack: Stack) -> str:
    return stack.run(stack.client.node, ["sh", "-c", f"cat {_MARK} 2>/dev/null || true"]).stdout.strip()


def _set_state(stack: Stack, state: str) -> None:
    stack.run(stack.client.node, ["sh", "-c", f"echo {state} >{_MARK}"])
