"""The Lua of the workloads: every statement counted, every second reported, errors end the load."""

import random
import time
from pathlib import Path
from typing import Any

import pytest

from unit.load.histograms import bucket_of
from unit.load.lua.script import Load, Server, ServerError, State

PAIR = """
local engine = require("engine")
local tries = 0
engine.load {
   kinds = {"pair", "other"},
   background = {other = true},
   thread = function(job)
      return {
         draw = function()
            local number = math.random(9)
            return job.is_background and "other" or "pair", function()
               tries = tries + 1
               job.connection:read("SELECT " .. number)
               if sysbench.opt.expected and tries % 4 == 0 then error(engine.EXPECTED_ROLLBACK, 0) end
               if sysbench.opt.broken then error("a defect", 0) end
               job.connection:write("UPDATE " .. number)
            end
         end,
      }
   end,
}
"""  # noqa: E501


@pytest.fixture
def pair(tmp_path: Path) -> str:
    """A script of one kind of transaction: a read and a write."""
    path = tmp_path / "pair.lua"
    path.write_text(PAIR)
    return str(path)


def slow(statement: str) -> list[Any]:
    """Five milliseconds for a statement."""
    time.sleep(0.005)
    return []


def count(histogram: dict[str, Any]) -> int:
    """Transactions in a histogram."""
    return sum(number for _, number in histogram["counts"])


def test_every_second_is_reported_and_everything_adds_up(pair: str) -> None:
    lines = Load(pair, Server(slow), seconds=2, threads=3).run()
    assert [line["second"] for line in lines[:-1]] == [1, 2] and all(
        line["threads"] == 3 for line in lines[:-1]
    )
    summary = lines[-1]["summary"]
    done = count(summary["kinds"]["pair"])
    assert summary["reads"] == summary["writes"] == done > 0
    assert summary["connections"] == 3 and not summary["errors"] and not summary["conflicts"]
    assert 0 <= done - sum(line["transactions"] for line in lines[:-1]) <= 3
    assert 2.0 <= summary["seconds"] < 10
    assert all((line["p95_us"] or 10_000) >= 10_000 for line in lines[:-1])


def test_accompanying_threads_are_counted_separately(pair: str) -> None:
    lines = Load(pair, Server(slow), threads=1, background_threads=2, seconds=1).run()
    summary = lines[-1]["summary"]
    assert summary["background"] == ["other"] and set(summary["kinds"]) == {"pair", "other"}
    assert lines[0]["threads"] == 1 and lines[0]["transactions"] <= count(summary["kinds"]["pair"])


def test_a_conflict_is_retried_and_is_no_error(pair: str) -> None:
    draws = random.Random(1)

    def answer(statement: str) -> list[Any]:
        time.sleep(0.002)
        if statement.startswith("UPDATE") and draws.random() < 0.3:
            code = draws.choice([1213, 1205, 1020, 3101, 1180])
            raise ServerError(
                code, "Got error 149 - 'Lock deadlock; Retry transaction' during COMMIT"
            )
        return []

    summary = Load(pair, Server(answer)).run()[-1]["summary"]
    assert not summary["errors"]
    assert (
        set(summary["conflicts"]) <= {"1213", "1205", "1020", "3101", "1180"}
        and summary["conflicts"]
    )
    assert summary["others"] == sum(summary["conflicts"].values()), "a ROLLBACK for each"


def test_an_intended_rollback_has_a_name_of_its_own(pair: str) -> None:
    summary = Load(pair, Server(slow), expected=1).run()[-1]["summary"]
    assert set(summary["conflicts"]) == {"expected"}
    assert summary["reads"] == summary["writes"] + summary["conflicts"]["expected"]


def test_connections_go_to_each_host_in_turn_and_threads_begin_at_different_ones(pair: str) -> None:
    hosts = ["galera1", "galera2", "galera3"]
    for thread, first in enumerate((*hosts, "galera1")):
        server = Server()
        state = State(server, {}, [])
        state.lua.globals().sysbench.opt.mysql_host = state.lua.table_from(hosts)
        state.lua.globals().sysbench.tid = thread
        connect = state.require("engine").connect
        for _ in range(4):
            connect()
        assert server.hosts[0] == server.hosts[3] == first and set(server.hosts) == set(hosts)
    one = Server()
    Load(pair, one, threads=3, seconds=0.01).run()
    assert set(one.hosts) == {"mysql1"}


def test_a_commit_that_fails_for_another_reason_is_an_error(pair: str) -> None:
    def answer(statement: str) -> list[Any]:
        raise ServerError(1180, "Got error 28 - 'No space left on device' during COMMIT")

    summary = Load(pair, Server(answer), seconds=30).run()[-1]["summary"]
    assert summary["errors"]["1180"] >= 1 and not summary["conflicts"]


def test_any_other_error_ends_the_whole_load_at_once(pair: str) -> None:
    asked: list[str] = []

    def answer(statement: str) -> list[Any]:
        asked.append(statement)
        raise ServerError(1290, 'the server runs with "read only"')

    lines = Load(pair, Server(answer), seconds=30).run()
    assert len(asked) <= 2, "a thread asks nothing more"
    assert not [line for line in lines if "second" in line], "it did not run on"
    error = next(line for line in lines if "error" in line)
    assert error == {"error": "1290", "message": 'the server runs with "read only" (the load)'}
    assert lines[-1]["summary"]["errors"]["1290"] >= 1


def test_a_refused_connection_is_an_error_with_its_code(pair: str) -> None:
    server = Server()

    def refuse() -> None:
        raise ServerError(1040, "Too many connections")

    server.connect = refuse  # type: ignore[method-assign]
    lines = Load(pair, server, seconds=30).run()
    assert lines[0] == {"error": "1040", "message": "Too many connections (connecting)"}
    assert lines[-1]["summary"]["seconds"] == 0


def test_a_defect_of_a_script_is_an_error_too(pair: str) -> None:
    lines = Load(pair, Server(slow), broken=1).run()
    assert lines[0] == {"error": "unknown", "message": "a defect (the load)"}


def test_a_rate_is_kept_and_a_wait_counts_as_latency(pair: str) -> None:
    def stalled(statement: str) -> list[Any]:
        time.sleep(0.3 if not server.sent[2:] else 0.001)
        return []

    server = Server(stalled)
    summary = Load(pair, server, seconds=1, threads=1, pace_per_s=40).run()[-1]["summary"]
    done = summary["kinds"]["pair"]
    assert count(done) == pytest.approx(40, abs=16)
    assert sum(number for bucket, number in done["counts"] if bucket > bucket_of(50_000)) > 5, (
        "queued behind the first"
    )


def test_histograms_are_those_that_python_reads(pair: str) -> None:
    of = State(Server(), {}, []).require("engine").bucket_of
    for value in (0, 1, 127, 128, 255, 256, 257, 1000, 65_535, 65_536, 1_234_567, 2**31, 2**32 - 1):
        assert of(value) == bucket_of(value)
