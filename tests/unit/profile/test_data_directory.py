"""Data directories made elsewhere: who shares one, which plans can be restored, what such a server
is sent.
"""

from dataclasses import replace
from functools import cache

import pytest

from sandbox.profile.compose import compose_document, plan_hash
from sandbox.profile.data_directory import base_requests, data_request, restorable, rotation_sql
from sandbox.profile.images import Availability
from sandbox.profile.library import Library, Setting
from sandbox.profile.names import Identity, canonical
from sandbox.profile.plan import Plan, PlanRequest, UserFile
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables

FIRST_START = "/docker-entrypoint-initdb.d"


@cache
def library() -> Library:
    """The real one."""
    return load_library()


def planned(request: PlanRequest) -> Plan:
    """A plan from the real library."""
    return make_plan(request, library(), Availability())


def base_hashes(profile: str, **request: object) -> dict[str, str]:
    """Server → hash of the plan of its base data directory."""
    found = base_requests(planned(PlanRequest(profile, **request)), library())  # type: ignore[arg-type]
    return {node: plan_hash(planned(each)) for node, each in found.items()}


@pytest.mark.parametrize(
    ("profile", "plain"),
    [
        ("mysql@9.7+replica2+haproxy", "mysql@9.7"),
        ("gr3@9.7+router", "mysql@9.7"),
        ("gr3@9.7+multi-primary+threadpool", "mysql@9.7"),
        ("galera3@11.8", "mariadb@11.8"),
        ("mariadb@10.5+replica1+semisync", "mariadb@10.5"),
        ("psgr3@8.4", "ps@8.4"),
    ],
)
def test_every_server_of_an_image_begins_from_the_same_directory(profile: str, plain: str) -> None:
    found = base_hashes(profile)
    assert set(found.values()) == {plan_hash(planned(PlanRequest(plain)))}
    assert set(found) == {node.name for node in planned(PlanRequest(profile)).databases}


def test_each_version_has_its_own() -> None:
    assert len(set(base_hashes("mariadb@10.11+replica@11.8").values())) == 2


@pytest.mark.parametrize(
    ("profile", "request_"),
    [
        ("mysql@9.7+rewriter", {}),
        ("mysql@9.7+doublewrite-off", {}),
        ("mysql@9.7", {"assignments": ("innodb_page_size=8k",)}),
        ("mysql@9.7", {"assignments": ("collation-server='utf8mb4_bin'",)}),
    ],
)
def test_what_shapes_a_directory_makes_it_another_one(
    profile: str, request_: dict[str, object]
) -> None:
    assert set(base_hashes(profile, **request_).values()).isdisjoint(
        base_hashes("mysql@9.7").values()
    )


PAGES = {
    f"pages-{size}": Setting.model_validate({
        "name": f"pages-{size}", "help": "pages of one size", "applies_to": "databases",
        "variants": [{"variables": {"innodb_page_size": size}, "proof": {"query": "SELECT 1"}}],
    }) for size in ("8k", "16k")
}  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "pairs", "size"),
    [
        ("mysql@9.7", "innodb_page_size=8k innodb_page_size=16k", "16k"),
        ("mysql@9.7", "innodb_page_size=16k innodb-page-size=8k", "8k"),
        (
            "mysql@9.7",
            "innodb_page_size=8k loose_innodb_page_size=16k mysql1:loose_innodb_page_size=4k",
            "4k",
        ),
        ("mysql@9.7+pages-16k+pages-8k", "", "8k"),
        ("mysql@9.7+pages-8k+pages-16k", "", "16k"),
        ("mysql@9.7+pages-8k", "innodb_page_size=16k", "16k"),
    ],
)
def test_of_a_variable_given_twice_the_last_value_shapes_the_directory(
    profile: str, pairs: str, size: str
) -> None:
    whole = replace(library(), settings={**library().settings, **PAGES})
    plan = make_plan(PlanRequest(profile, assignments=(pairs,)), whole, Availability())
    data = data_request(plan)
    assert data is not None
    for each in (plan.request, base_requests(plan, whole)["mysql1"], data):
        made = make_plan(each, whole, Availability())
        variables = effective_variables(
            made.databases[0], node_context(made, made.databases[0], PLACEHOLDER)
        )
        # The server reads downwards.
        found = {name.removeprefix("loose_"): value for name, value in variables.items()}
        assert found["innodb_page_size"] == size


