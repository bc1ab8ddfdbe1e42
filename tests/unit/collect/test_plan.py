"""What is asked of a node: by its kind, its topology, its family, and the state that it is in."""

from typing import Any

import pytest

from sandbox.collect.piece import SqlPiece
from sandbox.collect.plan import PIECES, SMALL, CollectOptions, pairs_in, plan_of, request_of
from sandbox.collect.readme import Titles, by_folder, readme
from sandbox.stack.protocol import StackNode
from unit.fake_stack import CLIENT, server

ALL = CollectOptions()


def files(node: StackNode, state: str = "running", options: CollectOptions = ALL) -> set[str]:
    """The files that are asked for."""
    return {piece.file for piece in plan_of(node, state, options).pieces}


def member(topology: str, family: str) -> StackNode:
    """A member of a cluster."""
    return server(f"{topology}1", component=topology, topology=topology, family=family)


def proxy(component: str) -> StackNode:
    """A proxy."""
    return server(f"{component}1", "proxy", component=component, family=None, topology=None)


def test_every_server_is_asked_for_its_state_its_locks_and_its_threads() -> None:
    asked = {
        "innodb-status.txt", "processlist.tsv", "metadata-lock-waits.tsv", "row-lock-waits.tsv",
        "variables.tsv", "status.tsv", "binary-log.txt", "gtid.txt", "replication.txt",
        "stacks.txt", "configuration.txt", "pt-mysql-summary.txt", "pt-stalk.txt",
    }  # fmt: skip
    for node in (server("mysql1"), member("galera", "mariadb"), member("gr", "mysql")):
        assert asked <= files(node)


@pytest.mark.parametrize(
    ("node", "own"),
    [
        (member("galera", "mariadb"), {"wsrep-status.tsv", "wsrep-members.tsv"}),
        (member("gr", "mysql"), {"group-members.txt", "group-member-stats.txt"}),
        (proxy("proxysql"), {"servers.tsv", "connection-pool.tsv", "query-rules.tsv"}),
        (proxy("haproxy"), {"stats.csv"}),
        (proxy("maxscale"), {"maxscale.txt"}),
    ],
)
def test_a_topology_and_a_proxy_have_pieces_of_their_own(node: StackNode, own: set[str]) -> None:
    assert own <= files(node)
    assert not own & files(server("mysql1"))


def test_each_family_is_asked_in_its_own_words() -> None:
    def statements(family: str) -> list[str]:
        plan = plan_of(server("s1", family=family), "running", ALL)
        (piece,) = (each for each in plan.sql if each.file == "replication.txt")
        return list(piece.statements)

    assert statements("mysql") == ["show replica status", "show slave status"]
    assert "show all slaves status" in statements("mariadb")


def test_no_node_is_asked_for_one_file_twice() -> None:
    nodes = [server("mysql1"), member("galera", "mariadb"), member("gr", "mysql"), CLIENT]
    nodes += [proxy(each) for each in ("haproxy", "proxysql", "maxscale", "router")]
    for node in nodes:
        asked = [piece.file for piece in plan_of(node, "running", ALL).pieces]
        assert len({*asked}) == len(asked), node.name


def test_a_client_has_no_server_and_no_program_with_threads() -> None:
    assert {"network.txt", "processes.txt"} <= files(CLIENT)
    assert not {"stacks.txt", "processlist.tsv"} & files(CLIENT)


def test_what_is_not_wanted_is_not_asked() -> None:
    assert "stacks.txt" not in files(server("mysql1"), options=CollectOptions(stacks=False))
    assert "stacks.txt" in files(server("mysql1"), options=SMALL)
    assert not {"pt-stalk.txt", "pt-mysql-summary.txt"} & files(server("mysql1"), options=SMALL)


def test_a_frozen_node_is_looked_at_and_neither_asked_nor_traced() -> None:
    plan = plan_of(server("mysql1"), "paused", CollectOptions(core=True))
    assert not plan.sql and not plan.core
    assert {"threads.txt", "network.txt", "own-logs.txt"} <= {each.file for each in plan.beside}
    assert {"stacks.txt", "processlist.tsv", "pt-stalk.txt", "core"} <= plan.left_out.keys()
    assert all("frozen" in reason for reason in plan.left_out.values())


def test_one_that_has_ended_says_why_nothing_is_asked() -> None:
    plan = plan_of(server("mysql1"), "exited (139)", ALL)
    assert not plan.pieces
    assert "exited (139)" in plan.left_out["."]


def test_an_external_server_is_asked_in_sql_alone() -> None:
    node = server("external1", "external", has_container=False, host="db.example.org", port=3307)
    plan = plan_of(node, "external", ALL)
    assert plan.sql and not plan.beside and not plan.inside
    (request,) = request_of(plan, "")["sql"]
    assert request["address"] == {"host": "db.example.org", "port": 3307}
    assert request["account"].endswith("/sandbox/app.cnf")


def test_a_request_has_each_account_once_and_what_takes_longest_last() -> None:
    request: dict[str, Any] = request_of(plan_of(server("mysql1"), "running", ALL), "functions")
    (sql,) = request["sql"]
    assert sql["account"] == "/proc/1/root/sandbox/client.cnf"
    assert len(sql["pieces"]) > 20
    scripts = [each["file"] for each in request["scripts"]]
    assert scripts[0] == "stacks.txt"
    late = [each["file"] for each in request["scripts"] if each["is_late"]]
    assert late == ["pt-mysql-summary.txt", "pt-stalk.txt"]
    assert request["core_limit_s"] == 0


def test_values_are_masked_by_name_wherever_names_stand_before_them() -> None:
    pairs = pairs_in(plan_of(member("galera", "mariadb"), "running", ALL))
    assert pairs == {"variables.tsv", "status.tsv", "wsrep-status.tsv", "wsrep-variables.tsv"}


def test_statements_only_read() -> None:
    for piece in PIECES:
        for statement in piece.statements if isinstance(piece, SqlPiece) else ():
            assert statement.split()[0] in ("select", "show"), statement


def test_the_readme_says_what_each_file_is_and_what_could_not_be_had() -> None:
    found = {"stack.json": 10, "mysql1/stacks.txt": 2000, "mysql1/core.mysqld.7": 5, "x/log.txt": 1}
    missing = {"mysql1/pt-stalk.txt": "not in the image", "x": "it has ended"}
    titles = Titles("a", "mysql", "2026-11-30 01:02:03", "sandbox 1")
    text = readme(titles, [server("mysql1"), server("x")], found, missing)
    for word in ("the stacks of all threads", "the core of a program", "error log of a server"):
        assert word in text
    assert "  not in the image\n      mysql1/pt-stalk.txt\n  it has ended\n      x\n" in text
    assert by_folder(found, missing, ["mysql1", "x"]) == [
        ("-", 1, 10, 0), ("mysql1", 2, 2005, 1), ("x", 1, 1, 1),
    ]  # fmt: skip


def test_each_piece_is_described() -> None:
    assert all(piece.about for piece in PIECES)
