"""A load on every member of a cluster at once: conflicts on shared rows, none on tables of their own."""

import json
from typing import Any

import pytest

from integration.live import LiveStack, live_stack, sandbox

pytestmark = [pytest.mark.docker, pytest.mark.long]
# One connection to each member, so that no two of one member meet; most writes on a few rows.
HOT = ["--workload", "oltp_write_only", "--threads", "3", "--tables", "3", "--rows", "1000", "--dist", "pareto"]


@pytest.fixture(scope="module", params=["galera3@11.8", "gr3@9.7+multi-primary"])
def stack(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """A cluster whose every member takes writes."""
    with live_stack(request.param) as live:
        yield live


def bench(stack: LiveStack, *options: str) -> dict[str, Any]:
    """The record of a short run through all members, each of which has answered its share."""
    lasting = ("--seconds", "4", "--warmup", "1", "--via", "members", "--json")
    record: dict[str, Any] = json.loads(sandbox("bench", "--name", stack.name, *lasting, *options).stdout)
    assert record["status"] == "ok", record["reason"]
    answered = record["workload"]["entry"]["answered"]
    assert set(answered) == set(stack.servers) and min(answered.values()) > 0.1 * sum(answered.values())
    return record


def test_members_that_write_the_same_rows_conflict(stack: LiveStack) -> None:
    metrics = bench(stack, *HOT)["metrics"]
    assert metrics["conflicts"] > 0 and metrics["errors"] == 0
    assert sum(metrics["conflicts_by_code"].values()) == metrics["conflicts"], "each has its code"


def test_members_with_tables_of_their_own_do_not(stack: LiveStack) -> None:
    metrics = bench(stack, *HOT, "--options", "tables_per_member=on")["metrics"]
    assert metrics["conflicts"] == 0 and metrics["transactions"] > 0


def test_new_connections_go_to_every_member(stack: LiveStack) -> None:
    bench(stack, "--workload", "connection-storm", "--threads", "1")


def test_a_trial_is_refused(stack: LiveStack) -> None:
    done = sandbox("trial", "--name", stack.name, "--fault", "none", "--via", "members", check=False)
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 3