@pytest.mark.parametrize("pair", ["max_connections=300", "innodb_buffer_pool_size=1G"])
def test_what_does_not_shape_it_makes_no_difference(pair: str) -> None:
    assert base_hashes("mysql@9.7", assignments=(pair,)) == base_hashes("mysql@9.7")


@pytest.mark.parametrize(
    ("profile", "request_"),
    [
        ("pxc3@8.4", {}),
        ("mysql@5.6", {}),
        ("mysql@9.7", {"cnf": UserFile("a.cnf", "[mysqld]\ninnodb-page-size = 8k\n", "0")}),
        ("mysql@9.7", {"cnf": UserFile("a.cnf", "!includedir /elsewhere\n", "0")}),
    ],
)
def test_who_cannot_begin_from_one_begins_from_nothing(
    profile: str, request_: dict[str, object]
) -> None:
    assert base_hashes(profile, **request_) == {}


def test_a_file_that_shapes_nothing_does_not_rule_it_out() -> None:
    assert base_hashes(
        "mysql@9.7", cnf=UserFile("a.cnf", "[mysqld]\nmax-connections = 9\n", "0")
    ) == base_hashes("mysql@9.7")


@pytest.mark.parametrize(
    "profile", ["mysql@9.7+replica1", "gr3@9.7", "galera3@11.8", "mariadb@10.11+replica@11.8"]
)
def test_the_first_start_of_a_base_directory_has_had_nothing_that_is_not_said_again(
    profile: str,
) -> None:
    """Every object of a server's own first start comes from its base data directory or the
    credential rotation.
    """
    plan = planned(PlanRequest(profile))
    requests = base_requests(plan, library())
    restored = compose_document(plan, PLACEHOLDER, Identity("p", ""), "key")
    for node in plan.databases:
        base = planned(requests[node.name])
        had = _first_start(
            compose_document(base, PLACEHOLDER, Identity("p", "")), base.databases[0].name
        )
        renewal = _texts(restored, node.name, "/sandbox/renew.sql")
        for line in _first_start(restored, node.name).splitlines():
            if line.startswith(("CREATE", "GRANT", "CHANGE", "INSERT")):
                assert line in had or line.strip(" (") in renewal, line


def _first_start(document: dict, node: str) -> str:  # type: ignore[type-arg]
    return _texts(document, node, FIRST_START)


def _texts(document: dict, node: str, target: str) -> str:  # type: ignore[type-arg]
    mounts = document["services"][node]["configs"]
    return "\n".join(
        document["configs"][m["source"]]["content"]
        for m in mounts
        if m["target"].startswith(target)
    )


def test_no_component_shapes_a_directory_otherwise_than_its_base_directory() -> None:
    for name in library().components.names():
        component = library().components.get(name)
        if component.spec.kind == "database" and component.spec.base_directory:
            base = library().components.get(component.spec.base_directory).spec
            shaping = set(component.spec.shaping)
            mine = {
                key: value
                for key, value in component.spec.variables.items()
                if canonical(key) in shaping
            }
            assert mine == {
                key: value for key, value in base.variables.items() if canonical(key) in shaping
            }


