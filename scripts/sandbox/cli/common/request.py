"""The plan request that a command's options of a profile make up."""

from sandbox.cli.common.options import either, need_profile
from sandbox.profile.grammar import check_limits
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
    """The plan request of a profile and its options. Raises SandboxError (exit 2) for invalid ones."""
    profile = either(typed, profile, "PROFILE")
    check_limits(cpus, memory, disk=disk)
    return PlanRequest(
        need_profile(profile),
        tuple(assignments or ()),
        read_user_file(cnf, "CNF"),
        read_user_file(init, "INIT"),
        cpus,
        memory,
        external,
        disk=disk,
    )
