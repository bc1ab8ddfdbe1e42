"""Locks: one holder at a time, gone with the process that held it."""

import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.stack.locks import claimed, locked

HOLDER = """
import sys, time
from sandbox.stack.locks import locked
with locked("it", lambda: None):
    print("held", flush=True)
    time.sleep(60)
"""


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Locks of the test alone."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))


@pytest.fixture
def holder() -> Iterator["subprocess.Popen[str]"]:
    """Another process that holds the lock."""
    scripts = str(Path(__file__).parents[3] / "scripts")
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER], stdout=subprocess.PIPE, text=True, cwd=scripts
    )
    assert process.stdout and process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_second_command_waits_with_a_message_and_gives_up_in_bounds(
    holder: "subprocess.Popen[str]",
) -> None:
    messages: list[str] = []
    with (
        pytest.raises(SandboxError) as late,
        locked("it", lambda: messages.append("waiting"), patience_s=0.7),
    ):
        pass
    assert messages == ["waiting"]
    assert late.value.exit_code == ExitCode.ENVIRONMENT


def test_a_lock_that_outlives_its_holder_for_a_moment_is_not_worth_a_message(
    holder: "subprocess.Popen[str]",
) -> None:
    threading.Timer(0.1, holder.kill).start()
    with locked("it", lambda: pytest.fail("nobody works on it"), patience_s=5):
        pass


def test_a_killed_holder_leaves_no_lock(holder: "subprocess.Popen[str]") -> None:
    holder.kill()
    with locked("it", lambda: None, patience_s=5):
        pass


def test_another_lock_is_free(holder: "subprocess.Popen[str]") -> None:
    with locked("other", lambda: pytest.fail("nobody holds it"), patience_s=0):
        pass


def test_a_child_that_was_given_the_lock_keeps_it_alive() -> None:
    with locked("it", lambda: None) as descriptor:
        child = subprocess.Popen(["sleep", "60"], pass_fds=(descriptor,))
    try:
        with pytest.raises(SandboxError), locked("it", lambda: None, patience_s=0.1):
            pass
    finally:
        child.kill()
        child.wait()
    with locked("it", lambda: None, patience_s=5):
        pass


def test_a_claim_does_not_wait_and_holds_all_or_says_so(holder: "subprocess.Popen[str]") -> None:
    with claimed(["it", "other"]) as ours:
        assert not ours
    with claimed(["other", "third"]) as ours:
        assert ours


def test_readers_claim_beside_one_another_and_not_beside_a_writer() -> None:
    with claimed(["a"], shared=True) as first, claimed(["a"], shared=True) as second:
        assert first and second
        with claimed(["a"]) as alone:
            assert not alone
    with claimed(["a"]) as alone, claimed(["a"], shared=True) as reader:
        assert alone and not reader
