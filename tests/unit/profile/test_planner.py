"""Terms → Plan: names, counts, groups, what follows whose version, and everything that is
refused.
"""

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.profile.plan import Plan
from unit.profile.small_library import plan


def names(planned: Plan) -> list[str]:
    """Node names in the order of the plan."""
    return [node.name for node in planned.nodes]


def test_a_stack_is_its_term_and_the_client() -> None:
    planned = plan("mysql")
    assert names(planned) == ["mysql1", "client1"]
    assert planned.client.kind == "client"
    assert planned.profile == "mysql"


def test_a_count_is_the_terms_else_the_components() -> None:
    assert names(plan("cluster")) == ["cluster1", "cluster2", "cluster3", "client1"]
    assert names(plan("cluster1")) == ["cluster1", "client1"]
    assert names(plan("mysql3")) == ["mysql1", "mysql2", "mysql3", "client1"]


def test_nodes_are_numbered_through_the_whole_stack() -> None:
    planned = plan("mysql@8.0+replica+mysql@8.4+replica2")
    assert names(planned) == ["mysql1", "replica1", "mysql2", "replica2", "replica3", "client1"]
    assert [node.group_index for node in planned.nodes] == [1, 1, 2, 2, 2, None]
    assert [node.server_id for node in planned.databases] == [1, 2, 3, 4, 5]
    assert planned.client.server_id is None


def test_a_group_knows_its_parts() -> None:
    planned = plan("cluster2+replica2+balancer")
    (group,) = planned.groups
    assert group.database_names == ["cluster1", "cluster2"]
    assert group.replica_names == ["replica1", "replica2"]
    assert [node.name for node in group.proxies] == ["balancer1"]
    assert group.first == "cluster1"
    assert group.topology == "gr"
    assert planned.group_of(planned.node("balancer1")) is group


def test_auxiliary_nodes_come_one_for_each_database() -> None:
    planned = plan("mysql+replica+balancer")
    checkers = [node for node in planned.nodes if node.service == "checker"]
    assert [(node.name, node.watches) for node in checkers] == [
        ("checker1", "mysql1"),
        ("checker2", "replica1"),
    ]
    assert checkers[0].options["mode"] == "plain"


def test_a_node_may_stand_on_the_host_of_another() -> None:
    planned = plan("mysql+manager+replica")
    hosts = {node.name: node.host_of for node in planned.nodes if node.host_of}
    assert hosts == {"login1": "mysql1", "login2": "replica1"}
    assert not any(node.host_of for node in plan("mysql+balancer").nodes), (
        "one that only watches has a host of its own"
    )


def test_what_watches_the_stack_stands_anywhere_and_sees_every_database() -> None:
    planned = plan("watcher+mysql+mysql@8.4")
    assert names(planned) == ["mysql1", "mysql2", "watcher1", "exporter1", "exporter2", "client1"]
    assert planned.node("watcher1").group_index is None


@pytest.mark.parametrize(
    ("profile", "node", "version"),
    [
        ("mysql@8.4+replica", "replica1", "8.4.11"),
        ("mysql@8.4.3+replica", "replica1", "8.4.3"),
        ("mysql@8.4+replica@9.7", "replica1", "9.7.2"),
        ("cluster@8.4+router", "router1", "8.4.10"),
        ("cluster@8.0+router", "router1", "9.7.1"),
        ("mysql@8.0+balancer", "balancer1", "3.0.26"),
    ],
)
def test_what_attaches_follows_the_groups_version_where_it_can(
    profile: str, node: str, version: str
) -> None:
    assert plan(profile).node(node).version == version


def test_a_node_that_was_upgraded_has_its_own_version() -> None:
    made = plan("cluster@8.0+replica1@8.4", versions=(("cluster2", "8.4"), ("replica1", "9.7")))
    versions = {node.name: (node.version, node.image) for node in made.databases}
    assert versions == {
        "cluster1": ("8.0.46", "mysql:8.0.46"), "cluster2": ("8.4.11", "mysql:8.4.11"),
        "cluster3": ("8.0.46", "mysql:8.0.46"), "replica1": ("9.7.2", "mysql:9.7.2"),
    }  # fmt: skip
    assert made.profile == "cluster@8.0+replica1@8.4"


def test_a_version_that_is_none_is_refused_for_one_node_too() -> None:
    with pytest.raises(SandboxError, match="no series for version"):
        plan("mysql@8.0", versions=(("mysql1", "4.1"),))


