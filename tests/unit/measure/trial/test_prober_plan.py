"""Where the prober of a trial goes, and how long a trial takes."""

from collections.abc import Sequence
from typing import Any

import pytest

from sandbox.core.errors import SandboxError
from sandbox.failure.actions.rejoin import Rejoin
from sandbox.load.common.registry import find_workload
from sandbox.load.common.workload import Parameters
from sandbox.matrix.estimate import OTHER_S, TypicalTimes, trial_s
from sandbox.measure.trial import conductor, trial
from sandbox.measure.trial.prober import ProberRates
from sandbox.measure.trial.run import TrialRequest, prober_plan
from sandbox.measure.trial.schedule import Step
from sandbox.stack.protocol import EntryPoint
from unit.fake_stack import CLIENT, FakeStack, server
from unit.measure.trial.trial_runs import CRASH, PROFILES, scenario_with

HAPROXY = server("haproxy1", "proxy", component="haproxy", family=None, topology=None, port=3307)


def request(*steps: Step, **given: Any) -> TrialRequest:
    """The request of an idle trial, of a crash where nothing else is given."""
    scenario = scenario_with(*(steps or (CRASH,)))
    return TrialRequest(find_workload("noop", PROFILES), Parameters(), scenario=scenario, **given)


class TwoPorts(FakeStack):
    """Its proxy has a port for reads."""

    def entry_point(self, via: str | None, roles: Any = None) -> EntryPoint:
        if via == "haproxy1:ro":
            return EntryPoint("haproxy1", "haproxy1", 3308, 1, via)
        raise SandboxError(f"{via} has no port 'ro'", "load can go to rw", "try: make ps")


@pytest.mark.parametrize(
    ("entry", "nodes", "write", "read"),
    [
        ("mysql1", (), [("mysql1", 3306), ("replica1", 3306)], [("replica1", 3306)]),
        ("replica1", (), [("replica1", 3306), ("mysql1", 3306)], [("replica1", 3306)]),
        ("haproxy1", (HAPROXY,), [("haproxy1", 3307)], [("haproxy1", 3308)]),
        ("router1", (server("router1", "proxy"),), [("router1", 3307)], [("replica1", 3306)]),
    ],
)
def test_a_probe_goes_through_the_proxy_or_knows_every_server(
    entry: str, nodes: Sequence[Any], write: list[tuple[str, int]], read: list[tuple[str, int]]
) -> None:
    members = [
        server("mysql1"),
        server("replica1", "replica"),
        server("other1", group_index=2),
        CLIENT,
        *nodes,
    ]
    roles: Any = {"mysql1": "writer", "replica1": "reader", "other1": "reader"}
    asked = request(rates=ProberRates(pooled=50), timeout_s=1.0, transaction=True)
    plan = prober_plan(
        TwoPorts(), EntryPoint(entry, entry, 3307, 1, entry), members, roles, asked, 3
    )
    assert (list(plan.write), list(plan.read)) == (write, read)
    assert [node.name for node in plan.observe] == ["mysql1", "replica1"]
    assert (plan.schema, plan.rates.pooled, plan.timeout_s, plan.seed) == ("sandbox", 50, 1.0, 3)
    assert plan.transaction and plan.request({})["transaction"] is True


def test_in_a_cluster_of_writers_the_others_are_read() -> None:
    members = [server(f"galera{number}", topology="galera") for number in (1, 2, 3)]
    entry = EntryPoint("galera2", "galera2", 3306, 1, "writer")
    roles: Any = dict.fromkeys(("galera1", "galera2", "galera3"), "writer")
    plan = prober_plan(FakeStack(), entry, [*members, CLIENT], roles, request(), 1)
    assert [node for node, _ in plan.write] == ["galera2", "galera1", "galera3"]
    assert [node for node, _ in plan.read] == ["galera1", "galera3"]


def test_behind_a_proxy_without_a_port_for_reads_the_others_are_read_too() -> None:
    members = [server(f"galera{number}", topology="galera") for number in (1, 2, 3)]
    proxysql = server(
        "proxysql1", "proxy", component="proxysql", family=None, topology=None, port=6033
    )
    entry = EntryPoint("proxysql1", "proxysql1", 6033, 1, "proxysql1")
    roles: Any = dict.fromkeys(("galera1", "galera2", "galera3"), "writer")
    plan = prober_plan(TwoPorts(), entry, [*members, proxysql, CLIENT], roles, request(), 1)
    assert list(plan.write) == [("proxysql1", 6033)]
    assert [node for node, _ in plan.read] == ["galera2", "galera3"]


def test_a_trial_does_not_spread_over_members() -> None:
    with pytest.raises(SandboxError, match="a trial does not go through VIA=members") as refused:
        request(via="members")
    assert refused.value.exit_code == 2


def test_an_external_server_has_its_own_schema_and_no_observer() -> None:
    outside = server("external1", "external", has_container=False)
    entry = EntryPoint("external1", "db.example.com", 3306, 1, "external", schema="app")
    plan = prober_plan(FakeStack(), entry, [outside, CLIENT], {}, request(), 1)
    assert plan.schema == "app" and list(plan.write) == [("external1", 3306)] and not plan.observe


def test_how_long_a_trial_takes() -> None:
    def lasts(*steps: Step, loaded: bool = False) -> float:
        typical = TypicalTimes(outage_s=3, return_s=7)
        return trial_s(request(*steps, loaded=loaded), typical)

    rest = trial.TAIL_S + OTHER_S
    assert lasts(Step(at_s=10, fault="hang", for_s=20)) == 30 + 7 + rest
    assert lasts(CRASH) == 10 + 3 + conductor.BACK_S + 7 + rest
    assert lasts(CRASH, Step(at_s=30, action="rejoin")) == 30 + Rejoin().typical_s + rest
    assert lasts(Step(at_s=10, action="join", options={"away_s": 100})) > 110 + rest
    assert lasts(CRASH, loaded=True) - lasts(CRASH) == 10
