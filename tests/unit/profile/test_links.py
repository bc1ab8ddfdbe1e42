"""Replication between groups (`REPLICATE=`): what a link says, what is refused, what forms it."""

import subprocess

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.compose import compose_document, inputs
from sandbox.profile.images import Availability
from sandbox.profile.names import LINKS, Identity
from sandbox.profile.plan import GroupLink, Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.profile.templates import PLACEHOLDER, node_context
from sandbox.profile.variables import effective_variables
from sandbox.report.plan import role_hint

THREE = "mysql@9.7+mysql@9.7+mysql@9.7"


def linked(profile: str, *links: str, assignments: tuple[str, ...] = ()) -> Plan:
    """The plan of a profile with links between its groups, on published images."""
    request = PlanRequest(profile, assignments, links=links)
    return make_plan(request, load_library(), Availability(registry=lambda: True))


def link(profile: str, text: str) -> GroupLink:
    """The only link of a plan."""
    (made,) = linked(profile, text).links
    return made


def variables(plan: Plan, node: str) -> dict[str, str | None]:
    """The variables that a server is configured with."""
    found = plan.node(node)
    return effective_variables(found, node_context(plan, found, PLACEHOLDER))


def scripts(plan: Plan) -> dict[str, str]:
    """The scripts that keep links up, by the name of the file's config."""
    configs = compose_document(plan, PLACEHOLDER, Identity("p", "/c"))["configs"]
    return {
        name: body["content"].replace("$$", "$")
        for name, body in configs.items()
        if name == "links" or name.endswith("-links")
    }


def test_a_link_leads_from_every_server_of_a_cluster_to_one_server() -> None:
    made = link("galera3@11.8+mariadb@11.8", "galera2>mariadb1:delay=2m")
    assert made.sources == ("galera2", "galera1", "galera3")
    assert (made.targets, made.channel, made.delay_s, made.gtid) == (("mariadb1",), "", 120, True)


def test_a_term_means_its_only_group() -> None:
    assert link("galera3@11.8+mariadb@11.8", "mariadb>galera").targets[0] == "galera1"
    with pytest.raises(SandboxError) as refused:
        linked(THREE, "mysql>mysql3")
    assert refused.value.known == "mysql has 3 groups: mysql1, mysql2, mysql3"


def test_several_links_to_one_server_have_a_channel_each() -> None:
    plan = linked(THREE, "mysql1>mysql3 mysql2>mysql3:channel=b")
    assert [each.channel for each in plan.links] == ["mysql1", "b"]
    assert [each.channel for each in plan.node("mysql3").links] == ["mysql1", "b"]
    assert role_hint(plan, plan.node("mysql3")) == (
        "writer; replicates from mysql1 by channel mysql1; replicates from mysql2 by channel b"
    )


def test_a_group_is_followed_by_the_servers_own_means_where_it_has_them() -> None:
    assert link("gr3@9.7+mysql@9.7", "gr1>mysql1").managed
    assert not link("gr3@8.0+mysql@5.7", "gr1>mysql1").managed
    assert not link("galera3@11.8+mariadb@11.8", "galera1>mariadb1").managed


def test_every_group_of_mariadb_writes_in_a_domain_of_its_own() -> None:
    plan = linked("mariadb@11.8+mariadb@11.8", "mariadb1>mariadb2 mariadb2>mariadb1")
    domains = [variables(plan, name)["gtid_domain_id"] for name in ("mariadb1", "mariadb2")]
    assert domains == ["101", "102"]
    plan = linked("galera3@11.8+galera3@11.8", "galera1>galera4")
    assert variables(plan, "galera1")["wsrep_gtid_domain_id"] == "0"
    assert variables(plan, "galera4")["wsrep_gtid_domain_id"] == "102"


def test_two_groups_of_group_replication_have_names_of_their_own() -> None:
    plan = linked("gr3@9.7+gr3@9.7", "gr1>gr4")
    name = "loose_group_replication_group_name"
    assert variables(plan, "gr1")[name] != variables(plan, "gr4")[name]


def test_only_targets_wait_for_the_script_to_begin_replication() -> None:
    plan = linked(THREE, "mysql1>mysql2")
    assert variables(plan, "mysql2")["skip_replica_start"] == "ON"
    assert "skip_replica_start" not in variables(plan, "mysql1")
    document = compose_document(plan, PLACEHOLDER, Identity("p", "/c"))
    starts = {name: LINKS in service.get("entrypoint", ()) for name, service in
              document["services"].items()}  # fmt: skip
    assert starts == {"mysql1": False, "mysql2": True, "mysql3": False, "client1": False}


def test_a_stack_knows_its_links_again() -> None:
    assert inputs(linked(THREE, "mysql1>mysql2"))["replicate"] == ["mysql1>mysql2"]
    assert "replicate" not in inputs(linked(THREE))


def test_mysql_to_mariadb_goes_by_file_and_position() -> None:
    made = link("mysql@9.7+mariadb@11.8", "mysql1>mariadb1")
    assert made.mixed and not made.gtid


