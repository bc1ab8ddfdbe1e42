"""What cannot be planned anywhere is reported first, also on a machine without an engine.

An image is asked for its server's variables once, and not at all where it is not here.
"""

from collections.abc import Sequence
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.plan import Node, PlanRequest
from sandbox.stack import planning
from sandbox.stack.planning import known_variables, planned, refuse_unknown_variables
from sandbox.stack.protocol import ExecResult
from unit.profile.small_library import plan
from unit.profile.test_variables import HELP, KNOWN
from unit.stack.fake_docker import FakeDocker, FakePending, answer


@pytest.fixture(autouse=True)
def _no_client(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(*_: object) -> Availability:
        raise SandboxError(
            "there is no docker client", "", "try: scripts/bootstrap", ExitCode.ENVIRONMENT
        )

    monkeypatch.setattr(planning, "engine_availability", absent)


@pytest.mark.parametrize(
    ("profile", "code"), [("mysqll@9.7", ExitCode.BAD_INPUT), ("mysql@9.7", ExitCode.ENVIRONMENT)]
)
def test_a_mistyped_profile_is_reported_before_a_missing_engine(
    profile: str, code: ExitCode
) -> None:
    with pytest.raises(SandboxError) as refused:
        planned(PlanRequest(profile))
    assert refused.value.exit_code is code


@pytest.fixture(autouse=True)
def _a_cache_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Images(FakeDocker):
    """An engine that knows one image, whose server lists what a test gives it."""

    def __init__(self, listed: ExecResult, here: bool = True) -> None:
        super().__init__()
        self.listed, self.here, self.runs = listed, here, 0

    def begin(
        self, *argv: str, stdin: str | None = None, pass_fds: Sequence[int] = ()
    ) -> FakePending:
        if argv[0] == "run":
            self.runs += 1
            assert "--rm" in argv and argv[-3:] == ("--no-defaults", "--verbose", "--help")
            return FakePending(argv, self.listed)
        return FakePending(argv, answer("sha256:" + "c" * 64 + "\n", code=0 if self.here else 1))


def server() -> Node:
    """A server."""
    return plan("mysql").databases[0]


def test_an_image_is_asked_once_however_often_it_is_wanted() -> None:
    docker = Images(answer(HELP))
    for _ in range(3):
        assert known_variables([server(), server()], docker) == {server().image: KNOWN}
    assert docker.runs == 1


def test_an_image_that_is_not_here_is_not_brought_for_this() -> None:
    docker = Images(answer(HELP), here=False)
    assert known_variables([server()], docker) == {} and docker.runs == 0


def test_a_variable_is_refused_as_soon_as_its_image_is_there() -> None:
    mistyped = plan("mysql", assignments=("max_conections=5",))
    refuse_unknown_variables(mistyped, Images(answer(HELP), here=False))
    with pytest.raises(SandboxError, match="has no variable 'max_conections'") as refused:
        refuse_unknown_variables(mistyped, Images(answer(HELP)))
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_every_command_plans_in_one_way() -> None:
    """Whoever calls the planner itself passes by what is checked on this machine."""
    package = Path(planning.__file__).parents[1]
    callers = [
        path for path in package.rglob("*.py") if "make_plan(" in path.read_text(encoding="utf-8")
    ]
    outside = {str(path.relative_to(package)) for path in callers if path.parent.name != "profile"}
    assert outside == {"stack/planning.py"}


def test_a_server_that_does_not_say_is_asked_again_and_checks_nothing() -> None:
    docker = Images(answer("", code=1))
    assert known_variables([server()], docker) == {} == known_variables([server()], docker)
    assert docker.runs == 2
