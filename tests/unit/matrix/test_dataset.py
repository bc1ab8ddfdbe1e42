"""The data of restarted stacks: what is kept, what distinguishes it, and that every server has
it.
"""

from pathlib import Path
from typing import Any

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.load.common.registry import find_workload
from sandbox.load.common.workload import Event, Parameters
from sandbox.matrix.dataset import data_key, needing_data, prepare_data
from sandbox.measure.bench import BenchRequest
from unit.fake_stack import FakeStack

PROFILES = [Path(__file__).parents[3] / "profiles" / "workloads"]


def bench(workload: str = "oltp_read_only", **parameters: Any) -> BenchRequest:
    """A load of the real library."""
    return BenchRequest(
        find_workload(workload, PROFILES), Parameters(tables=1, rows_per_table=10, **parameters)
    )


def test_loads_of_the_same_data_need_it_once() -> None:
    found = needing_data([bench(threads=1), bench(threads=64), bench("oltp_write_only")])
    assert [each.parameters.threads for each in found] == [1]


def test_data_beside_it_is_kept_as_well() -> None:
    assert len(needing_data([bench(), bench("tpcc")])) == 2


def test_what_needs_none_or_uses_it_up_is_not_kept() -> None:
    assert needing_data([bench("noop"), bench("oltp_delete")]) == []


def test_a_key_distinguishes_stack_and_data() -> None:
    more = BenchRequest(
        find_workload("oltp_read_only", PROFILES), Parameters(tables=2, rows_per_table=10)
    )
    keys = {
        data_key("s", [bench()]),
        data_key("t", [bench()]),
        data_key("s", [more]),
        data_key("s", []),
    }
    assert len(keys) == 4
    assert data_key("s", [bench(threads=3)]) == data_key("s", [bench(threads=4)])


def test_every_server_has_it_before_it_is_kept() -> None:
    stack, events = FakeStack(polls_behind=1), list[Event]()
    prepare_data(stack, [bench()], events.append)
    assert "sbtest" in stack.marks
    assert any("catch up" in str(each) for each in events)


def test_data_that_cannot_be_made_is_the_environments_fault() -> None:
    stack = FakeStack(prepare_code=1, prepare_lines=["FATAL: disk full"])
    with pytest.raises(SandboxError) as failed:
        prepare_data(stack, [bench()], lambda _: None)
    assert failed.value.exit_code is ExitCode.ENVIRONMENT
