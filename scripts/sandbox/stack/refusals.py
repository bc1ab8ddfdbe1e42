"""Why a stack cannot come up, in three lines: another one has the name, or the engine rejects it."""

from collections.abc import Sequence
from dataclasses import asdict

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.compose import inputs
from sandbox.plan.model import Plan
from sandbox.stack.engine import problem
from sandbox.stack.inventory import stack_inputs
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import ExecResult
from sandbox.stack.stack import Stack


class NotReadyError(SandboxError):
    """A node did not become ready, or died meanwhile. ``log``: the end of its log, passwords masked."""

    def __init__(self, node: str, predicate: str, log: tuple[str, ...], name_option: str) -> None:
        super().__init__(
            f"{node} {predicate}",
            "the stack is kept for you to inspect; the end of the node's log is above",
            f"try: make logs{name_option} NODE={node}   (make down{name_option} removes the stack)",
            ExitCode.ENVIRONMENT,
        )
        self.node, self.log = node, log


def another_stack(stack: Stack, plan: Plan) -> SandboxError:
    """The difference between the stack that has the name and the plan that needs it."""
    option = name_option(stack.name)
    if stack.profile != plan.profile:
        what = f"the stack '{stack.name}' has another profile: {stack.profile}"
        known = f"the requested profile is {plan.profile}"
    else:
        what = f"the stack '{stack.name}' has the same profile, but other inputs"
        known = (
            _input_differences(stack, plan)
            or "a component, setting or image reference of the checkout has changed since"
        )
    return SandboxError(what, known, f"try: make down{option}   (or the same command with another NAME)")


def _input_differences(stack: Stack, plan: Plan) -> str:
    now, then = asdict(stack_inputs(inputs(plan))), asdict(stack.inputs)
    words = {
        "assignments": "SET",
        "cpus": "CPUS",
        "memory": "MEMORY",
        "cpuset": "cpuset",
        "image": "IMAGE",
        "cnf_sha256": "CNF",
        "init_sha256": "INIT",
    }
    pairs = [(word, _shown(then[name]), _shown(now[name])) for name, word in words.items() if then[name] != now[name]]
    return "; ".join(f"{word} was {old}, now {new}" for word, old, new in pairs)


def _shown(value: object) -> str:
    if not value:
        return "not given"
    return " ".join(str(each) for each in value) if isinstance(value, tuple) else str(value)[:16]


_KNOWN_REFUSALS = {
    "no space left on device": "try: docker system df   (shows what uses it)",
    "non-overlapping": "try: make clean   (every stack uses one of the engine's networks)",
    "no such image": "try: make images PROFILE={profile}",
}


def not_started(argv: Sequence[str], answer: ExecResult, plan: Plan) -> SandboxError:
    """Compose could not create the stack: nothing of it ran, and what it created is removed."""
    last = answer.stderr.strip().rpartition("\n")[2]
    for sign, next_step in _KNOWN_REFUSALS.items():
        if sign in last.lower():
            return SandboxError(
                f"the engine cannot start {plan.profile}",
                last,
                next_step.format(profile=plan.profile),
                ExitCode.ENVIRONMENT,
            )
    return problem(argv, answer)
