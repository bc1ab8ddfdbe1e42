"""What is found by label, and how the engine's words are read."""

import json

import pytest

from sandbox.core.errors import natural_order
from sandbox.stack.inventory import containers, inventory, published_ports
from sandbox.stack.naming import project_name
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine with nothing on it."""
    return FakeDocker()


def test_a_container_carries_all_that_later_commands_need(docker: FakeDocker) -> None:
    running_stack(
        docker, "mysql@8.4+replica1", assignments=("max_connections=7 b='x $y'",), cpus="0.5"
    )
    (first, *_) = containers(docker, project_name("default"))
    assert (first.node, first.kind, first.profile, first.state) == (
        "mysql1",
        "database",
        "mysql@8.4+replica1",
        "running",
    )
    assert first.about["ports"] == {"sql": 3306}
    assert first.about["expected"] == "1"
    assert first.inputs.assignments == ["max_connections=7 b='x $y'"]
    assert first.inputs.cpus == "0.5"


def test_nodes_come_in_the_order_people_read_them(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica2+balancer")
    assert [
        each.node for each in stack.containers if each.about["service"] == each.about["component"]
    ] == [
        "mysql1",
        "replica1",
        "replica2",
        "balancer1",
        "client1",
    ]


def test_only_the_asked_stack_is_found(docker: FakeDocker) -> None:
    running_stack(docker, "mysql", name="a")
    running_stack(docker, "mysql", name="b")
    found = inventory(docker, project_name("a"))
    everything = (*found.containers, *found.networks, *found.volumes)
    assert everything
    assert found.projects().keys() == {project_name("a")}
    assert inventory(docker).projects().keys() == {project_name("a"), project_name("b")}
    ours = [each for each in inventory(docker).containers if each.project == project_name("a")]
    assert ours == list(found.containers)


def test_a_container_without_our_further_labels_is_still_found(docker: FakeDocker) -> None:
    docker.add("x", {"sandbox.stack": "p"}, state="created")
    assert [each.id for each in inventory(docker, "p").containers] == ["x"]


def test_a_stack_of_a_newer_version_is_read_as_far_as_it_is_known(docker: FakeDocker) -> None:
    running_stack(docker, "mysql@8.4", cpus="0.5")
    for each in docker.containers.values():
        inputs = json.loads(each["labels"]["sandbox.inputs"])
        each["labels"]["sandbox.inputs"] = json.dumps({**inputs, "gpus": 8})
    assert {each.inputs.cpus for each in containers(docker, project_name("default"))} == {"0.5"}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("3306/tcp", {}),
        ("127.0.0.1:49153->10000/tcp", {10000: ("127.0.0.1", 49153)}),
        (
            "127.0.0.1:7-8->10000-10001/tcp, 127.0.0.1:20->10005/tcp",
            {10000: ("127.0.0.1", 7), 10001: ("127.0.0.1", 8), 10005: ("127.0.0.1", 20)},
        ),
    ],
)
def test_published_ports_are_read_one_by_one(
    text: str, expected: dict[int, tuple[str, int]]
) -> None:
    assert published_ports(text) == expected


def test_numbers_count_as_numbers() -> None:
    assert sorted(["pxc10", "pxc2", "pxc1"], key=natural_order) == ["pxc1", "pxc2", "pxc10"]


def test_leftovers_are_stacks_of_which_nothing_runs() -> None:
    docker = FakeDocker()
    running_stack(docker, "mysql", name="alive")
    running_stack(docker, "mysql", name="dead")
    for name, container in docker.containers.items():
        container["state"] = "exited" if "dead" in name else "running"
    docker.volumes["v"] = {"sandbox.stack": "volume-only", "sandbox.checkout": "/x"}
    assert inventory(docker).leftovers().keys() == {project_name("dead"), "volume-only"}
