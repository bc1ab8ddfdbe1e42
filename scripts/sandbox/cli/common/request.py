"""The plan request that a command's options of a profile make up."""

from sandbox.cli.common.options import either, need_profile
from sandbox.profile.plan import PlanRequest
from sandbox.profile.reader import read_user_file


def plan_request(
    typed: str | None,
    profile: str | None,
    assignments: list[str] | None,
    cnf: str | None,
    init: str | None,
    cpus: str | None,
    memory: str | None,
    external: str | None,
    disk: str | None = None,
) -> PlanRequest:
    """The plan request of a profile and its options; the planner checks what they say.

    Raises SandboxError (exit 2) where no profile is given, or two, or a file cannot be read.
    """
    return PlanRequest(
        need_profile(either(typed, profile, "PROFILE")),
        tuple(assignments or ()),
        read_user_file(cnf, "CNF"),
        read_user_file(init, "INIT"),
        cpus,
        memory,
        external,
        disk=disk,
    )
