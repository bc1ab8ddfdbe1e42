"""FROM and TO: the profile of both servers, and what is refused before anything starts."""

import pytest

from sandbox.core.errors import SandboxError
from sandbox.profile.images import Availability
from sandbox.profile.plan import Plan, PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library
from sandbox.upgrade.sides import UpgradeSides, refuse_downgrade, refuse_unavailable_sides, sides_of


def sides(old: str | None, new: str | None) -> UpgradeSides:
    return sides_of(old, new, load_library())


def plan(found: UpgradeSides, has_registry: bool = True) -> Plan:
    available = Availability(registry=lambda: has_registry)
    return make_plan(PlanRequest(found.profile), load_library(), available)


def test_one_stack_has_both_and_a_replica() -> None:
    found = sides("mariadb@10.11", "mariadb@11.8")
    assert found.profile == "mariadb@10.11+replica1@11.8+mariadb@11.8"
    names = [node.name for node in plan(found).databases]
    old, new, replica = found.nodes
    assert set(names) == {old, new, replica}
    assert plan(found).node(old).series == "10.11"
    assert plan(found).node(new).series == plan(found).node(str(replica)).series == "11.8"
    refuse_downgrade(plan(found), found)


def test_two_families_have_no_replication() -> None:
    found = sides("mysql@9.7", "mariadb@11.8")
    assert found.profile == "mysql@9.7+mariadb@11.8"
    assert found.nodes == ("mysql1", "mariadb1", None)
    assert "two families" in (found.no_replica or "")
    refuse_downgrade(plan(found), found)


def test_two_products_of_a_family_have_none_either() -> None:
    found = sides("mysql@8.4", "ps@8.4")
    assert found.no_replica == "a replica of mysql is mysql, not ps"
    refuse_downgrade(plan(found), found)


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        (None, "mariadb@11.8", "no FROM was given"),
        ("mariadb@10.11", None, "no TO was given"),
        ("mariadb@10.11", "galera3@11.8", "TO=galera3@11.8 is not one server"),
        ("galera@10.11", "mariadb@11.8", "FROM=galera@10.11 is no single server"),
        ("marjadb@10.11", "mariadb@11.8", "FROM: unknown term 'marjadb@10.11'"),
        ("mariadb+haproxy", "mariadb@11.8", "FROM=mariadb+haproxy is not one server"),
        ("mariadb@10.11", "mariadb@99", "'mariadb' has no series for version '99'"),
    ],
)
def test_what_is_no_server(old: str | None, new: str | None, what: str) -> None:
    with pytest.raises(SandboxError) as error:
        sides(old, new)
    assert error.value.what == what
    assert len(error.value.lines()) == 3 and error.value.exit_code == 2


@pytest.mark.parametrize(
    ("old", "new", "what"),
    [
        ("mariadb@11.8", "mariadb@10.11", "TO=mariadb@10.11 is older than FROM=mariadb@11.8"),
        ("mariadb@11.8", "mariadb@11.8", "FROM and TO are the same: mariadb@11.8"),
    ],
)
def test_a_downgrade_is_refused(old: str, new: str, what: str) -> None:
    found = sides(old, new)
    with pytest.raises(SandboxError) as error:
        refuse_downgrade(plan(found), found)
    assert error.value.what == what and error.value.exit_code == 2


def test_a_version_that_is_not_here_is_named() -> None:
    found = sides("mysql@8.0", "mysql@8.4")
    with pytest.raises(SandboxError) as error:
        refuse_unavailable_sides(plan(found, has_registry=False))
    assert "mysql" in error.value.what and error.value.exit_code == 4
