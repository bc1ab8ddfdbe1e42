"""Plan → the one Compose file: private, labelled, self-contained."""

from configparser import ConfigParser
from typing import Any

import pytest
import yaml

from sandbox.profile.compose import compose_document, compose_text, plan_hash
from sandbox.profile.images import Availability
from sandbox.profile.names import Identity
from sandbox.profile.plan import PlanRequest, UserFile
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER, Secrets
from unit.profile.small_library import plan

IDENTITY = Identity("sandbox-default-abcdef", "/checkout")
OTHER = Secrets(*("another" + str(number) for number in range(14)))


def document(profile: str, secrets: Secrets = PLACEHOLDER, **request: Any) -> dict[str, Any]:
    """The Compose file of a profile over the small library."""
    return compose_document(plan(profile, **request), secrets, IDENTITY)


def mounts(composed: dict[str, Any], node: str) -> dict[str, str]:
    """What a node sees: target → content, as Compose hands it out."""
    entries = composed["services"][node]["configs"]
    return {
        each["target"]: composed["configs"][each["source"]]["content"].replace("$$", "$")
        for each in entries
    }


def test_every_service_has_the_shares_that_a_container_is_weighed_back_to() -> None:
    services = document("mysql+balancer")["services"]
    assert {name: each["cpu_shares"] for name, each in services.items()} == dict.fromkeys(
        services, 1024
    )


def test_a_node_is_a_service_of_its_own_name_that_never_restarts_by_itself() -> None:
    service = document("mysql@8.4")["services"]["mysql1"]
    assert service["image"] == "mysql:8.4.11"
    assert service["hostname"] == "mysql1"
    assert service["restart"] == "no"
    assert service["stop_grace_period"] == "10s"
    assert "ports" not in service
    assert "container_name" not in service


def test_the_network_is_private_and_external_gives_the_client_alone_a_way_out() -> None:
    assert document("mysql")["networks"]["stack"]["internal"] is True
    composed = document("external+mysql", external="mysql://user@host:3306/db")
    assert composed["services"]["client1"]["networks"] == ["stack", "outside"]
    assert composed["services"]["mysql1"]["networks"] == ["stack"]
    assert "internal" not in composed["networks"]["outside"]


def test_everything_carries_the_label_that_compose_fills_in() -> None:
    composed = document("mysql+replica")
    parts = [
        *composed["services"].values(),
        *composed["networks"].values(),
        *composed["volumes"].values(),
    ]
    assert {part["labels"]["sandbox.stack"] for part in parts} == {"${COMPOSE_PROJECT_NAME}"}
    assert {part["labels"]["sandbox.checkout"] for part in parts} == {"/checkout"}


def test_a_node_has_its_volumes_and_a_group_shares_one() -> None:
    composed = document("cluster2+mysql")
    assert composed["services"]["cluster2"]["volumes"] == [
        "cluster2-data:/var/lib/mysql",
        "cluster-1-shared:/shared",
    ]
    assert set(composed["volumes"]) >= {
        "cluster1-data",
        "cluster2-data",
        "cluster-1-shared",
        "mysql1-data",
        "mysql-2-shared",
    }


def test_a_setting_adds_to_a_service_and_shares_folders_of_the_clients_image() -> None:
    composed = document("mysql+replica+preloaded+mysql")
    services, volume = composed["services"], "client1-tools"
    assert services["mysql1"]["environment"] == {
        "ME": "mysql1", "PRICE": "6$$", "LIBRARY": "/usr/lib/tools/mysql1.so",
    }  # fmt: skip
    assert services["mysql1"]["tmpfs"] == ["/scratch"]
    assert services["mysql1"]["volumes"][-1] == f"{volume}:/usr/lib/tools:ro"
    assert services["client1"]["volumes"][-1] == f"{volume}:/usr/lib/tools"
    assert composed["volumes"][volume]["labels"]["sandbox.stack"] == "${COMPOSE_PROJECT_NAME}"
    for other in ("replica1", "mysql2"):
        assert "tmpfs" not in services[other] and volume not in str(services[other]["volumes"])
    assert volume not in document("mysql")["volumes"]


def test_dollars_reach_the_container_as_they_were_written() -> None:
    composed = document("mysql")
    assert composed["services"]["mysql1"]["environment"] == {"ME": "mysql1", "PRICE": "5$$"}
    assert mounts(composed, "mysql1")["/same"] == "costs $5\n"


def test_equal_files_stand_once_and_different_ones_under_the_nodes_name() -> None:
    composed = document("mysql2")
    assert composed["configs"]["mysql-same"]["content"] == "costs $$5\n"
    assert mounts(composed, "mysql1")["/own"] == "mysql1 placeholder-root\n"
    assert mounts(composed, "mysql2")["/own"] == "mysql2 placeholder-root\n"


