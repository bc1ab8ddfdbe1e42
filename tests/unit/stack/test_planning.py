"""What cannot be planned anywhere is told first, also on a machine without an engine."""

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.plan.images import Availability
from sandbox.plan.model import PlanRequest
from sandbox.stack import planning
from sandbox.stack.planning import planned


@pytest.fixture(autouse=True)
def _no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> Availability:
        raise SandboxError("there is no docker client", "", "try: scripts/bootstrap", ExitCode.ENVIRONMENT)

    monkeypatch.setattr(planning, "engine_availability", absent)


@pytest.mark.parametrize(("profile", "code"), [("mysqll@9.7", ExitCode.BAD_INPUT), ("mysql@9.7", ExitCode.ENVIRONMENT)])
def test_a_mistyped_profile_is_told_before_a_missing_engine(profile: str, code: ExitCode) -> None:
    with pytest.raises(SandboxError) as refused:
        planned(PlanRequest(profile))
    assert refused.value.exit_code is code
