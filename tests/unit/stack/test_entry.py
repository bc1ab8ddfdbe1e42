"""Entry points: the default, and what `VIA=` can name."""

from collections.abc import Mapping

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.plan import entry_words
from sandbox.stack.entry import Entries
from sandbox.stack.protocol import ServerRole
from unit.stack.fake_docker import FakeDocker
from unit.stack.small_stack import local_plan, running_stack

ROLES: Mapping[str, ServerRole | None] = {
    "mysql1": "writer", "mysql2": "writer", "replica1": "reader", "replica2": "reader",
    "cluster1": "reader", "cluster2": "writer", "cluster3": None,
}  # fmt: skip


def entries(
    profile: str, roles: Mapping[str, ServerRole | None] = ROLES, **request: str
) -> Entries:
    """Entry points of a running profile."""
    return Entries(running_stack(FakeDocker(), profile, **request).members, lambda: roles)


@pytest.mark.parametrize(
    ("profile", "via", "node", "port", "shown"),
    [
        ("mysql", None, "mysql1", 3306, "writer"),
        ("mysql+replica2", None, "mysql1", 3306, "writer"),
        ("mysql+replica2", "reader", "replica1", 3306, "reader"),
        ("mysql+replica2", "replica2", "replica2", 3306, "replica2"),
        ("mysql+replica2", "replica", "replica1", 3306, "replica"),
        ("cluster3", None, "cluster2", 3306, "writer"),
        ("cluster3", "cluster", "cluster2", 3306, "cluster"),
        ("cluster3", "cluster3", "cluster3", 3306, "cluster3"),
        ("mysql+replica1+balancer", None, "balancer1", 3306, "balancer1:rw"),
        ("mysql+replica1+balancer", "balancer", "balancer1", 3306, "balancer1:rw"),
        ("mysql+replica1+balancer", "balancer1:ro", "balancer1", 3307, "balancer1:ro"),
        ("mysql+replica1+balancer", "writer", "mysql1", 3306, "writer"),
        ("cluster3+balancer+router", None, "router1", 6446, "router1"),
        ("mysql@8.4+mysql@9.7", "mysql2", "mysql2", 3306, "mysql2"),
    ],
)
def test_an_entry_point_is_found(
    profile: str, via: str | None, node: str, port: int, shown: str
) -> None:
    entry = entries(profile).resolve(via)
    assert (entry.node, entry.host, entry.port, entry.via) == (node, node, port, shown)


@pytest.mark.parametrize(
    ("profile", "via", "word"),
    [
        ("mysql@8.4+mysql@9.7", None, "mysql2"),
        ("mysql@8.4+mysql@9.7", "writer", "mysql2"),
        ("mysql+balancer", "balancr", "did you mean 'balancer1'?"),
        ("mysql+balancer", "balancer1:admin", "rw, ro"),
        ("mysql+balancer", "balancer1:stats", "load can go to rw, ro"),
        ("mysql+balancer", "checker1", "balancer1"),
    ],
)
def test_what_is_ambiguous_or_unknown_is_refused(profile: str, via: str | None, word: str) -> None:
    with pytest.raises(SandboxError) as refused:
        entries(profile).resolve(via)
    assert refused.value.exit_code == ExitCode.BAD_INPUT
    assert word in refused.value.known


WRITERS: Mapping[str, ServerRole | None] = {f"cluster{number}": "writer" for number in (1, 2, 3)}


def test_every_member_of_a_cluster_that_takes_writes_is_one_entry_point() -> None:
    found = entries("cluster3+balancer", WRITERS).resolve("members")
    assert (found.node, found.hosts, found.port, found.via) == (
        "cluster1", ("cluster1", "cluster2", "cluster3"), 3306, "members"
    )  # fmt: skip
    assert (
        found.others == ("cluster2", "cluster3")
        and entries("cluster3", WRITERS).resolve("writer").others == ()
    )
    assert entries("cluster3", {**WRITERS, "cluster1": None}).resolve("members").hosts == (
        "cluster2",
        "cluster3",
    )


@pytest.mark.parametrize(
    ("profile", "reason"),
    [("cluster3", "cluster1 is a reader"), ("mysql+replica1", "no cluster"), ("mysql2", "cluster")],
)
def test_members_are_refused_where_not_all_of_them_take_writes(profile: str, reason: str) -> None:
    with pytest.raises(SandboxError, match="VIA=members needs a cluster") as refused:
        entries(profile).resolve("members")
    assert refused.value.exit_code == ExitCode.BAD_INPUT and reason in refused.value.known


def test_no_member_that_takes_writes_now_is_the_environments_fault() -> None:
    with pytest.raises(SandboxError) as none:
        entries("cluster3", dict.fromkeys(WRITERS)).resolve("members")
    assert none.value.exit_code == ExitCode.ENVIRONMENT


def test_no_server_with_the_role_is_the_environments_fault() -> None:
    with pytest.raises(SandboxError) as none:
        entries("mysql+replica1", {"mysql1": None, "replica1": "reader"}).resolve(None)
    assert none.value.exit_code == ExitCode.ENVIRONMENT
    assert "mysql1 no role" in none.value.known


def test_every_group_has_its_default() -> None:
    assert [entry.node for entry in entries("mysql+balancer+mysql").defaults()] == [
        "balancer1",
        "mysql2",
    ]
    assert [entry.node for entry in entries("mysql+balancer+mysql").writers()] == [
        "mysql1",
        "mysql2",
    ]


def test_a_proxy_that_shares_connections_says_so() -> None:
    assert not entries("mysql+balancer").resolve(None).multiplexes


def test_an_external_server_is_the_entry_point_of_its_group() -> None:
    found = entries("external", external="mysql://app@db.example:3307/shop").resolve(None)
    assert (found.host, found.port, found.user, found.schema, found.via) == (
        "db.example",
        3307,
        "app",
        "shop",
        "external",
    )
    short = entries("external", external="mysql://u@h").resolve(None)
    assert (short.port, short.schema) == (3306, "sbtest")


@pytest.mark.parametrize(
    ("profile", "unknown"),
    [
        ("mysql", "reader"),
        ("mysql+replica2", "replica3"),
        ("cluster3", "cluster4"),
        ("mysql@8.4+mysql@9.7", "mysql3"),
        ("mysql+replica1+balancer", "checker1"),
    ],
)
def test_the_words_of_a_plan_are_those_that_its_stack_will_know(profile: str, unknown: str) -> None:
    words, found = entry_words(local_plan(profile)), entries(profile)
    assert unknown not in words
    assert set(found.choices()) - {"reader", "members"} <= words
    for word in words:
        try:
            found.resolve(word)
        except SandboxError as error:
            assert "which one is meant" in error.what or "in several groups" in error.what, word


def test_an_external_server_has_its_words() -> None:
    words = entry_words(local_plan("external", external="mysql://app@db.example:3307/shop"))
    assert {"external", "external1", "writer"} <= words
