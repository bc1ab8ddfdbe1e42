"""down and clean: exactly what carries the label, whatever is left."""

from pathlib import Path

import pytest

from sandbox.errors import ExitCode, SandboxError
from sandbox.stack.inventory import inventory
from sandbox.stack.naming import project_name
from sandbox.stack.protocol import ExecResult
from sandbox.stack.remove import clean, down, of_checkout
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine on which somebody else has things."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()
    fake.add("theirs", {"com.example": "1"})
    fake.volumes["theirs"] = fake.networks["theirs"] = {}
    return fake


def test_down_removes_one_stack_and_nothing_else(docker: FakeDocker) -> None:
    running_stack(docker, "mysql+replica1", name="a")
    running_stack(docker, "mysql", name="b")
    removed = down("a", Events(), docker)
    assert (removed.name, removed.containers, removed.networks) == ("a", 3, 1)
    assert removed.volumes == len([call for call in docker.called("volume", "rm") for _ in call[3:]])
    assert inventory(docker).projects().keys() == {project_name("b")}
    assert "theirs" in docker.containers and "theirs" in docker.volumes and "theirs" in docker.networks
    assert not [call for call in docker.calls if "prune" in call]


@pytest.mark.parametrize("kind", ["volumes", "networks"])
def test_what_a_crash_left_half_made_goes_too(docker: FakeDocker, kind: str) -> None:
    labels = {"sandbox.stack": project_name("default"), "sandbox.checkout": "x"}
    getattr(docker, kind)["half"] = labels
    assert down("default", Events(), docker).anything
    assert inventory(docker).empty


def test_down_of_nothing_is_no_error(docker: FakeDocker) -> None:
    assert not down(None, Events(), docker).anything
    assert not down("nothing", Events(), docker).anything


def test_what_appears_while_it_removes_is_removed_as_well(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")

    def removing(argv: tuple[str, ...]) -> ExecResult:
        for identifier in argv[3:]:
            docker.containers.pop(identifier, None)
        if not docker.called("network", "rm"):
            docker.add("late", {"sandbox.stack": stack.project})
        return answer()

    docker.on("^rm ", removing)
    down("default", Events(), docker)
    assert inventory(docker).empty


def test_what_stays_is_an_error_with_the_engines_reason(docker: FakeDocker) -> None:
    running_stack(docker, "mysql")
    docker.on("^network rm", answer(code=1, stderr="Error: network has active endpoints"))
    with pytest.raises(SandboxError) as stays:
        down(None, Events(), docker)
    assert stays.value.exit_code == ExitCode.ENVIRONMENT
    assert stays.value.known == "Error: network has active endpoints"


def test_a_stack_started_by_hand_goes_by_its_project(docker: FakeDocker) -> None:
    running_stack(docker, "mysql")
    for things in (docker.networks, docker.volumes, {key: each["labels"] for key, each in docker.containers.items()}):
        for labels in things.values():
            if "sandbox.stack" in labels:
                labels["sandbox.stack"] = "byhand"
    assert down("byhand", Events(), docker).containers == 2
    assert inventory(docker).empty


def test_clean_takes_this_checkouts_stacks_and_all_of_them_when_asked(docker: FakeDocker) -> None:
    running_stack(docker, "mysql", name="a")
    running_stack(docker, "mysql", name="b")
    docker.volumes["v"] = {"sandbox.stack": "sandbox-c-123456", "sandbox.checkout": "/elsewhere"}
    assert {removed.name for removed in clean(of_checkout(False, docker), Events(), docker)} == {"a", "b"}
    assert inventory(docker).projects().keys() == {"sandbox-c-123456"}
    assert [removed.volumes for removed in clean(of_checkout(True, docker), Events(), docker)] == [1]
    assert inventory(docker).empty
