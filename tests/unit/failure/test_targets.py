"""Target words mean nodes of the stack as it is now."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.failure.targets import WORDS, choose, minority_of, refuse_impossible, with_host
from sandbox.stack.protocol import ServerRole, StackNode
from unit.fake_stack import CLIENT, server

PROXY = server("haproxy1", "proxy", family=None, topology=None)
CHECKER = server("checker1", "proxy", family=None, topology=None, port=None)
MANAGER = server("orchestrator1", "manager", family=None, topology=None, port=3000)
SEEDS = st.integers(0, 2**32)
ALONE = [server("mysql1"), CLIENT]
REPLICATED = [
    server("mysql1"),
    server("replica1", "replica"),
    server("replica2", "replica"),
    MANAGER,
    CLIENT,
]


def cluster(size: int, replicas: int = 1) -> list[StackNode]:
    """A cluster with replicas behind a proxy, and another group."""
    members = [server(f"galera{number}") for number in range(1, size + 1)]
    own = members + [server(f"replica{number}", "replica") for number in range(1, replicas + 1)]
    return [*own, PROXY, CHECKER, server("mysql1", group_index=2), CLIENT]


def roles_of(nodes: list[StackNode], writer: str) -> dict[str, ServerRole | None]:
    """The roles while everything works."""
    return {
        node.name: "writer" if node.name == writer else "reader" for node in nodes if node.is_server
    }


def chosen(
    word: str, nodes: list[StackNode], writer: str = "galera1", seed: int = 1, **roles: Any
) -> list[str]:
    """What a word means in the first group; ``roles`` differ from those of a stack that works."""
    return choose(word, nodes, {**roles_of(nodes, writer), **roles}, writer, 1, seed)


def test_words_of_a_cluster() -> None:
    nodes = cluster(3)
    assert chosen("writer", nodes) == ["galera1"]
    assert chosen("all-readers", nodes) == ["galera2", "galera3", "replica1"]
    assert chosen("all", nodes) == ["galera1", "galera2", "galera3", "replica1"]
    assert chosen("proxy", nodes) == ["haproxy1"]
    assert len(chosen("minority", nodes)) == 1 and len(chosen("majority", nodes)) == 2


def test_a_proxy_is_the_one_through_which_the_load_goes() -> None:
    """Else the last one that has a port: that is the entry point of the group."""
    nodes = [*cluster(3), server("haproxy2", "proxy", family=None, topology=None)]
    assert chosen("proxy", nodes) == ["haproxy2"]
    roles = roles_of(nodes, "galera1")
    assert choose("proxy", nodes, roles, "galera1", 1, 1, "haproxy1") == ["haproxy1"]
    assert choose("proxy", nodes, roles, "galera1", 1, 1, "galera2") == ["haproxy2"]


@pytest.mark.parametrize(
    ("name", "word", "what"),
    [
        ("hang", "minority", "the stack has no target 'minority'"),
        ("hang", "one-raeder", "there is no target 'one-raeder'"),
        ("server-crash", "orchestrator1", "the fault server-crash cannot hit orchestrator1"),
        ("switchover", "client1", "client1 cannot be a target"),
    ],
)
def test_a_target_that_a_stack_never_has_is_impossible(name: str, word: str, what: str) -> None:
    with pytest.raises(SandboxError) as refused:
        refuse_impossible(name, word, REPLICATED, 1)
    assert refused.value.what == what and refused.value.exit_code is ExitCode.BAD_INPUT
    for known in ("writer", "one-reader", "all-readers", "all", "replica2"):
        refuse_impossible(name, known, REPLICATED, 1)


def test_what_stands_on_the_host_of_a_node_is_hit_behind_it() -> None:
    companions = [
        server(f"sshd{number}", "manager", family=None, topology=None, host_of=host)
        for number, host in enumerate(("mysql1", "replica1", "replica2"), 1)
    ]
    nodes = [*REPLICATED[:-1], *companions, CLIENT]
    assert with_host(nodes, ["replica2", "mysql1"]) == ["replica2", "mysql1", "sshd1", "sshd3"]
    assert with_host(nodes, ["sshd1", "mysql1"]) == ["sshd1", "mysql1"]
    assert with_host(nodes, ["orchestrator1"]) == ["orchestrator1"]


@pytest.mark.parametrize("name", ["galera3", "mysql1", "haproxy1", "checker1"])
def test_a_node_is_a_target_by_its_name(name: str) -> None:
    assert chosen(name, cluster(3)) == [name]


def test_the_second_group_has_its_own() -> None:
    nodes = [
        server("mysql1"),
        server("galera1", group_index=2),
        server("galera2", group_index=2),
        CLIENT,
    ]
    assert choose("all-readers", nodes, roles_of(nodes, "mysql1"), "galera1", 2, 1) == ["galera2"]


def test_of_several_writers_the_one_that_answered_is_the_writer() -> None:
    everyone: dict[str, ServerRole | None] = {
        "galera1": "writer",
        "galera2": "writer",
        "galera3": "writer",
    }
    assert choose("all-readers", cluster(3, replicas=0), everyone, "galera2", 1, 1) == [
        "galera1",
        "galera3",
    ]


def test_a_reader_that_does_not_answer_is_not_drawn() -> None:
    nodes = cluster(3, replicas=0)
    assert {tuple(chosen("one-reader", nodes, seed=seed, galera2=None)) for seed in range(20)} == {
        ("galera3",)
    }
    assert chosen("all-readers", nodes, galera2=None) == ["galera3"]
    assert "galera2" in chosen("all", nodes, galera2=None)


@given(seed=SEEDS)
def test_one_reader_is_one_of_all_readers(seed: int) -> None:
    nodes = cluster(5)
    assert set(chosen("one-reader", nodes, seed=seed)) < set(chosen("all-readers", nodes))


@given(size=st.integers(3, 9), replicas=st.integers(0, 3), seed=SEEDS)
def test_minority_and_majority_share_the_members_among_them(
    size: int, replicas: int, seed: int
) -> None:
    nodes = cluster(size, replicas)
    minority, majority = chosen("minority", nodes, seed=seed), chosen("majority", nodes, seed=seed)
    assert len(minority) * 2 < size < (len(minority) + 1) * 2 + (size % 2 == 0), (
        "the largest that is no majority"
    )
    assert len(majority) * 2 > size
    assert sorted(minority + majority) == sorted(f"galera{number}" for number in range(1, size + 1))


@given(members=st.lists(st.text(min_size=1), unique=True, max_size=9), seed=SEEDS)
def test_a_minority_does_not_depend_on_the_order(members: list[str], seed: int) -> None:
    assert minority_of(members, seed) == minority_of(members[::-1], seed)
    assert set(minority_of(members, seed)) <= set(members)


@given(word=st.sampled_from(WORDS), size=st.integers(3, 9), seed=SEEDS)
def test_every_word_means_distinct_nodes_in_the_order_of_the_stack(
    word: str, size: int, seed: int
) -> None:
    nodes = cluster(size)
    names = [node.name for node in nodes]
    found = chosen(word, nodes, seed=seed)
    assert found == sorted(set(found), key=names.index) and found == chosen(word, nodes, seed=seed)
    assert "mysql1" not in found and "client1" not in found


def test_every_member_is_drawn_by_some_seed() -> None:
    nodes = cluster(3, replicas=0)
    assert {chosen("minority", nodes, seed=seed)[0] for seed in range(50)} == {
        "galera1",
        "galera2",
        "galera3",
    }
    assert {chosen("one-reader", nodes, seed=seed)[0] for seed in range(50)} == {
        "galera2",
        "galera3",
    }


def test_two_nodes_have_a_majority_of_both() -> None:
    assert chosen("majority", cluster(2)) == ["galera1", "galera2"]


@pytest.mark.parametrize(
    ("word", "nodes", "what", "known"),
    [
        (
            "one-reader",
            ALONE,
            "the stack has no target 'one-reader'",
            "no server except the writer answers",
        ),
        (
            "all-readers",
            ALONE,
            "the stack has no target 'all-readers'",
            "no server except the writer answers",
        ),
        ("proxy", REPLICATED, "the stack has no target 'proxy'", "its group has no proxy"),
        (
            "minority",
            REPLICATED,
            "the stack has no target 'minority'",
            "a minority needs three database nodes; here: mysql1",
        ),
        (
            "majority",
            ALONE,
            "the stack has no target 'majority'",
            "a majority needs two database nodes; here: mysql1",
        ),
        ("wirter", ALONE, "there is no target 'wirter'", "did you mean 'writer'?"),
        ("replica3", REPLICATED, "there is no target 'replica3'", "did you mean 'replica"),
        (
            "client1",
            REPLICATED,
            "client1 cannot be a target",
            "nodes that can be hit: mysql1, replica1, replica2, orchestrator1",
        ),
    ],
)
def test_a_target_that_there_is_none_of_is_refused(
    word: str, nodes: list[StackNode], what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        chosen(word, nodes, "mysql1")
    assert refused.value.what == what and known in refused.value.known
    assert refused.value.exit_code is ExitCode.BAD_INPUT and len(refused.value.lines()) == 3


EXTERNAL = [server("external1", "external", has_container=False), CLIENT]


@pytest.mark.parametrize("word", ["writer", "all", "external1"])
def test_an_external_server_is_the_writer_of_its_group(word: str) -> None:
    assert choose(word, EXTERNAL, {}, "external1", 1, 1) == ["external1"]


@pytest.mark.parametrize("word", ["one-reader", "all-readers", "minority", "majority", "proxy"])
def test_an_external_server_is_nothing_else(word: str) -> None:
    with pytest.raises(SandboxError, match=f"the stack has no target '{word}'"):
        choose(word, EXTERNAL, {}, "external1", 1, 1)


def test_a_writer_that_is_no_node_is_refused() -> None:
    with pytest.raises(SandboxError, match="there is no target 'elsewhere'"):
        chosen("writer", cluster(3), "elsewhere")