def test_a_replica_runs_the_server_of_its_group() -> None:
    assert plan("cluster+replica").node("replica1").server_component == "mysql"


def test_a_named_profile_stands_for_its_terms() -> None:
    assert plan("classic").profile == "mysql+replica2+balancer"
    assert "replica2" in names(plan("classic+watcher"))


def test_an_external_group_has_no_node_of_its_own() -> None:
    planned = plan("external", external="mysql://user@host:3306/db")
    assert names(planned) == ["client1"]
    assert planned.groups[0].external == "mysql://user@host:3306/db"


def test_a_stack_has_as_many_clients_as_were_asked_for() -> None:
    assert names(plan("mysql+client2")) == ["mysql1", "client1", "client2"]
    assert names(plan("mysql+client")) == ["mysql1", "client1"]
    assert plan("client2+mysql").client.name == "client1", "what sends the load"


def test_memory_is_summed_over_all_containers() -> None:
    assert plan("mysql2").memory_mb == 2 * 400 + 100


def test_a_plan_says_what_cannot_be_had() -> None:
    from sandbox.profile.images import Availability

    missing = plan("mysql@8.4", available=Availability()).unavailable()
    assert [node.name for node in missing] == ["mysql1"]


REFUSED = {
    "mysqll": ("unknown term 'mysqll'", "did you mean 'mysql'?"),
    "mysql+nothing-like-it": ("unknown term 'nothing-like-it'", "known: "),
    "client": ("the profile has no database", "'client' needs a database term"),
    "mysql+client+client2": ("'client' appears twice", "once is enough"),
    "mysql+client@1": ("'client@1': the client takes no version", ""),
    "replica": ("'replica' comes before any database", "it attaches to the group before it"),
    "fancy": ("'fancy' comes before any database", "it attaches to the group before it"),
    "watcher": ("the profile has no database", "'watcher' needs a database term"),
    "mysql+watcher+watcher": ("'watcher' appears twice", "once is enough"),
    "mysql+watcher2": ("'watcher2': 'watcher' takes no count", "a stack has one of it"),
    "mysql+cloning2": ("'cloning2': a setting takes no count", "applies to the whole group"),
    "mysql+cloning@8.4": ("'cloning@8.4': a setting takes no count and no version", ""),
    "mysql+cloning+cloning": ("the setting 'cloning' appears twice", "once is enough"),
    "classic3": (
        "the named profile 'classic' takes no count and no version",
        "it stands for mysql+replica2+balancer",
    ),
    "mysql+router": ("'router' cannot be attached to 'mysql'", "it attaches to cluster"),
    "mysql3+replica": (
        "'replica' cannot be attached to 'mysql3'",
        "'mysql3' is 3 independent servers",
    ),
    "mysql+manager": ("'manager' needs a replica in its group", "'mysql' has none"),
    "mysql+replica+manager2": (
        "'manager2': a group has one manager",
        "two would act against each other",
    ),
    "mysql+manager+replica+manager": ("'manager': a group has one manager", ""),
    "mysql@11.8": ("'mysql' has no series for version '11.8'", ""),
    "cluster@5.6": (
        "'cluster@5.6' does not work: cluster needs 8.0 or newer",
        "the requested version is 5.6.51",
    ),
    "external": ("the term 'external' needs an address", "EXTERNAL=mysql://user@host:3306/db"),
    "external@8.4": ("'external@8.4': 'external' takes no version", ""),
    "external2": ("'external2': 'external' takes no count", ""),
}


@pytest.mark.parametrize("profile", REFUSED)
def test_what_cannot_work_is_refused_in_three_lines(profile: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan(profile)
    what, known = REFUSED[profile]
    assert refused.value.exit_code is ExitCode.BAD_INPUT
    assert what in refused.value.what
    assert known in refused.value.known
    assert refused.value.next_step


def test_an_address_without_the_term_is_refused() -> None:
    with pytest.raises(SandboxError, match="no term 'external'"):
        plan("mysql", external="mysql://user@host:3306/db")


def test_a_refusal_names_a_profile_that_works() -> None:
    with pytest.raises(SandboxError) as refused:
        plan("mysql3+balancer")
    suggested = refused.value.next_step.split("PROFILE=")[1]
    assert names(plan(suggested))
