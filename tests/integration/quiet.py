"""Tests run two at a time: one that has a snapshot taken lets none measure meanwhile, since that
forbids a snapshot.
"""

import fcntl
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path


@contextmanager
def _locked(name: str, how: int) -> Iterator[None]:
    descriptor = os.open(
        Path(tempfile.gettempdir()) / f"sandbox-tests-{name}.lock", os.O_RDWR | os.O_CREAT, 0o600
    )
    try:
        fcntl.flock(descriptor, how)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def may_measure() -> Iterator[None]:
    """Beside other tests that measure; who waits for quiet has its turn first."""
    with ExitStack() as held:
        with _locked("turn", fcntl.LOCK_EX):
            held.enter_context(_locked("measuring", fcntl.LOCK_SH))
        yield


@contextmanager
def nobody_measures() -> Iterator[None]:
    """No other test of real servers runs inside the block, but for those that keep snapshots."""
    with _locked("turn", fcntl.LOCK_EX), _locked("measuring", fcntl.LOCK_EX):
        yield
