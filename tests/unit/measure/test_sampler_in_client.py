"""The sampler as it runs in the client node: on time, nothing dropped, and back after a server was
away.
"""

import io
import sys
import threading
import time
from typing import Any

import pymysql
import pytest

from sandbox.measure.in_client import sampler


def collect(ask: sampler.Ask, seconds: float, interval_s: float = 0.02) -> list[dict[str, Any]]:
    """What a short sampling emits."""
    lines: list[dict[str, Any]] = []
    stop = threading.Event()
    job = threading.Thread(
        target=sampler.follow, args=("mysql1", ask, interval_s, lines.append, stop)
    )
    job.start()
    time.sleep(seconds)
    stop.set()
    job.join(2)
    assert not job.is_alive()
    return lines


def test_slots_follow_the_clock_without_drift() -> None:
    lines = collect(lambda: {"status": {"Questions": 1}}, 0.5)
    assert [line["slot"] for line in lines] == list(range(len(lines)))
    late = [line["t_s"] - line["slot"] * 0.02 for line in lines if line["t_s"] is not None]
    # The least late of the second half: a busy machine delays single slots, a drift would delay
    # them all.
    assert min(late) >= 0 and min(late[len(late) // 2 :]) < 0.2


def test_a_slot_that_could_not_be_kept_is_there_with_its_reason() -> None:
    answers = iter([0.1])

    def ask() -> dict[str, Any]:
        time.sleep(next(answers, 0))
        return {"status": {}}

    lines = collect(ask, 0.4)
    assert [line["slot"] for line in lines] == list(range(len(lines)))
    missed = [line for line in lines if line["status"] is None]
    assert len(missed) >= 3 and all(
        "the previous answer took 0." in line["reason"] for line in missed
    )


class Cursor:
    """Answers once, then loses the connection."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        self._rows = rows

    def __enter__(self) -> "Cursor":
        return self

    def __exit__(self, *_: object) -> None: ...

    def execute(self, statement: str) -> None:
        if not self._rows:
            raise pymysql.err.OperationalError(2013, "Lost connection")

    def fetchall(self) -> list[tuple[str, str]]:
        return self._rows


class Connection:
    """One of several connections made one after the other."""

    def __init__(self, rows: list[tuple[str, str]]) -> None:
        self._rows = rows

    def cursor(self) -> Cursor:
        return Cursor(self._rows)


def test_a_server_that_dies_gives_null_and_reason_and_comes_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    connections = iter(
        [Connection([]), Connection([("Questions", "5"), ("wsrep_cluster_status", "Primary")])]
    )
    monkeypatch.setattr(pymysql, "connect", lambda **given: next(connections))
    server = sampler.Server({"host": "a", "port": 3306, "credentials": "/none"})
    assert server.ask() == {"status": None, "reason": "OperationalError(2013, 'Lost connection')"}
    assert server.ask() == {"status": {"Questions": 5}}


class Member(Cursor):
    """A member of Group Replication; ``own``: its row among the statistics."""

    description = (
        ("CHANNEL_NAME",),
        ("COUNT_TRANSACTIONS_IN_QUEUE",),
        ("COUNT_TRANSACTIONS_REMOTE_IN_APPLIER_QUEUE",),
    )

    def __init__(self, own: tuple[Any, ...] | None) -> None:
        super().__init__([("Questions", "5")])
        self._own = own

    def cursor(self) -> "Member":
        return self

    def fetchone(self) -> tuple[Any, ...] | None:
        return self._own


@pytest.mark.parametrize(
    ("own", "queues"),
    [
        (
            ("group_replication_applier", 3, 40),
            {"Gr_certification_queue": 3, "Gr_applier_queue": 40},
        ),
        (("group_replication_applier", 3, None), {"Gr_certification_queue": 3}),
        (None, {}),
    ],
)
def test_a_member_of_a_group_says_what_it_has_not_applied(
    own: tuple[Any, ...] | None, queues: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pymysql, "connect", lambda **given: Member(own))
    member = sampler.Server(
        {"host": "a", "port": 3306, "credentials": "/none", "is_group_member": True}
    )
    assert member.ask() == {"status": {"Questions": 5, **queues}}


@pytest.mark.skipif(sys.platform != "linux", reason="the script reads /proc, which only Linux has")
def test_the_machine_is_read() -> None:
    load = sampler.host_load()
    assert load["cpu_ticks"]["user"] >= 0 and "steal" in load["cpu_ticks"]
    assert load["load_average"] >= 0


def test_a_kernel_without_pressure_information_is_null() -> None:
    assert sampler.stalled("no such resource") is None


@pytest.mark.parametrize(
    ("text", "value"), [("12", 12), ("0.5", 0.5), ("Primary", None), ("", None)]
)
def test_numbers_only(text: str, value: float | None) -> None:
    assert sampler.number(text) == value


class Broken(io.StringIO):
    """A reader that is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_it_stops_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    monkeypatch.setattr(sys, "stdout", Broken())
    sampler.printer(stop)({"slot": 1})
    assert stop.is_set()


def test_it_stops_when_its_input_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    stop = threading.Event()
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    sampler.end_with_input(stop)
    assert stop.is_set()
