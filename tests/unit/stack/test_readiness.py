"""Waiting for a stack: answers shown as they change, deaths noticed, time bounded."""

import time
from collections.abc import Callable, Iterator
from itertools import count

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.ask_states import LEFT_S, WITHOUT_CAUSE_S
from sandbox.stack.protocol import ExecResult, LogTail, NodeEvent, Note
from sandbox.stack.readiness import BrokenServerError, Readiness
from unit.stack.fake_docker import FakeDocker, answer
from unit.stack.small_stack import Events, running_stack


@pytest.fixture
def docker() -> FakeDocker:
    """An engine whose event stream says nothing."""
    return FakeDocker()


def ticking(step_s: float) -> Callable[[], float]:
    """A clock that moves on each time it is looked at."""
    ticks: Iterator[int] = count()
    return lambda: next(ticks) * step_s


def never(text: str) -> Callable[[tuple[str, ...]], ExecResult]:
    """A node that keeps answering the same; slowly, so that the other nodes are heard."""

    def reply(_: tuple[str, ...]) -> ExecResult:
        time.sleep(0.01)
        return answer(f"waiting {text}\n", code=75)

    return reply


def states(events: Events, node: str) -> list[tuple[str, str]]:
    """What was shown of a node: (state, answer)."""
    return [
        (each.state, each.answer)
        for each in events
        if isinstance(each, NodeEvent) and each.node == node
    ]


def test_every_node_is_waited_for_and_its_answers_are_reported(docker: FakeDocker) -> None:
    docker.on(
        "exec .*mysql1 .*ready.sh ready",
        answer("waiting ERROR 2003\nwaiting reader\nrole writer\nready writer\n"),
    )
    events = Events()
    readiness = Readiness(running_stack(docker, "mysql+balancer"), events)
    readiness.wait()
    assert readiness.roles == {"mysql1": "writer"}
    assert states(events, "mysql1") == [
        ("starting", ""), ("waiting", "ERROR 2003"), ("waiting", "reader"), ("ready", "writer"),
    ]  # fmt: skip
    assert states(events, "balancer1")[-1] == ("ready", "yes")


def test_a_server_that_stands_aside_is_ready_and_named(docker: FakeDocker) -> None:
    why = "stale: writable, but replica1 is the writer"
    docker.on("exec .*mysql1 .*ready.sh ready", answer(f"role {why}\nready {why}\n"))
    events = Events()
    readiness = Readiness(running_stack(docker, "mysql"), events)
    readiness.wait()
    assert readiness.roles == {"mysql1": "stale"}
    assert Note(f"mysql1 is {why}; make heal REPAIR=1 makes it follow the writer") in events


def test_what_lies_on_the_way_is_asked_from_the_client(docker: FakeDocker) -> None:
    Readiness(running_stack(docker, "mysql+balancer"), Events()).wait()
    asked = {
        call[call.index("ready.sh") + 1]: call[1]
        for call in docker.called("exec")
        if "ready.sh" in call
    }
    assert asked["ready-balancer1"].endswith("client1")


REPORTED = "role writer\nversion {}\nready writer\n"


@pytest.mark.parametrize(
    ("profile", "reported"), [("mysql@8.4.11", "8.4.11"), ("mysql@8.4", "8.4.7")]
)
def test_the_version_that_a_server_reports_is_kept(
    docker: FakeDocker, profile: str, reported: str
) -> None:
    """Where a series was asked for, any version of it is right."""
    docker.on("exec .*mysql1 .*ready.sh ready", answer(REPORTED.format(reported)))
    readiness = Readiness(running_stack(docker, profile), Events())
    readiness.wait()
    assert readiness.versions == {"mysql1": reported}


def test_a_server_of_another_version_than_the_one_asked_for_is_not_ready(
    docker: FakeDocker,
) -> None:
    docker.on("exec .*mysql1 .*ready.sh ready", answer(REPORTED.format("8.4.7")))
    events = Events()
    with pytest.raises(SandboxError) as refused:
        Readiness(running_stack(docker, "mysql@8.4.11"), events).wait()
    assert refused.value.exit_code is ExitCode.ENVIRONMENT
    assert refused.value.what == "mysql1 reports version 8.4.7, but 8.4.11 was requested"
    assert "mysql:8.4.11" in refused.value.known and "WHAT=versions" in refused.value.next_step
    assert [state for state, _ in states(events, "mysql1")] == ["starting", "failed"]


def test_a_node_without_a_question_is_ready_when_it_runs(docker: FakeDocker) -> None:
    events = Events()
    Readiness(running_stack(docker, "cluster3+router"), events).wait()
    assert states(events, "router1") == [("starting", ""), ("ready", "runs")]


