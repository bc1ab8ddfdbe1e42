"""The workload that does nothing says so with nulls, not with zeros."""

from pathlib import Path

from sandbox.load.noop import Noop
from unit.fake_stack import FakeStack
from unit.load.test_sysbench import session_of


def test_it_waits_and_has_no_figures(tmp_path: Path) -> None:
    stack = FakeStack()
    outcome = Noop().load(session_of(stack), "measure", tmp_path / "load.log")
    assert outcome.failure is None and outcome.command == ("sleep", "3")
    assert outcome.metrics.tps is None and outcome.metrics.queries is None


def test_it_needs_no_data(tmp_path: Path) -> None:
    stack = FakeStack()
    assert Noop().prepare(session_of(stack), tmp_path / "prepare.log") is None
    assert not stack.asked


def test_a_wait_cut_short_is_a_failure(tmp_path: Path) -> None:
    outcome = Noop().load(session_of(FakeStack(load_code=137)), "measure", tmp_path / "load.log")
    assert outcome.failure == "sleep ended with exit code 137"
