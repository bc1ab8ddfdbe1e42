"""Settings and `SET=`: which nodes they reach, and what is refused."""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from unit.profile.small_library import plan


def holders(profile: str, setting: str) -> list[str]:
    """Nodes on which a setting is in effect."""
    return [node.name for node in plan(profile).nodes if setting in node.settings]


def test_a_setting_reaches_what_its_file_says() -> None:
    assert holders("mysql+replica+balancer+cloning", "cloning") == ["mysql1", "replica1"]
    assert holders("mysql@8.4+replica+modern", "modern") == ["mysql1"]
    assert holders("mysql+replica+late", "late") == ["replica1"]
    assert holders("mysql+balancer+fancy", "fancy") == ["balancer1"]


def test_a_setting_stays_in_its_group() -> None:
    assert holders("mysql+cloning+mysql", "cloning") == ["mysql1"]


def test_a_setting_may_stand_before_what_it_applies_to() -> None:
    assert holders("mysql+fancy+balancer", "fancy") == ["balancer1"]


def test_a_setting_may_be_for_one_node_or_for_one_term() -> None:
    assert holders("cluster+cluster2:auditing", "auditing") == ["cluster2"]
    assert holders("cluster+cluster2:auditing+cluster3:auditing", "auditing") == [
        "cluster2",
        "cluster3",
    ]
    assert holders("mysql+replica2+replica:auditing", "auditing") == ["replica1", "replica2"]
    assert holders("mysql+replica2+replica2:cloning", "cloning") == ["replica2"]
    assert holders("cluster+cluster:cloning", "cloning") == ["cluster1", "cluster2", "cluster3"]
    assert holders("mysql+balancer2+balancer2:fancy", "fancy") == ["balancer2"]


def test_settings_that_exclude_each_other_may_be_on_different_nodes() -> None:
    profile = "mysql@8.4+replica2@8.4+replica1:cloning+mysql1:modern"
    assert holders(profile, "modern") == ["mysql1"]
    with pytest.raises(SandboxError, match="cannot be in the same group"):
        plan("mysql@8.4+mysql1:cloning+modern")


