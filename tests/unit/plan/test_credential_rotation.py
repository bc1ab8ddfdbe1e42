"""New passwords for a restored server: what is said to it, and which plans can be restored at all."""

import pytest

from sandbox.library import load_library
from sandbox.plan.compose import Identity, compose_document, node_context
from sandbox.plan.credential_rotation import restorable, rotation_sql
from sandbox.plan.images import Availability
from sandbox.plan.model import Plan, PlanRequest, UserFile
from sandbox.plan.planner import make_plan
from sandbox.plan.secrets import PLACEHOLDER


def planned(profile: str, **request: object) -> Plan:
    """A plan from the real library."""
    return make_plan(PlanRequest(profile, **request), load_library(), Availability())  # type: ignore[arg-type]


def statements(profile: str, node: str) -> list[str]:
    """What a node is told when it is restored."""
    plan = planned(profile)
    return rotation_sql(plan.node(node), node_context(plan, plan.node(node), PLACEHOLDER)).splitlines()


@pytest.mark.parametrize(
    ("profile", "node"),
    [("mysql@9.7+replica1", "replica1"), ("mariadb@10.5+replica1", "replica1"), ("gr3@9.7", "gr2"),
     ("galera3@11.8", "galera3"), ("mysql@5.7", "mysql1"), ("ps@8.0", "ps1")],
)  # fmt: skip
def test_each_statement_is_one_line_without_a_comment(profile: str, node: str) -> None:
    lines = statements(profile, node)
    assert lines
    assert all(line.endswith(";") and line.count(";") == 1 and not line.startswith(("-", "#", "/")) for line in lines)


@pytest.mark.parametrize("profile", ["mysql@9.7+replica1", "mariadb@11.8+replica1", "gr3@9.7", "galera3@10.5"])
def test_every_account_of_the_first_start_gets_its_new_password(profile: str) -> None:
    plan = planned(profile)
    for node in plan.databases:
        context = node_context(plan, node, PLACEHOLDER)
        document = compose_document(plan, PLACEHOLDER, Identity("p", ""))
        sources = {mount["source"] for mount in document["services"][node.name]["configs"]}
        text = "".join(body["content"] for name, body in document["configs"].items() if name in sources)
        text = text.replace("CREATE USER IF NOT EXISTS", "CREATE USER")
        made = {line.split()[2] for line in text.splitlines() if line.startswith("CREATE USER")}
        told = "".join(line for line in rotation_sql(node, context).splitlines() if line.startswith("ALTER USER"))
        assert made
        assert {account for account in made if f"{account} IDENTIFIED BY" not in told} == set()


def test_nothing_of_it_reaches_another_server() -> None:
    assert statements("galera3@11.8", "galera1")[:2] == ["SET SESSION sql_log_bin = 0;", "SET SESSION wsrep_on = OFF;"]
    assert statements("gr3@9.7", "gr1")[0] == "SET SESSION sql_log_bin = 0;"


@pytest.mark.parametrize(
    ("profile", "request_", "can"),
    [
        ("mysql@9.7+replica2+haproxy", {}, True),
        ("galera3@11.8", {}, True),
        ("pxc3@8.4", {}, False),
        ("mysql@5.6", {}, False),
        ("mysql@9.7", {"assignments": ("init_file=/tmp/x",)}, False),
        ("mysql@9.7", {"cnf": UserFile("a.cnf", "[mysqld]\ninit-file=/x\n", "0")}, False),
        ("mysql@9.7", {"cnf": UserFile("a.cnf", "[mysqld]\n#init-file=/x\n", "0")}, True),
    ],
)
def test_which_plans_can_be_restored(profile: str, request_: dict[str, object], can: bool) -> None:
    assert restorable(planned(profile, **request_)) is can


def test_only_a_restored_stack_reads_it() -> None:
    plan = planned("mysql@9.7")
    plain = compose_document(plan, PLACEHOLDER, Identity("p", ""))
    restored = compose_document(plan, PLACEHOLDER, Identity("p", ""), "key")
    assert "init_file" not in str(plain)
    assert "init_file = /sandbox/renew.sql" in str(restored["configs"])
    assert restored["services"]["mysql1"]["labels"]["sandbox.restored"] == "key"
    (mount,) = [each for each in restored["services"]["mysql1"]["configs"] if each["target"] == "/sandbox/renew.sql"]
    assert (int(mount["mode"]), mount["uid"]) == (0o400, "999")
