"""restart, stop, start; down and clean: exactly what carries the label, whatever is left."""

from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.inventory import inventory
from sandbox.stack.journal import Breakage, breakages, note_breakage
from sandbox.stack.lifecycle import clean, down, of_checkout, restart, start, stop
from sandbox.stack.naming import project_name
from sandbox.stack.protocol import ExecResult, NodeEvent
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine whose servers all write."""
    fake = FakeDocker()
    fake.on("sh /sandbox/probe role", answer("writer\n"))
    return fake


def test_stop_keeps_containers_and_start_waits_for_ready(docker: FakeDocker) -> None:
    stack = stop(running_stack(docker, "mysql+replica1"), Events())
    assert {each.state for each in stack.containers} == {"exited"}
    assert not docker.called("rm")
    events = Events()
    stack = start(stack, events)
    assert {each.state for each in stack.containers} == {"running"}
    assert {
        each.node for each in events if isinstance(each, NodeEvent) and each.state == "ready"
    } >= {
        "mysql1",
        "replica1",
    }


def test_everything_is_stopped_in_one_call_within_its_own_grace(docker: FakeDocker) -> None:
    stop(running_stack(docker, "mysql+replica1"), Events())
    (call,) = docker.called("stop")
    assert len(call) == 4 and "--time" not in call and "-t" not in call


def test_a_paused_node_is_let_go_before_it_is_stopped_or_started(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.state("mysql1", "paused")
    stop(stack.refreshed(), Events())
    assert [call[0] for call in docker.calls if call[0] in ("unpause", "stop")] == [
        "unpause",
        "stop",
    ]
    docker.state("mysql1", "paused")
    assert start(stack.refreshed(), Events()).container("mysql1").running


def test_restart_touches_one_node_and_waits_for_all(docker: FakeDocker) -> None:
    stack, events = running_stack(docker, "mysql+replica1"), Events()
    restart(stack, "replica1", events)
    assert docker.called("restart") == [("restart", stack.container("replica1").id)]
    assert events[0] == NodeEvent("replica1", "stopping")
    assert any(
        isinstance(each, NodeEvent) and (each.node, each.state) == ("mysql1", "ready")
        for each in events
    )


@pytest.fixture
def shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeDocker:
    """An engine on which somebody else has things."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    fake = FakeDocker()
    fake.add("theirs", {"com.example": "1"})
    fake.volumes["theirs"] = fake.networks["theirs"] = {}
    return fake


def test_down_removes_one_stack_and_nothing_else(shared: FakeDocker) -> None:
    running_stack(shared, "mysql+replica1", name="a")
    running_stack(shared, "mysql", name="b")
    removed = down("a", Events(), shared)
    assert (removed.name, removed.containers, removed.networks) == ("a", 3, 1)
    assert removed.volumes == len(
        [call for call in shared.called("volume", "rm") for _ in call[3:]]
    )
    assert inventory(shared).projects().keys() == {project_name("b")}
    assert (
        "theirs" in shared.containers and "theirs" in shared.volumes and "theirs" in shared.networks
    )
    assert not [call for call in shared.calls if "prune" in call]


@pytest.mark.parametrize("kind", ["volumes", "networks"])
def test_what_a_crash_left_half_made_goes_too(shared: FakeDocker, kind: str) -> None:
    labels = {"sandbox.stack": project_name("default"), "sandbox.checkout": "x"}
    getattr(shared, kind)["half"] = labels
    assert down("default", Events(), shared).anything
    assert inventory(shared).empty


def test_what_was_broken_in_a_stack_is_forgotten_with_it(shared: FakeDocker) -> None:
    stacks = [running_stack(shared, "mysql", name=name) for name in ("a", "b")]
    for stack in stacks:
        note_breakage(Breakage(project=stack.project, fault="hang", node="mysql1"))
    down("a", Events(), shared)
    assert [len(breakages(stack.project)) for stack in stacks] == [0, 1]


def test_down_of_nothing_is_no_error(shared: FakeDocker) -> None:
    assert not down(None, Events(), shared).anything
    assert not down("nothing", Events(), shared).anything


def test_what_appears_while_it_removes_is_removed_as_well(shared: FakeDocker) -> None:
    stack = running_stack(shared, "mysql")

    def removing(argv: tuple[str, ...]) -> ExecResult:
        for identifier in argv[3:]:
            shared.containers.pop(identifier, None)
        if not shared.called("network", "rm"):
            shared.add("late", {"sandbox.stack": stack.project})
        return answer()

    shared.on("^rm ", removing)
    down("default", Events(), shared)
    assert inventory(shared).empty


def test_what_stays_is_an_error_with_the_engines_reason(shared: FakeDocker) -> None:
    stack = running_stack(shared, "mysql")
    note_breakage(Breakage(project=stack.project, fault="hang", node="mysql1"))
    shared.on("^network rm", answer(code=1, stderr="Error: network has active endpoints"))
    with pytest.raises(SandboxError) as stays:
        down(None, Events(), shared)
    assert stays.value.exit_code == ExitCode.ENVIRONMENT
    assert stays.value.known == "Error: network has active endpoints"
    assert breakages(project_name("default")), "parts of it may still be broken"


def test_a_stack_started_by_hand_goes_by_its_project(shared: FakeDocker) -> None:
    running_stack(shared, "mysql")
    for things in (
        shared.networks,
        shared.volumes,
        {key: each["labels"] for key, each in shared.containers.items()},
    ):
        for labels in things.values():
            if "sandbox.stack" in labels:
                labels["sandbox.stack"] = "byhand"
    assert down("byhand", Events(), shared).containers == 2
    assert inventory(shared).empty


def test_clean_takes_this_checkouts_stacks_and_all_of_them_when_asked(shared: FakeDocker) -> None:
    running_stack(shared, "mysql", name="a")
    running_stack(shared, "mysql", name="b")
    shared.volumes["v"] = {"sandbox.stack": "sandbox-c-123456", "sandbox.checkout": "/elsewhere"}
    assert {removed.name for removed in clean(of_checkout(False, shared), Events(), shared)} == {
        "a",
        "b",
    }
    assert inventory(shared).projects().keys() == {"sandbox-c-123456"}
    assert [removed.volumes for removed in clean(of_checkout(True, shared), Events(), shared)] == [
        1
    ]
    assert inventory(shared).empty
