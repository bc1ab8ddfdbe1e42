"""CPUS=, MEMORY= and DISK=: which node gets what, and what is refused."""

from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.compose import compose_document, inputs
from sandbox.profile.limits import check_limits, parse_disk, read_limit
from sandbox.profile.names import DISK, Identity
from sandbox.profile.templates import PLACEHOLDER
from sandbox.report.plan import plan_document
from sandbox.report.render import terminal
from unit.profile.small_library import plan


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("ext4:4g", ("ext4", 4 << 30)),
        ("xfs:1024m", ("xfs", 1 << 30)),
        ("BTRFS:2G", ("btrfs", 2 << 30)),
    ],
)
def test_a_disk_is_a_file_system_and_a_size(text: str, found: tuple[str, int]) -> None:
    assert parse_disk(text) == found


@pytest.mark.parametrize(
    "text", ["", "4g", "ext4", "ext4:", "zfs:4g", "ext4:4", "ext4:0.5g", "ext4:-4g", "ext4:4gb "]
)
def test_what_is_no_disk_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SandboxError) as refused:
        check_limits(None, None, disk=text)
    assert (
        refused.value.exit_code == 2
        and refused.value.next_step == "try: make up PROFILE=mysql@9.7 DISK=ext4:4g"
    )
    assert "ext4, xfs, btrfs" in refused.value.known


def test_a_disk_that_a_data_directory_would_fill_is_refused() -> None:
    with pytest.raises(SandboxError) as refused:
        check_limits(None, None, disk="xfs:1023m")
    assert "1g" in refused.value.known and refused.value.exit_code == 2


def limits(profile: str, key: str, **request: Any) -> dict[str, str]:
    """Node → one key of its Compose service, of the nodes that have it."""
    made = plan(profile, **request)
    services = compose_document(made, PLACEHOLDER, Identity("p", "c"))["services"]
    return {name: body[key] for name, body in services.items() if key in body}


def test_a_plain_value_is_for_every_database_node() -> None:
    both = {"mysql1": "1", "replica1": "1"}
    assert limits("mysql+replica+balancer", "cpus", cpus="1") == both


def test_the_nearest_name_counts_whatever_the_order() -> None:
    asked = "replica2:0.5 2 replica:1 balancer:0.2"
    assert limits("mysql+replica2+balancer", "cpus", cpus=asked) == {
        "mysql1": "2",
        "replica1": "1",
        "replica2": "0.5",
        "balancer1": "0.2",
    }


def test_a_node_may_have_the_only_limit() -> None:
    assert limits("mysql+replica", "mem_limit", memory="replica1:512m") == {"replica1": "512m"}
    assert limits("mysql+balancer", "mem_limit", memory="client1:512m") == {"client1": "512m"}


def test_memory_counts_what_each_node_may_take() -> None:
    assert plan("mysql+replica", memory="1g replica1:512m").memory_mb == 1024 + 512 + 100


def test_a_node_may_have_a_disk_of_its_own() -> None:
    made = plan("mysql+replica2", disk="ext4:4g replica1:xfs:8g")
    volumes = compose_document(made, PLACEHOLDER, Identity("p", "c"))["volumes"]
    assert {name: body[DISK] for name, body in volumes.items() if DISK in body} == {
        "mysql1-data": "ext4:4g",
        "replica1-data": "xfs:8g",
        "replica2-data": "ext4:4g",
    }


def test_limits_are_recorded_as_typed() -> None:
    found = inputs(plan("mysql+replica", cpus="1  replica1:0.5", disk="mysql1:ext4:4g"))
    assert (found["cpus"], found["disk"]) == ("1  replica1:0.5", "mysql1:ext4:4g")


def test_the_plan_shows_which_node_has_what() -> None:
    made = plan("mysql+replica2", cpus="1 replica2:0.5", memory="replica2:512m")
    text = terminal.text(plan_document(made))
    assert "CPUS 1 for mysql1, replica1" in text
    assert "CPUS 0.5, MEMORY 512m for replica2" in text


@pytest.mark.parametrize(
    ("request_", "what", "known", "step"),
    [
        ({"cpus": "1 2"}, "CPUS=1 2 has two values for every", "1 galera2:0.5", "CPUS='1'"),
        ({"cpus": "mysql1:1 mysql1:2"}, "has two values for mysql1", "", ""),
        ({"cpus": "1 mysql1:x"}, "CPUS=mysql1:x is not a number", "such as 1", ""),
        ({"cpus": "mysql1:0"}, "CPUS=mysql1:0 leaves a server no CPU", "", ""),
        ({"cpus": "mysql2:1"}, "CPUS: 'mysql2' is no node of the profile", "'mysql", "make plan"),
        ({"memory": "repilca:1g"}, "MEMORY: 'repilca' is no node", "'replica", "lists its nodes"),
        ({"memory": "1g checker1:many"}, "MEMORY=checker1:many is not a valid amount", "512m", ""),
        ({"memory": "1g replica1:100m"}, "too little for replica1", "400", "'1g replica1:400m'"),
        ({"disk": "balancer:ext4:4g"}, "'balancer' is no database node", "", ""),
        ({"disk": "ext4:4g replica1:xfs"}, "DISK=replica1:xfs is not a valid disk", "such as", ""),
    ],
)
def test_a_limit_that_no_node_can_have_is_refused(
    request_: dict[str, Any], what: str, known: str, step: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        plan("mysql+replica+balancer", **request_)
    assert what in refused.value.what
    assert known in refused.value.known
    assert step in refused.value.next_step
    assert refused.value.exit_code == 2


def test_the_file_system_is_no_name_of_a_node() -> None:
    assert read_limit("DISK", "ext4:4g replica1:xfs:8g").values == {
        None: "ext4:4g",
        "replica1": "xfs:8g",
    }