@pytest.mark.parametrize(
    ("profile", "request_", "data"),
    [
        ("gr3@9.7+router+threadpool", {}, "gr3@9.7"),
        ("mysql@9.7+replica2+haproxy+relaxed", {}, "mysql@9.7+replica2"),
        ("mysql@9.7+rewriter+threadpool", {}, "mysql@9.7+rewriter"),
        (
            "mysql@9.7+prometheus+mysql@8.4+doublewrite-off",
            {},
            "mysql@9.7+mysql@8.4+doublewrite-off",
        ),
        ("mysql@9.7", {"assignments": ("max_connections=9 innodb_page_size=8k",)}, "mysql@9.7"),
    ],
)
def test_data_is_shared_by_what_differs_in_nothing_that_shapes_it(
    profile: str, request_: dict[str, object], data: str
) -> None:
    found = data_request(planned(PlanRequest(profile, **request_)))  # type: ignore[arg-type]
    assert found is not None
    assert found.profile == data
    assert all("innodb_page_size" in pair for pair in found.assignments)
    names = {node.name for node in planned(PlanRequest(profile, **request_)).databases}  # type: ignore[arg-type]
    assert {node.name for node in planned(found).databases} == names


def test_data_of_a_cluster_that_cannot_be_restored_is_not_kept() -> None:
    assert data_request(planned(PlanRequest("pxc3@8.4"))) is None


def statements(profile: str, node: str) -> list[str]:
    """What a node is sent when it is restored."""
    plan = planned(PlanRequest(profile))
    return rotation_sql(
        plan.node(node), node_context(plan, plan.node(node), PLACEHOLDER)
    ).splitlines()


@pytest.mark.parametrize(
    ("profile", "node"),
    [("mysql@9.7+replica1", "replica1"), ("mariadb@10.5+replica1", "replica1"), ("gr3@9.7", "gr2"),
     ("galera3@11.8", "galera3"), ("mysql@5.7", "mysql1"), ("ps@8.0", "ps1")],
)  # fmt: skip
def test_each_statement_is_one_line_without_a_comment(profile: str, node: str) -> None:
    lines = statements(profile, node)
    assert lines
    assert all(
        line.endswith(";") and line.count(";") == 1 and not line.startswith(("-", "#", "/"))
        for line in lines
    )


@pytest.mark.parametrize(
    "profile", ["mysql@9.7+replica1", "mariadb@11.8+replica1", "gr3@9.7", "galera3@10.5"]
)
def test_every_account_of_the_first_start_gets_its_new_password(profile: str) -> None:
    plan = planned(PlanRequest(profile))
    for node in plan.databases:
        context = node_context(plan, node, PLACEHOLDER)
        document = compose_document(plan, PLACEHOLDER, Identity("p", ""))
        sources = {mount["source"] for mount in document["services"][node.name]["configs"]}
        text = "".join(
            body["content"] for name, body in document["configs"].items() if name in sources
        )
        text = text.replace("CREATE USER IF NOT EXISTS", "CREATE USER")
        made = {line.split()[2] for line in text.splitlines() if line.startswith("CREATE USER")}
        renewal = "".join(
            line
            for line in rotation_sql(node, context).splitlines()
            if line.startswith("ALTER USER")
        )
        assert made
        assert {account for account in made if f"{account} IDENTIFIED BY" not in renewal} == set()


def test_nothing_of_it_reaches_another_server() -> None:
    assert statements("galera3@11.8", "galera1")[:2] == [
        "SET SESSION sql_log_bin = 0;",
        "SET SESSION wsrep_on = OFF;",
    ]
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
    assert restorable(planned(PlanRequest(profile, **request_))) is can  # type: ignore[arg-type]


def test_only_a_restored_stack_reads_it() -> None:
    plan = planned(PlanRequest("mysql@9.7"))
    plain = compose_document(plan, PLACEHOLDER, Identity("p", ""))
    restored = compose_document(plan, PLACEHOLDER, Identity("p", ""), "key")
    assert "init_file" not in str(plain)
    assert "init_file = /sandbox/renew.sql" in str(restored["configs"])
    assert restored["services"]["mysql1"]["labels"]["sandbox.restored"] == "key"
    (mount,) = [
        each
        for each in restored["services"]["mysql1"]["configs"]
        if each["target"] == "/sandbox/renew.sql"
    ]
    assert (int(mount["mode"]), mount["uid"]) == (0o400, "999")
