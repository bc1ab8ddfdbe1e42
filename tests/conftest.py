"""What all tests share: which of them need an engine, and what could not run here."""

import atexit
import gc
import shutil
import signal
import subprocess
from collections.abc import Iterator

import pytest
from hypothesis import settings

from integration.quiet import may_measure, nobody_measures
from integration.shared import profile_of
from sandbox.core import interruptions

# How fast this machine is just now is no property of the code.
settings.register_profile("sandbox", deadline=None)
settings.load_profile("sandbox")

# In the background a shell ignores Ctrl-C, and what a test starts and then interrupts would inherit
# that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _signals_end_what_they_ended_before() -> Iterator[None]:
    """A command that ran in this process leaves its handlers, which swallow a second signal within
    a second: the one that the next test sends.
    """
    before = {number: signal.getsignal(number) for number in interruptions.ENDINGS}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def _engine_missing() -> str | None:
    """Why no Docker test can run here, or None."""
    if shutil.which("docker") is None:
        return "no docker client"
    done = subprocess.run(
        ["docker", "info", "--format", "{{.ServerVersion}}"],
        capture_output=True,
        text=True,
        check=False,
    )
    return (
        None
        if done.returncode == 0 and done.stdout.strip()
        else f"no engine: {done.stderr.strip()[:200]}"
    )


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """A test of real servers may measure, its fixtures too; one marked ``alone`` does with no other
    beside it.
    """
    if item.get_closest_marker("alone"):
        with nobody_measures():
            return (yield)
    if item.get_closest_marker("docker") and not item.get_closest_marker("keeps_snapshots"):
        with may_measure():
            return (yield)
    return (yield)


def _turn(item: pytest.Item) -> int:
    """When it comes: 0 is first."""
    if item.get_closest_marker("alone"):
        return 0
    if item.get_closest_marker("keeps_snapshots"):
        return 2
    return 1 if item.get_closest_marker("docker") else 3


@pytest.hookimpl(tryfirst=True)  # before xdist looks for groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Without an engine the integration tests cannot run, and the report says why; with one, two
    stacks run at once.

    Tests that share a stack stay on one worker: those of a profile, else those of a file. One
    marked ``own_stack`` shares nothing, and goes to the worker that is free. Those that run alone
    come first: no worker waits for them in the middle. Tests that need no server come last, and
    fill what one worker has left when the other is done; snapshots are taken just before, beside
    tests that measure nothing.
    """
    items.sort(key=_turn)
    for item in items:
        if item.get_closest_marker("docker") and not item.get_closest_marker("own_stack"):
            item.add_marker(pytest.mark.xdist_group(profile_of(item) or item.path.stem))
    needing = [item for item in items if item.get_closest_marker("docker")]
    reason = _engine_missing() if needing else None
    if reason:
        for item in needing:
            item.add_marker(pytest.mark.skip(reason=reason))


def pytest_collection_finish() -> None:
    """What was imported and collected stays to the end: the garbage collector need not look at it
    again and again.

    At the end of the process modules are checked for leaks, for which everything must go again; not
    before: pytest collects garbage five times when it is done.
    """
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.unfreeze)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish() -> None:
    """Collects once what tests left; the other times that pytest does find nothing to look at."""
    gc.collect()
    gc.freeze()
