"""A load on every member of a cluster at once: conflicts on shared rows, none on tables of their
own.
"""

import json
import signal
import subprocess
import time
from typing import Any

import pytest

from integration.live import CHECKOUT, SANDBOX, LiveStack, live_stack, run, sandbox
from integration.turns import of_today

pytestmark = [pytest.mark.docker, pytest.mark.long]
# One connection to each member, so that no two of one member meet; most writes on a few rows.
HOT = [
    "--workload",
    "oltp_write_only",
    "--threads",
    "3",
    "--tables",
    "3",
    "--rows",
    "1000",
    "--dist",
    "pareto",
]


@pytest.fixture(scope="module", params=of_today(["galera3@11.8", "gr3@9.7+multi-primary"], days=2))
def stack(request: pytest.FixtureRequest):  # type: ignore[no-untyped-def]
    """A cluster whose every member takes writes."""
    with live_stack(request.param) as live:
        yield live


def bench(stack: LiveStack, *options: str) -> dict[str, Any]:
    """The record of a short run through all members, each of which has answered its share."""
    lasting = ("--seconds", "4", "--warmup", "1", "--via", "members", "--json")
    record: dict[str, Any] = json.loads(
        sandbox("bench", "--name", stack.name, *lasting, *options).stdout
    )
    assert record["status"] == "ok", record["reason"]
    answered = record["workload"]["entry"]["answered"]
    assert set(answered) == set(stack.servers) and min(answered.values()) > 0.1 * sum(
        answered.values()
    )
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
    done = sandbox(
        "trial", "--name", stack.name, "--fault", "none", "--via", "members", check=False
    )
    assert done.returncode == 2 and len(done.stderr.strip().splitlines()) == 3


def in_background(*words: str) -> "subprocess.Popen[str]":
    """A command of the sandbox that goes on beside what the test does; its progress can be read."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([str(SANDBOX), *words], text=True, cwd=CHECKOUT, **pipes)  # type: ignore[call-overload, no-any-return]


def wait_for(process: "subprocess.Popen[str]", words: str) -> None:
    """Until the command has said it."""
    assert process.stderr
    for line in process.stderr:
        if words in line:
            return
    raise AssertionError(f"it ended without: {words}")


def test_a_load_goes_on_without_a_member_that_is_restarted(stack: LiveStack) -> None:
    if stack.profile.startswith("gr"):
        # Seen twice of two, also on an idle machine; why its plugin does not stop is not known.
        pytest.skip(
            "a member of MySQL 9.7 under this load does not stop within the 60 s that it has"
        )
    last = stack.servers[-1]
    options = (
        "--seconds",
        "45",
        "--warmup",
        "0",
        "--tables",
        "3",
        "--rows",
        "1000",
        "--threads",
        "3",
    )
    load = in_background(
        "bench", "--name", stack.name, "--via", "members", "--rate", "20", *options, "--json"
    )
    wait_for(load, "measure    3 s")
    run(["docker", "stop", "-t", "60", stack.container(last)])
    run(["docker", "start", stack.container(last)])
    said, _ = load.communicate(timeout=300)
    record = json.loads(said)
    assert record["status"] == "ok" and load.returncode == 0, record["reason"]
    (absence,) = record["workload"]["entry"]["absences"]
    assert absence["member"] == last and absence["on_purpose"]
    assert absence["until_s"] is not None and 0 < absence["from_s"] < absence["until_s"] < 45
    assert record["metrics"]["latency_p95_ms"] is not None and record["metrics"]["measured_s"] > 40
    stack.start()


def test_a_joiner_that_is_killed_ends_the_trial_at_once_and_says_why(stack: LiveStack) -> None:
    last = stack.servers[-1]
    started = "{{.State.StartedAt}}"
    before = run(["docker", "inspect", "-f", started, stack.container(last)]).stdout
    words = ("trial", "--name", stack.name, "--via", "writer", "--fault", "join", "--target", last)
    trial = in_background(*words, "--options", "away_s=1", "--json")
    wait_for(trial, "join begins")
    began = time.monotonic()
    while run(["docker", "inspect", "-f", started, stack.container(last)]).stdout == before:
        assert time.monotonic() - began < 120
    run(["docker", "kill", stack.container(last)])
    said, _ = trial.communicate(timeout=300)
    (step,) = json.loads(said)["trial"]["steps"]
    assert (
        step["refused"]
        and f"{last} ended instead of joining: it is exited (137)" in step["outcome"]
    )
    assert time.monotonic() - began < 120, "not the ten minutes that a join may take"
    stack.start()


def test_a_run_that_is_terminated_keeps_its_figures(stack: LiveStack) -> None:
    """Several signals at once, as `timeout` and make send them."""
    options = (
        "--seconds",
        "60",
        "--warmup",
        "0",
        "--tables",
        "3",
        "--rows",
        "1000",
        "--threads",
        "3",
    )
    load = in_background("bench", "--name", stack.name, "--via", "writer", *options, "--json")
    wait_for(load, "measure    3 s")
    for _ in range(3):
        load.send_signal(signal.SIGTERM)
    said, _ = load.communicate(timeout=60)
    record = json.loads(said)
    assert load.returncode == 130 and record["status"] == "interrupted"
    assert record["metrics"]["tps"] > 0 and record["metrics"]["points_1s"] >= 3
