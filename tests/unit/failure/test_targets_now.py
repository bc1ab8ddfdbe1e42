"""Which nodes a fault hits: the writer is who answers a write through the entry point, whatever was
planned.
"""

from typing import Any

import pytest

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.failure.targets import chosen_nodes, writer_now
from sandbox.stack.protocol import EntryPoint
from unit.fake_stack import CLIENT, FakeStack, server

HAPROXY = EntryPoint("haproxy1", "haproxy1", 3307, 1, "haproxy1:rw")


def stack(**given: Any) -> FakeStack:
    """A source, two replicas and a proxy that leads to the second replica, which was promoted."""
    members = [
        server("mysql1"),
        server("replica1", "replica"),
        server("replica2", "replica"),
        server("haproxy1", "proxy", component="haproxy", family=None, topology=None, port=3307),
        CLIENT,
    ]
    roles: Any = {"mysql1": None, "replica1": "reader", "replica2": "writer"}
    found: dict[str, Any] = {"members": members, "role_of": roles, "entry": HAPROXY}
    return FakeStack(**{**found, "answers": {"SELECT @@hostname": [["replica2"]]}, **given})


def test_the_writer_is_who_takes_a_write_now() -> None:
    made = stack()
    assert writer_now(made, "client1", HAPROXY) == "replica2"
    assert made.asked[0] == (
        "haproxy1",
        "START TRANSACTION",
    ), "one transaction, which no proxy splits"
    assert [text.split()[0] for _, text in made.asked] == ["START", "INSERT", "SELECT", "COMMIT"]


@pytest.mark.parametrize(
    ("target", "nodes"),
    [
        ("writer", ["replica2"]),
        ("one-reader", ["replica1"]),
        ("all", ["mysql1", "replica1", "replica2"]),
        ("proxy", ["haproxy1"]),
    ],
)
def test_words_mean_the_nodes_of_now(target: str, nodes: list[str]) -> None:
    assert chosen_nodes(stack(), target, None, 1) == nodes


def test_a_named_node_is_found_without_a_write() -> None:
    made = stack(fail_sql={"START": (2003, "Can't connect")})
    assert chosen_nodes(made, "mysql1", None, 1) == ["mysql1"] and not made.asked


@pytest.mark.parametrize(
    ("writer", "asked_anew"),
    [("replica2", False), ("mysql1", True), (None, True)],
)
def test_roles_of_a_moment_ago_hold_while_their_writer_takes_the_write(
    writer: str | None, asked_anew: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, asked = stack(), list[str]()
    roles: Any = {**made.roles(), "replica2": "reader"} | ({writer: "writer"} if writer else {})

    def ask() -> Any:
        asked.append("roles")
        return made.role_of

    monkeypatch.setattr(made, "roles", ask)
    assert (
        chosen_nodes(made, "writer", None, 1, roles) == ["replica2"] and bool(asked) == asked_anew
    )


def test_no_write_that_gets_through_is_an_error_of_the_environment() -> None:
    with pytest.raises(MachineError) as refused:
        chosen_nodes(stack(fail_sql={"INSERT": (1290, "read-only")}), "writer", None, 1)
    assert refused.value.lines()[:2] == ["no write gets through haproxy1:rw", "read-only"]
    with pytest.raises(MachineError, match="no write"):
        chosen_nodes(stack(answers={}), "writer", None, 1)


@pytest.mark.parametrize(
    ("target", "via", "what"),
    [
        ("minority", None, "the stack has no target 'minority'"),
        ("wrtier", None, "there is no target 'wrtier'"),
        ("client1", None, "client1 cannot be a target"),
        ("writer", "nowhere", "there is no node 'nowhere'"),
    ],
)
def test_what_there_is_none_of_is_bad_input(target: str, via: str | None, what: str) -> None:
    with pytest.raises(SandboxError) as refused:
        chosen_nodes(stack(), target, via, 1)
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT


@pytest.mark.parametrize("target", ["writer", "all", "external1"])
def test_an_external_server_is_the_writer_without_a_write(target: str) -> None:
    made = stack(
        members=[server("external1", "external", has_container=False), CLIENT],
        entry=EntryPoint("external1", "db.example.com", 3306, 1, "external"),
    )
    assert chosen_nodes(made, target, None, 1) == ["external1"] and not made.asked