def option_file(content: str) -> ConfigParser:
    """An option file, read as a server's client does."""
    parsed = ConfigParser(
        allow_no_value=True, interpolation=None, strict=False, comment_prefixes=("#", "!")
    )
    parsed.read_string(content)
    return parsed


def test_a_server_gets_its_configuration_credentials_and_probes() -> None:
    seen = mounts(document("mysql+cloning", assignments=("a=1",)), "mysql1")
    configuration = option_file(seen["/etc/mysql/conf.d/50-sandbox.cnf"])
    assert configuration["mysqld"]["a"] == "1"
    assert seen["/sandbox/root-password"] == "placeholder-root"
    assert "password=placeholder-root" in seen["/sandbox/client.cnf"]
    assert seen["/docker-entrypoint-initdb.d/50-cloning.sql"] == "SELECT 1;\n"
    assert {"ready)", "role)", "proof-cloning)"} <= set(seen["/sandbox/probe"].splitlines())


@pytest.mark.parametrize(
    "profile", ["mysql@9.7+replica1", "mariadb@10.5", "galera3@11.8+haproxy", "ps@8.4", "pxc3@8.4"]
)
def test_every_command_line_client_speaks_utf8mb4(profile: str) -> None:
    """That of the client node, that of a server's own commands, and that which its image runs
    first-start SQL with.
    """
    made = make_plan(PlanRequest(profile), load_library(), Availability(registry=lambda: True))
    composed = compose_document(made, PLACEHOLDER, Identity("p", "/x"))
    read = ["/sandbox/client.cnf", "/50-sandbox.cnf", "/sandbox/root.cnf", "/sandbox/app.cnf"]
    found = 0
    for node in made.nodes:
        for target, content in mounts(composed, node.name).items():
            if target.endswith(tuple(read)) and (node.is_server or node.kind == "client"):
                assert option_file(content)["mysql"]["default-character-set"] == "utf8mb4", (
                    node.name,
                    target,
                )
                found += 1
    assert found == 2 * len(made.databases) + 2
    assert composed["services"]["client1"]["environment"]["LANG"] == "C.UTF-8", (
        "its line editor reads letters"
    )


def test_the_users_own_file_comes_last() -> None:
    own = UserFile("my.cnf", "[mysqld]\nx=$1\n", "ab" * 32)
    composed = document("mysql+balancer", cnf=own)
    assert mounts(composed, "mysql1")["/etc/mysql/conf.d/99-user.cnf"] == "[mysqld]\nx=$1\n"
    assert "/etc/mysql/conf.d/99-user.cnf" not in mounts(composed, "balancer1")


def test_passwords_are_mounted_for_the_servers_user_alone() -> None:
    entries = document("mysql")["services"]["mysql1"]["configs"]
    secret = [
        each
        for each in entries
        if each["target"] in ("/sandbox/root-password", "/sandbox/client.cnf")
    ]
    assert [(each["mode"], each["uid"], each["gid"]) for each in secret] == [
        (0o400, "999", "999")
    ] * 2


def test_limits_hold_for_database_nodes_alone() -> None:
    services = document("mysql+balancer", cpus="1.5", memory="2g")["services"]
    assert (services["mysql1"]["cpus"], services["mysql1"]["mem_limit"]) == ("1.5", "2g")
    assert "cpus" not in services["balancer1"]


def test_a_server_has_a_healthcheck_that_asks_its_ready_question() -> None:
    check = document("mysql")["services"]["mysql1"]["healthcheck"]
    assert check["test"] == ["CMD", "/bin/sh", "/sandbox/probe", "ready"]
    assert check["interval"] == "10s"


def test_the_client_asks_for_those_that_cannot_ask_themselves() -> None:
    probe = mounts(document("mysql+balancer+fancy"), "client1")["/sandbox/probe"]
    ready, proof = probe.split("proof-fancy-balancer1)\n")
    assert "-h balancer1" in ready.split("ready-balancer1)\n")[1]
    assert "select '\"'\"'fancy'\"'\"'" in proof


def test_the_hash_is_of_the_stack_and_not_of_its_passwords() -> None:
    assert document("mysql")["services"]["mysql1"]["labels"]["sandbox.plan"] == plan_hash(
        plan("mysql")
    )
    assert document("mysql", OTHER)["services"]["mysql1"]["labels"]["sandbox.plan"] == plan_hash(
        plan("mysql")
    )
    different = [
        plan("mysql@8.4"),
        plan("mysql2"),
        plan("mysql", assignments=("a=1",)),
        plan("mysql", cpus="1"),
        plan("mysql", cnf=UserFile("a", "[mysqld]", "c")),
        plan("mysql", init=UserFile("a", "b", "c")),
    ]
    assert len({plan_hash(each) for each in [plan("mysql"), *different]}) == 7


def test_the_text_is_the_document_and_modes_are_octal() -> None:
    composed = document("mysql+balancer+watcher")
    text = compose_text(composed)
    assert yaml.safe_load(text) == composed
    assert "mode: 0400" in text
    assert "&id" not in text