def test_a_link_by_file_and_position_stays_with_its_two_servers() -> None:
    made = link("gr3@9.7+galera3@11.8", "gr2>galera3")
    assert (made.sources, made.targets) == (("gr2",), ("galera3",))


def test_each_link_to_a_cluster_has_an_order_of_members_of_its_own() -> None:
    links = "mariadb1>galera1 mariadb2>galera3"
    (script,) = {*scripts(linked("mariadb@11.8+mariadb@11.8+galera3@11.8", links)).values()}
    assert "targets[1]='galera1 galera2 galera3'" in script
    assert "targets[2]='galera3 galera1 galera2'" in script


@pytest.mark.parametrize(
    ("profile", "text", "what", "known"),
    [
        (THREE, "mysql1", "not a link", "source>target"),
        (THREE, "mysql1>mysql1", "does not replicate from itself", "same group"),
        ("galera3@11.8", "galera1>galera2", "does not replicate from itself", "same group"),
        (THREE, "mysql1>mysql9", "no server of the profile", "mysql"),
        (THREE, "mysql1>mysql2:delay=soon", "delay=soon is not a delay", "30s"),
        (THREE, "mysql1>mysql2:gtid=maybe", "neither on nor off", "gtid=on"),
        (THREE, "mysql1>mysql2:heartbeat=3", "no option 'heartbeat'", "heartbeat_period"),
        (THREE, "mysql1>mysql2:delay=1s,delay=2s", "delay is given twice", "once"),
        (THREE, "mysql1>mysql2:channel=1x", "channel=1x is not valid", "a letter first"),
        (THREE, "mysql1>mysql3:channel=b mysql2>mysql3:channel=b", "exists already", "channel=…"),
        (THREE, "mysql1>mysql2:ignore_server_ids=1", "drops transactions", "gtid=off"),
        ("mysql@5.7+mysql@5.7", "mysql1>mysql2:gtid_only=1", "has no option gtid_only", "8.0.27"),
        ("mysql@9.7+mysql@9.7+replica1", "mysql1>replica1", "takes no writes", "mysql2"),
        ("mysql@9.7+mysql@9.7+replica1", "mysql1>mysql2", "leads to a single server", "promoted"),
        ("mysql@9.7+gr3@9.7", "mysql1>gr2", "takes no writes", "primary"),
        ("mysql@9.7+mariadb@11.8", "mariadb1>mysql1", "cannot replicate from MariaDB", "13121"),
        ("mysql@9.7+mariadb@10.5", "mysql1>mariadb1", "cannot replicate from MySQL 8.0", "11.4.5"),
        ("mysql@9.7+mariadb@11.8", "mysql1>mariadb1:gtid=on", "gtid=on cannot work", "kinds"),
    ],
)
def test_what_cannot_work_is_refused_in_three_lines(
    profile: str, text: str, what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        linked(profile, text)
    assert what in refused.value.what and known in refused.value.known
    assert refused.value.next_step.startswith("try: ")


def test_two_ends_with_one_server_id_are_refused() -> None:
    given = ("mysql1:server_id=7 mysql2:server_id=7",)
    with pytest.raises(SandboxError, match="both have server_id 7"):
        linked(THREE, "mysql1>mysql2", assignments=given)


@pytest.mark.parametrize(
    ("profile", "text", "said"),
    [
        (THREE, "mysql1>mysql2:delay=30s,do_db=a|b", "SOURCE_DELAY = 30"),
        (THREE, "mysql1>mysql2:wild_do_table=a.%", "REPLICATE_WILD_DO_TABLE = ('a.%')"),
        (THREE, "mysql1>mysql2:ssl=on,heartbeat_period=3", "SOURCE_HEARTBEAT_PERIOD = 3"),
        ("mysql@5.7+mysql@5.7", "mysql1>mysql2", "CHANGE MASTER TO MASTER_HOST"),
        ("mysql@5.6+mysql@5.6", "mysql1>mysql2:gtid=off", "MASTER_LOG_FILE = 'binlog.000001'"),
        ("gr3@9.7+gr3@9.7", "gr1>gr4", "SOURCE_CONNECTION_AUTO_FAILOVER = 1"),
        ("mariadb@10.5+mariadb@10.5", "mariadb1>mariadb2:channel=a", "CHANGE MASTER 'a' TO"),
        ("mariadb@11.8+galera3@11.8", "mariadb1>galera1:do_db=a", "replicate_do_db = 'a'"),
        ("galera3@11.8+mariadb@11.8", "galera1>mariadb1", "MASTER_USE_GTID = slave_pos"),
        ("pxc3@8.4+ps@8.4", "pxc1>ps1", "SOURCE_AUTO_POSITION = 1"),
        ("mysql@9.7+mariadb@11.8", "mysql1>mariadb1", "MASTER_USE_GTID = no"),
    ],
)
def test_the_script_says_what_was_asked_for_and_is_valid(
    profile: str, text: str, said: str
) -> None:
    found = scripts(linked(profile, text))
    assert found and all(said in script for script in found.values())
    for script in found.values():
        subprocess.run(["bash", "-n"], input=script, text=True, check=True)