def test_a_container_that_does_not_run_is_reported_at_once_with_its_log(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql+replica1")
    docker.state("replica1", "exited")
    docker.on("^logs", answer("".join(f"line {number}\n" for number in range(30))))
    events = Events()
    with pytest.raises(SandboxError) as dead:
        Readiness(stack.refreshed(), events).wait()
    assert dead.value.exit_code == ExitCode.ENVIRONMENT
    assert dead.value.what == "replica1 is not running: exited (1)"
    assert "make down" in dead.value.next_step
    assert events[-1] == LogTail("replica1", tuple(f"line {number}" for number in range(10, 30)))


def test_a_death_while_waiting_ends_the_wait(docker: FakeDocker) -> None:
    stack = running_stack(docker, "mysql")
    docker.on("exec .*mysql1 ", never("nothing"))

    def dies(_: tuple[str, ...]) -> ExecResult:
        docker.state("mysql1", "exited")
        return answer("mysql1\n")

    docker.on("^events", dies)
    with pytest.raises(SandboxError) as dead:
        Readiness(stack, Events()).wait()
    assert "mysql1 is not running: exited" in dead.value.what


def test_a_restart_is_no_death(docker: FakeDocker) -> None:
    docker.on("^events", answer("mysql1\nunknown1\n"))
    events = Events()
    Readiness(running_stack(docker, "mysql"), events).wait()
    assert states(events, "mysql1")[-1][0] == "ready"


def test_a_node_that_cannot_be_asked_is_a_failure_and_not_a_long_wait(docker: FakeDocker) -> None:
    docker.on("exec .*mysql1 ", answer("OCI runtime exec failed: no sh\n", code=126))
    with pytest.raises(SandboxError) as broken:
        Readiness(running_stack(docker, "mysql"), Events()).wait()
    assert "no sh" in broken.value.what


def test_a_time_out_names_node_condition_and_last_answer(docker: FakeDocker) -> None:
    docker.on("exec .*mysql1 ", never("ERROR 2003"))
    docker.on("^logs --timestamps", answer("the same line\n"))
    with pytest.raises(SandboxError) as late:
        Readiness(running_stack(docker, "mysql"), Events(), timeout_s=60, clock=ticking(1)).wait()
    assert "mysql1 is not ready after" in late.value.what
    assert "condition: 1; last answer: ERROR 2003" in late.value.what


def test_a_time_out_names_what_else_is_not_ready(docker: FakeDocker) -> None:
    docker.on("exec .*(mysql1|replica1) ", never("ERROR 2003"))
    docker.on("^logs --timestamps", answer("the same line\n"))
    with pytest.raises(SandboxError) as late:
        Readiness(
            running_stack(docker, "mysql+replica1"), Events(), timeout_s=60, clock=ticking(1)
        ).wait()
    other = "replica1" if late.value.what.startswith("mysql1") else "mysql1"
    assert late.value.known.startswith(f"also not ready: {other} (ERROR 2003); the stack is kept")


READY, STATE = "sh /sandbox/probe ready", "sh /sandbox/probe state"
"""The questions that are asked again and again while others are waited for, as patterns."""
APPLIER = "error 1032: Could not execute Delete_rows event on table sbtest.c"


def broken_member(docker: FakeDocker, state: str, was_ready: bool = False) -> None:
    """A cluster whose second member is in a state, and whose others wait for it."""
    docker.on("exec .*cluster", never("2 of 3"))
    docker.on("exec .*cluster2 ", answer("ready 1\n") if was_ready else never("0,0,0"))
    docker.on(f"exec .*cluster2 {READY}", answer("0,0,0\n", code=1))
    docker.on(f"exec .*cluster2 {STATE}", answer(state))


@pytest.mark.parametrize("was_ready", [True, False])
def test_a_member_that_is_in_no_group_any_more_ends_the_wait_where_that_is_asked_for(
    docker: FakeDocker, was_ready: bool
) -> None:
    broken_member(docker, "state\tOFFLINE\n", was_ready)
    stack, clock, events = running_stack(docker, "cluster3"), ticking(0.5), Events()
    with pytest.raises(BrokenServerError) as left:
        Readiness(stack, events, 600, clock, end_if_broken=True).wait()
    assert WITHOUT_CAUSE_S < clock() < 2 * WITHOUT_CAUSE_S, "its bound would be 600 s"
    assert left.value.lines() == [
        "cluster2 is OFFLINE: it is in no group",
        "it does not come back by itself",
        "try: make heal REPAIR=1 (make ps shows every server's state, make logs NODE=cluster2 why)",
    ]
    assert states(events, "cluster2")[-1] == ("failed", "OFFLINE: it is in no group")
    with pytest.raises(SandboxError, match="is not ready after 6"):
        Readiness(stack, Events(), 60, ticking(1)).wait()


def test_a_member_whose_data_differs_ends_the_wait_at_once(docker: FakeDocker) -> None:
    broken_member(docker, f"state\tERROR\napplier_error\t{APPLIER}\n")
    docker.on(f"exec .*cluster3 {STATE}", answer(f"state\tERROR\napplier_error\t{APPLIER}\n"))
    docker.on(f"exec .*cluster3 {READY}", answer("0,0,0\n", code=1))
    clock = ticking(0.5)
    with pytest.raises(BrokenServerError) as broken:
        Readiness(
            running_stack(docker, "cluster3"), Events(), 600, clock, end_if_broken=True
        ).wait()
    assert clock() < LEFT_S
    assert broken.value.what == f"cluster2 is ERROR: {APPLIER}"
    assert (
        broken.value.known == f"cluster3 is ERROR: {APPLIER}; they do not come back by themselves"
    )


def test_a_member_that_has_left_for_a_moment_is_waited_for(docker: FakeDocker) -> None:
    asked = count(1)
    broken_member(docker, "")
    docker.on(
        "exec .*cluster3 ",
        lambda _: answer("ready 1\n") if next(asked) > 100 else never("2 of 3")(()),
    )
    docker.on("exec .*cluster[12] .*QUESTION|exec .*cluster[12] sh -c", answer("ready 1\n"))
    moments = count()
    docker.on(
        f"exec .*cluster2 {STATE}",
        lambda _: answer(
            f"state\t{'OFFLINE' if next(moments) % 2 else 'RECOVERING'}\nmembers\tcluster2"
            " RECOVERING\n"
        ),
    )
    Readiness(
        running_stack(docker, "cluster3"), Events(), 600, ticking(0.5), end_if_broken=True
    ).wait()
    assert next(moments) > 2 * LEFT_S / 5


def test_a_time_out_names_the_state_of_the_server(docker: FakeDocker) -> None:
    broken_member(docker, "state\tRECOVERING\nmembers\tcluster2 RECOVERING\nqueue\t17\n")
    docker.on("exec .*cluster[13] sh -c", answer("ready 1\n"))
    docker.on("^logs --timestamps", answer("the same line\n"))
    with pytest.raises(SandboxError) as late:
        Readiness(
            running_stack(docker, "cluster3"), Events(), timeout_s=60, clock=ticking(1)
        ).wait()
    assert (
        "last answer: 0 of 3 members ONLINE; it is RECOVERING: 17 transactions to apply)"
        in late.value.what
    )


@pytest.mark.parametrize(("moving", "at_least_s", "at_most_s"), [(False, 60, 80), (True, 290, 320)])
def test_a_moving_log_earns_more_time_but_not_without_end(
    docker: FakeDocker, moving: bool, at_least_s: float, at_most_s: float
) -> None:
    docker.on("exec .*mysql1 ", never("recovering"))
    lines = count()
    docker.on("^logs --timestamps", lambda _: answer(f"line {next(lines) if moving else 0}\n"))
    events = Events()
    with pytest.raises(SandboxError):
        Readiness(running_stack(docker, "mysql"), events, timeout_s=60, clock=ticking(1)).wait()
    failed = next(each for each in events if isinstance(each, NodeEvent) and each.state == "failed")
    assert at_least_s <= failed.seconds <= at_most_s


@pytest.mark.parametrize(
    ("server_answers", "failed_node", "at_least_s", "at_most_s"),
    [(True, "balancer1", 60, 80), (False, "mysql1", 290, 320)],
)
def test_the_log_of_a_proxy_is_no_progress_but_a_server_under_way_is(
    docker: FakeDocker, server_answers: bool, failed_node: str, at_least_s: float, at_most_s: float
) -> None:
    if not server_answers:
        docker.on("exec .*mysql1 ", never("recovering"))
    docker.on("exec .*ready-balancer1", never("ERROR 9001"))
    lines = count()
    docker.on("^logs --timestamps", lambda _: answer(f"line {next(lines)}\n"))
    events = Events()
    with pytest.raises(SandboxError):
        Readiness(
            running_stack(docker, "mysql+balancer"), events, timeout_s=60, clock=ticking(1)
        ).wait()
    failed = next(each for each in events if isinstance(each, NodeEvent) and each.state == "failed")
    assert failed.node == failed_node
    assert at_least_s <= failed.seconds <= at_most_s
