"""A lost majority: the survivors become the primary component, once no other one is left, from the
most advanced on.
"""

from collections.abc import Mapping
from functools import partial

import pytest

from sandbox.core.errors import MachineError
from sandbox.failure.action import TooLateError
from sandbox.failure.actions.force_quorum import ForceQuorum
from unit.failure.actions.scripted import Clock, ScriptedGroup, group, operation, refused
from unit.fake_stack import server

A = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
GALERA, GR = "SELECT MAX(IF(variable_name = 'wsrep_cluster_status'", "SELECT COALESCE(MAX("


def galera(lost: int = 3) -> ScriptedGroup:
    """Five members, of which the first ones are lost; the others are in no primary component until
    it is forced.
    """
    family = {"component": "galera", "topology": "galera", "family": "mariadb"}
    stack = ScriptedGroup(
        [server(f"galera{n}", **family) for n in range(1, 6)], {}, "11.8.6-MariaDB"
    )
    stack.dead = {f"galera{n}": "exited (137)" for n in range(1, lost + 1)}

    def component(node: str, committed: str) -> dict[str, str]:
        forced = any("bootstrap" in text for _, text in stack.given)
        return {"component": "Primary" if forced else "non-Primary", "committed": committed}

    for number in range(lost + 1, 6):
        name, committed = f"galera{number}", str(100 + number % 5)
        stack.says[name, GALERA] = partial(component, name, committed)
    return stack


def lost(stack: ScriptedGroup) -> list[str]:
    return list(stack.dead)


def test_galera_goes_on_from_the_node_that_committed_last() -> None:
    stack = galera()
    said = ForceQuorum().perform(operation(stack, lost(stack)))
    assert said == "galera4 is the primary component's first member, of galera4, galera5"
    assert stack.given == [("galera4", "SET GLOBAL wsrep_provider_options = 'pc.bootstrap=YES'")]


def test_where_the_options_of_the_provider_are_variables_their_list_is_left_alone() -> None:
    """MariaDB 11.8 answers ERROR 1210 to a change of the list."""
    stack = galera()
    stack.says["galera4", "SELECT COUNT(*) AS found FROM information_schema.plugins"] = {
        "found": "1"
    }
    ForceQuorum().perform(operation(stack, lost(stack)))
    assert stack.given == [("galera4", "SET GLOBAL wsrep_provider_pc_bootstrap = ON")]


def test_it_waits_until_the_survivors_notice(clock: Clock) -> None:
    stack = galera()
    unaware = stack.says["galera5", GALERA]
    stack.says["galera5", GALERA] = {"component": "Primary", "committed": "100"}

    def notice() -> None:
        if clock.now >= 103:
            stack.says["galera5", GALERA] = unaware

    clock.then = notice
    ForceQuorum().perform(operation(stack, lost(stack)))
    assert 103 <= clock.now < 104


def test_it_is_refused_beside_a_primary_component(clock: Clock) -> None:
    """A minority that was only cut off from the others would be a second one."""
    stack = galera(lost=0)
    stack.says["galera1", GALERA] = {"component": "Primary", "committed": "100"}
    error = refused(ForceQuorum(wait_s=5), operation(stack, ["galera1", "galera2", "galera3"]))
    assert error.what == "the cluster has a quorum: galera1" and not stack.given


def test_it_is_refused_where_nobody_is_left() -> None:
    stack = galera(lost=5)
    error = refused(ForceQuorum(), operation(stack, lost(stack)))
    assert error.what == "no member is left that answers" and "galera5" in error.known


def test_survivors_that_do_not_become_primary_are_an_error() -> None:
    stack = galera()
    stack.says["galera5", GALERA] = {"component": "non-Primary", "committed": "99"}
    with pytest.raises(TooLateError, match="no quorum on galera5"):
        ForceQuorum().perform(operation(stack, lost(stack)))


def members(states: dict[str, str], held: dict[str, str]) -> ScriptedGroup:
    """A group whose other members are lost. ``states``: of the survivors, until the quorum is
    forced.
    """
    stack = ScriptedGroup(
        [server(f"gr{n}", component="gr", topology="gr") for n in range(1, 6)], {}, "9.7.0"
    )
    stack.dead = {
        node.name: "exited (137)"
        for node in stack.members
        if node.is_server and node.name not in states
    }

    def state(name: str) -> dict[str, str]:
        forced = any(
            "force_members = 'gr" in text or "bootstrap_group = ON" in text
            for _, text in stack.given
        )
        return {"state": "ONLINE" if forced else states[name], "majority": "1" if forced else "0"}

    for name in states:
        stack.says[name, GR] = partial(state, name)
        stack.says[name, "SELECT GTID_SUBTRACT(CONCAT_WS"] = {"received": held[name]}
        stack.says[name, "SELECT @@group_replication_local_address"] = {"address": f"{name}:13061"}
    return stack


def test_members_that_wait_for_the_lost_ones_get_another_membership() -> None:
    stack = members({"gr4": "ONLINE", "gr5": "ONLINE"}, {"gr4": f"{A}:1-9", "gr5": f"{A}:1-10"})
    assert (
        ForceQuorum()
        .perform(operation(stack, lost(stack)))
        .startswith("gr5 is the primary component's first")
    )
    assert stack.given == [
        ("gr5", "SET GLOBAL group_replication_force_members = 'gr4:13061,gr5:13061'"),
        ("gr5", "SET GLOBAL group_replication_force_members = ''"),
    ]
    assert max(stack.waits) > 120, "until then the server waits, and the variable cannot be cleared"


