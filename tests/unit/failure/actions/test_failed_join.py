"""A joiner that cannot join is found by what it answers and by its log, and not by a time-out."""

import pytest

from sandbox.failure.actions.common.joining import JoinWatch, cause_in, final_state
from sandbox.failure.actions.join import Join
from sandbox.stack.protocol import ReadyAnswer
from unit.failure.actions.scripted import Clock, operation, refused
from unit.failure.actions.test_join import cluster

APPLY = (
    "2026-11-29T02:44:13.1Z 2026-11-29  2:44:12 9 [ERROR] Slave SQL: Error 'An attempt was made to"
    " binlog GTID 0-1-42', Internal MariaDB error code: 1950, errno: 1950"
)
OUT = (
    "2026-11-29T02:44:14.0Z 2026-11-29  2:44:14 0 [Warning] WSREP: Inconsistent by consensus on"
    " 5e7a:42"
)
OTHER = "2026-11-29T02:44:10.0Z 2026-11-29  2:44:10 0 [ERROR] WSREP: something before"
TRANSFER = (
    "2026-11-29T02:44:13.2Z 2026-11-29  2:44:13 0 [ERROR] WSREP: SST failed: 1 (Operation not"
    " permitted)"
)
APPLIER = "Replica SQL for channel 'group_replication_applier': row not found"
GROUP = f"2026-11-29T02:44:13.3Z [ERROR] [MY-010584] [Repl] {APPLIER}"


@pytest.mark.parametrize(
    ("log", "line"),
    [
        ([OTHER, APPLY, OUT], "Internal MariaDB error code: 1950"),
        ([OTHER, TRANSFER], "SST failed: 1 (Operation not permitted)"),
        ([OTHER], "something before"),
        (["2026-11-29T02:44:13.2Z [Note] all is well"], None),
        ([], None),
    ],
)
def test_the_line_of_the_log_that_says_why(log: list[str], line: str | None) -> None:
    found = cause_in("\n".join(log))
    assert (found is None) if line is None else (found is not None and line in found)
    assert found is None or not found.startswith("2026-11-29T"), "without the stamp of the engine"


def test_a_long_line_is_cut() -> None:
    assert len(cause_in(f"[ERROR] WSREP: {'x' * 900}") or "") == 240


@pytest.mark.parametrize(
    ("answer", "meaning"),
    [
        ("0,Disconnected,5", "it has left its cluster (0,Disconnected,5)"),
        ("0,Disconnected,0", "it has left its cluster (0,Disconnected,0)"),
        ("3,Primary,2", None),
        ("1,non-Primary,0", None),
        ("nothing listens on port 3306 yet", None),
        (
            "receiver No, applier Yes: Got fatal error 1236 from source when reading data",
            "its replication has stopped: Got fatal error 1236 from source when reading data",
        ),
        ("receiver Connecting, applier Yes: error connecting to master", None),
        ("receiver Yes, applier No:", None),
    ],
)
def test_what_cannot_become_another_answer_by_itself(answer: str, meaning: str | None) -> None:
    assert final_state(answer) == meaning


def watch_of(log: str, clock: Clock) -> JoinWatch:
    stack = cluster()
    stack.log_of = {"galera3": log}
    return JoinWatch(stack, frozenset({"galera1", "galera2", "galera3"}), clock.monotonic)


def answers(text: str, ready: bool = False) -> dict[str, ReadyAnswer]:
    return {"galera1": ReadyAnswer(True, "3,Primary,4"), "galera3": ReadyAnswer(ready, text)}


def test_a_member_that_left_has_failed_once_that_lasts() -> None:
    clock = Clock()
    watch = watch_of(f"{OTHER}\n{APPLY}\n{OUT}", clock)
    assert watch.failure("galera3", answers("0,Disconnected,5")) is None, (
        "a server that starts answers so at first"
    )
    clock.now += 4
    assert watch.failure("galera3", answers("2,Primary,1")) is None
    clock.now += 4
    assert watch.failure("galera3", answers("0,Disconnected,5")) is None, "it counts anew"
    clock.now += 5
    reason = watch.failure("galera3", answers("0,Disconnected,5"))
    assert (
        reason
        and reason.startswith("galera3: it has left its cluster (0,Disconnected,5); its log: ")
        and "1950" in reason
    )


def test_a_member_of_a_group_that_fails_twice_alike_cannot_stay() -> None:
    clock = Clock()
    assert watch_of(GROUP, clock).failure("galera3", answers("2,1,0")) is None, "it tries again"
    reason = watch_of(f"{GROUP}\n{GROUP}", clock).failure("galera3", answers("2,1,0"))
    assert reason and "it cannot stay in its group" in reason and "MY-010584" in reason


def test_a_join_ends_with_the_reason(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    stack = cluster()
    stack.unready, stack.says_of = [set(), {"galera2"}], {"galera2": "0,Disconnected,5"}
    stack.log_of = {"galera2": APPLY}
    given = operation(stack, ["galera2"])
    began = clock.now
    error = refused(Join(away_s=0), given)
    assert error.lines()[0] == "galera2 cannot join" and "1950" in error.lines()[1]
    assert clock.now - began < 10 and given.joined_s == [(600, True)], (
        "and nobody waits for the ten minutes"
    )


def test_a_join_whose_server_ends_says_why(clock: Clock) -> None:
    stack = cluster()
    stack.unready, stack.dead = [set(), {"galera2"}], {"galera2": "exited (134)"}
    stack.log_of = {"galera2": TRANSFER}
    error = refused(Join(away_s=0, data="empty"), operation(stack, ["galera2"]))
    assert "it is exited (134); its log: " in error.lines()[1] and "SST failed" in error.lines()[1]
