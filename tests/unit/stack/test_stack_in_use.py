"""Users of a stack and the pause of a snapshot: neither waits for long, and a changed stack is not
kept.
"""

import threading
from pathlib import Path

import pytest

from sandbox.stack import locks
from sandbox.stack.locks import forget_changes, mark_changed, reading, unchanged


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of the test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(locks, "_GAP_S", 0.3)


def is_unchanged() -> bool:
    """What a snapshot that is about to pause the servers sees."""
    with unchanged("p") as still:
        return still


def test_a_stack_is_what_it_was_until_a_command_may_change_it() -> None:
    forget_changes("p")
    assert is_unchanged()
    with reading("p"):
        pass
    assert is_unchanged()
    mark_changed("p")
    assert not is_unchanged() and not is_unchanged()
    mark_changed("q")
    forget_changes("p")
    assert is_unchanged()


def test_a_stack_that_is_read_all_the_time_is_not_paused() -> None:
    with reading("p"), reading("p"):
        assert not is_unchanged()
    assert is_unchanged()


def test_a_snapshot_waits_for_a_moment_without_a_reader() -> None:
    reads, goes_on = threading.Event(), threading.Event()

    def read() -> None:
        with reading("p"):
            reads.set()
            goes_on.wait(5)

    reader = threading.Thread(target=read)
    reader.start()
    reads.wait(5)
    threading.Timer(0.05, goes_on.set).start()
    assert is_unchanged()
    reader.join()


@pytest.mark.parametrize("use", [mark_changed, lambda project: reading(project).__enter__()])
def test_who_comes_during_the_pause_waits_for_its_end_alone(use: "object") -> None:
    done = threading.Event()

    def come() -> None:
        use("p")  # type: ignore[operator]
        done.set()

    with unchanged("p") as still:
        assert still
        comer = threading.Thread(target=come)
        comer.start()
        assert not done.wait(0.1)
    assert done.wait(5)
    comer.join()