def test_members_that_have_given_up_form_the_group_anew() -> None:
    stack = members({"gr4": "ERROR", "gr5": "OFFLINE"}, {"gr4": f"{A}:1-9", "gr5": f"{A}:1-9"})
    assert (
        ForceQuorum()
        .perform(operation(stack, lost(stack)))
        .startswith("gr4 is the primary component's first")
    )
    assert [text for _, text in stack.given] == [
        "STOP GROUP_REPLICATION",
        "SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION",
        "SET GLOBAL group_replication_bootstrap_group = OFF",
    ]
    assert sum(limit > 120 for limit in stack.waits) == 2, "as long as the server may wait"


def test_members_that_give_up_before_the_new_membership_comes_form_the_group_anew() -> None:
    """With a short group_replication_unreachable_majority_timeout they may leave in the
    meantime.
    """
    stack = members({"gr5": "ONLINE"}, {"gr5": f"{A}:1-9"})

    def state() -> dict[str, str]:
        given = [text for _, text in stack.given]
        if any("bootstrap_group = ON" in text for text in given):
            return {"state": "ONLINE", "majority": "1"}
        return {
            "state": "ERROR" if any("force_members = 'gr" in text for text in given) else "ONLINE",
            "majority": "0",
        }

    stack.says["gr5", GR] = state
    ForceQuorum().perform(operation(stack, lost(stack)))
    assert (
        "gr5",
        "SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION",
    ) in stack.given


def test_the_forced_membership_is_cleared_once_the_server_takes_it(clock: Clock) -> None:
    """A member that gives up meanwhile is stopped, and takes no option until it is; set, it would
    join no more.
    """
    stack = members({"gr5": "ONLINE"}, {"gr5": f"{A}:1-9"})
    clear = ("gr5", "SET GLOBAL group_replication_force_members = ''")

    def stopped() -> None:
        if clock.now >= 160:
            stack.says[clear] = {}

    clock.then = stopped
    stack.says[clear] = (
        "ERROR 3724 (HY000): This option cannot be set while START or STOP GROUP_REPLICATION is"
        " ongoing"
    )
    ForceQuorum().perform(operation(stack, lost(stack)))
    assert 160 <= clock.now < 161 and stack.given[-1] == clear


def test_nobody_waits_to_clear_a_server_that_has_died(clock: Clock) -> None:
    stack = members({"gr5": "ONLINE"}, {"gr5": f"{A}:1-9"})

    def dies() -> Mapping[str, str]:
        stack.dead["gr5"] = "exited (137)"
        raise MachineError("gr5 does not run", "exited (137)", "try: make ps")

    stack.says["gr5", "SET GLOBAL group_replication_force_members"] = dies
    with pytest.raises(MachineError, match="gr5 does not run"):
        ForceQuorum().perform(operation(stack, lost(stack)))
    assert clock.now < 101


def gives_up(stack: ScriptedGroup, then: str) -> None:
    """Its membership is not forced in time: the server says so, and is in the state ``then``."""
    forced = ("gr5", "SET GLOBAL group_replication_force_members = 'gr5")
    usual = stack.says["gr5", GR]
    assert callable(usual)

    def state() -> Mapping[str, str]:
        given = [text for _, text in stack.given]
        is_alone = forced[1] in "".join(given) and not any(
            "bootstrap_group = ON" in text for text in given
        )
        return {"state": then, "majority": "0"} if is_alone else usual()

    stack.says[forced] = "ERROR 3724 (HY000): it stops"
    stack.says["gr5", GR] = state


def test_a_member_that_has_just_left_forms_the_group_anew() -> None:
    stack = members({"gr5": "ONLINE"}, {"gr5": f"{A}:1-9"})
    gives_up(stack, "ERROR")
    assert (
        ForceQuorum()
        .perform(operation(stack, lost(stack)))
        .startswith("gr5 is the primary component's first")
    )
    assert (
        "gr5",
        "SET GLOBAL group_replication_bootstrap_group = ON; START GROUP_REPLICATION",
    ) in stack.given


def test_a_member_that_stays_and_refuses_is_an_error() -> None:
    stack = members({"gr5": "ONLINE"}, {"gr5": f"{A}:1-9"})
    gives_up(stack, "ONLINE")
    with pytest.raises(MachineError, match="gr5 refuses a statement"):
        ForceQuorum().perform(operation(stack, lost(stack)))
    assert not any("bootstrap" in text for _, text in stack.given)


def test_no_group_is_formed_anew_beside_one_that_has_come_back() -> None:
    """Until a member has left, which may take a minute, the lost ones may have been healed."""
    stack = members({"gr4": "OFFLINE", "gr5": "ONLINE"}, {"gr4": f"{A}:1-9", "gr5": f"{A}:1-9"})
    gives_up(stack, "ERROR")

    def healed() -> Mapping[str, str]:
        is_back = any("force_members" in text for _, text in stack.given)
        return (
            {"state": "ONLINE", "majority": "1"}
            if is_back
            else {"state": "OFFLINE", "majority": "0"}
        )

    stack.says["gr4", GR] = healed
    error = refused(ForceQuorum(), operation(stack, lost(stack)))
    assert error.what == "the cluster has a quorum: gr4"
    assert not any("bootstrap" in text for _, text in stack.given)


def test_asynchronous_replication_has_no_quorum() -> None:
    assert ForceQuorum().perform(operation(group())).startswith("nothing to do")
