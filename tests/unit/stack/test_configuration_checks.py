"""The programs' own checks of the user's files, before anything starts."""

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.plan import OwnFile, Plan
from sandbox.stack.configuration_checks import refuse_broken_files
from unit.profile.small_library import plan
from unit.profile.test_own_files import OPTIONS, OWN
from unit.stack.fake_docker import FakeDocker, answer

BOTH = (OwnFile("balancer", OWN), OwnFile("mysql1", OPTIONS))
PROFILE = "mysql@8.4+replica@8.4+balancer"


def check(made: Plan, said: str = "", code: int = 0) -> FakeDocker:
    """The engine after the checks of a plan, each of which ends like this."""
    docker = FakeDocker()
    docker.on("^run ", answer(code=code, stderr=said))
    refuse_broken_files(made, docker)
    return docker


def test_without_files_nothing_is_asked() -> None:
    assert check(plan(PROFILE)).calls == []


def test_each_program_checks_its_file_as_it_will_be_with_every_name_known() -> None:
    docker = check(plan(PROFILE, own_files=BOTH))
    words = [call[call.index("--entrypoint") :] for call in docker.calls]
    assert [each[-3:] for each in words] == [
        (*each[-3:-2], "mysqld", "--defaults-file=/tmp/checked")
        if "mysqld" in each
        else ("proxy", "-c", "/tmp/checked")
        for each in words
    ]
    assert all("mysql1 replica1" in " ".join(each) for each in words)
    assert any(text.endswith(OWN.content) for text in docker.inputs)
    assert any(text.endswith(OPTIONS.content) for text in docker.inputs)


def test_servers_with_the_same_file_are_asked_once_and_old_ones_not_at_all() -> None:
    made = plan("mysql@5.6+replica@5.6", cnf=OPTIONS)
    assert check(made).calls == []
    two = plan("mysql@8.4", cnf=OPTIONS)
    assert len(check(two).calls) == 1


@pytest.mark.parametrize(
    ("said", "known"),
    [
        (
            "[NOTICE]   (1) : version 3.0\n[ALERT]    (1) : config : parsing [/tmp/checked:5] : "
            "unknown keyword 'price'\n[ALERT]    (1) : config : Fatal errors found",
            "config : parsing [my.cfg:2] : unknown keyword 'price'",
        ),
        (
            "[ALERT]    (1) : config : parsing [/tmp/checked:1] : unknown",
            "config : parsing [line 1 of what is generated] : unknown",
        ),
        ("2026-11-29T19:15:01.1Z 0 [ERROR] [MY-000058] no", "[MY-000058] no"),
        ("it does not like it", "it does not like it"),
        ("", "the program says nothing"),
    ],
)
def test_a_refusal_says_what_the_program_says_of_which_line(said: str, known: str) -> None:
    with pytest.raises(SandboxError) as refused:
        check(plan("mysql+balancer", own_files=BOTH[:1]), said, 1)
    assert refused.value.what == "CNF: balancer 3.0.26 refuses my.cfg"
    assert refused.value.known == known
    assert refused.value.exit_code is ExitCode.BAD_INPUT


def test_a_check_that_hangs_is_no_mistake_of_the_users() -> None:
    with pytest.raises(SandboxError) as refused:
        check(plan("mysql+balancer", own_files=BOTH[:1]), "", 124)
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