@pytest.mark.parametrize(
    ("profile", "what", "known", "step"),
    [
        ("cluster+cluster4:auditing", "'cluster4' is not in the group", "cluster3", "cluster1:"),
        ("cluster+clutser2:auditing", "names no node and no term", "did you mean 'cl", "+auditing"),
        ("mysql+cluster2:auditing", "is not in the group of 'mysql'", "mysql1", "mysql1:auditing"),
        ("cluster+cluster2:together", "is for a whole group", "would wait", "cluster+together"),
        ("cluster+cluster2:cloning", "every member of a cluster", "share their data", "+cloning"),
        ("mysql+balancer+balancer1:auditing", "does not apply to balancer1", "mysql1", "+auditing"),
        ("mysql@5.6+replica+mysql1:cloning", "does not apply to mysql1", "with clone", ""),
        ("mysql:lts", "'lts' is no setting", "behind an @", "PROFILE=mysql@lts"),
        ("mysql+mysql1:replica", "'replica' is no setting", "for one node", "mysql+replica"),
        ("cluster+cluster1:auditing+cluster1:auditing", "appears twice", "once", "er1:auditing"),
        ("cluster+auditing+cluster1:auditing", "appears twice", "whole group", "+auditing"),
        ("cluster+cluster1:auditing+auditing", "appears twice", "whole group", "+auditing"),
        ("mysql+mysql1:auditing2", "takes no count", "whole group", ""),
    ],
)
def test_a_place_that_a_setting_cannot_have_is_refused(
    profile: str, what: str, known: str, step: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        plan(profile)
    assert what in refused.value.what
    assert known in refused.value.known or known in refused.value.what
    assert step in refused.value.next_step


def test_options_are_laid_over_the_components_key_by_key() -> None:
    assert plan("mysql+balancer+fancy").node("balancer1").options == {
        "mode": "fancy",
        "pool": {"size": 1, "idle": 5},
    }
    assert plan("mysql+balancer").node("balancer1").options == {
        "mode": "plain",
        "pool": {"size": 1},
    }


@pytest.mark.parametrize(
    ("profile", "what", "known"),
    [
        ("mysql@5.6+cloning", "does not apply to mysql1 (mysql 5.6.51)", "it works on: with clone"),
        ("mysql@8.4+replica@5.6+cloning", "does not apply to replica1", "with clone"),
        ("mysql@9.7+modern", "does not apply to mysql1", "mysql 8.0 and newer before 9.0"),
        ("cluster+modern", "does not apply to cluster1", "mysql"),
        ("mysql+late", "a group without replicas", ""),
        ("mysql+fancy", "'fancy' needs balancer in its group", "the group of 'mysql' has mysql"),
        (
            "mysql@8.4+cloning+modern",
            "'modern' and 'cloning' cannot be in the same group",
            "excludes cloning",
        ),
        (
            "mysql@8.4+modern+cloning",
            "'modern' and 'cloning' cannot be in the same group",
            "excludes cloning",
        ),
    ],
)
def test_a_setting_that_cannot_hold_is_refused(profile: str, what: str, known: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan(profile)
    assert what in refused.value.what
    assert known in refused.value.known


def test_assignments_reach_all_servers_or_the_term_they_name() -> None:
    planned = plan("mysql+replica2+balancer", assignments=("a=1", "replica:b=2 replica2:c=3"))
    assert planned.node("mysql1").assignments == (("a", "1"),)
    assert planned.node("replica1").assignments == (("a", "1"), ("b", "2"))
    assert planned.node("replica2").assignments == (("a", "1"), ("b", "2"), ("c", "3"))
    assert planned.node("balancer1").assignments == ()
    assert planned.groups[0].replicas[1] is planned.node("replica2")


def test_an_assignment_to_a_component_changes_its_option_and_is_proved_where_it_runs() -> None:
    planned = plan("mysql+balancer", assignments=("balancer:mode=3 a=1",))
    balancer, checker = planned.node("balancer1"), planned.node("checker1")
    assert balancer.options["mode"] == checker.options["mode"] == 3
    assert [name for name, _ in balancer.applied] == ["balancer-mode"]
    assert checker.applied == () == balancer.assignments
    assert planned.node("mysql1").assignments == (("a", "1"),)


@pytest.mark.parametrize(
    ("assignment", "what", "known"),
    [
        ("balancer:mod=x", "balancer has no option 'mod'", "did you mean 'mode'?"),
        ("balancer:mode=X", "balancer:mode=X is not valid", "mode: how it balances"),
        ("balncer:mode=x", "names no server", "did you mean 'balancer'?"),
    ],
)
def test_an_option_that_a_component_does_not_have_is_refused(
    assignment: str, what: str, known: str
) -> None:
    with pytest.raises(SandboxError) as refused:
        plan("mysql+balancer", assignments=(assignment,))
    assert what in refused.value.what
    assert known in refused.value.known


@pytest.mark.parametrize("target", ["replicas", "router", "mysql3", "client"])
def test_an_assignment_to_what_is_no_server_is_refused(target: str) -> None:
    with pytest.raises(SandboxError) as refused:
        plan("mysql+replica+balancer", assignments=(f"{target}:a=1",))
    assert "names no server" in refused.value.what


@pytest.mark.parametrize(
    ("given", "opened"),
    [("mysqlx=ON", True), ("mysqlx=1", True), ("mysqlx=OFF", False), ("mysql2:mysqlx=ON", False)],
)
def test_a_variable_opens_a_port_that_takes_no_load(given: str, opened: bool) -> None:
    made = make_plan(PlanRequest("mysql2@9.7", (given,)), load_library(), Availability())
    node = made.node("mysql1")
    assert ("mysqlx" in node.ports) is opened
    assert node.load_ports == ["mysql"]
    assert [name for name, _ in node.applied] == (["mysql-mysqlx"] if opened else [])
