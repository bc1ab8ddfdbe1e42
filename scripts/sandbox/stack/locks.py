"""Locks between commands, held by the kernel: one that is killed leaves none behind."""

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from sandbox.errors import ExitCode, SandboxError

_POLL_S = 0.05


def cache_folder() -> Path:
    """The user's cache: shared by all checkouts, as the engine is."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sandbox"


def lock_folder() -> Path:
    """Where the lock files lie."""
    return cache_folder() / "locks"


@contextmanager
def locked(name: str, on_wait: Callable[[], None], patience_s: float | None = None) -> Iterator[int]:
    """Holds the lock ``name``; yields its file descriptor, for a child that must hold it longer than we live.

    ``on_wait`` is called once where somebody else has it. Raises SandboxError (exit 4) past ``patience_s``.
    """
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _acquire(descriptor, name, on_wait, patience_s)
        os.ftruncate(descriptor, 0)  # what the last holder left in it
        yield descriptor
    finally:
        os.close(descriptor)  # the lock itself goes when the last process that has it open closes or dies


@contextmanager
def shared(name: str) -> Iterator[None]:
    """Holds the lock ``name`` beside others that share it; a claim on it is only ever a glance, and is waited for."""
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


@contextmanager
def claimed(names: Iterable[str], shared: bool = False) -> Iterator[bool]:
    """Tries to hold every lock, without waiting; yields whether it does. ``shared``: beside others that share them."""
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptors = [os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600) for name in names]
    try:
        yield all(_try(each, fcntl.LOCK_SH if shared else fcntl.LOCK_EX) for each in descriptors)
    finally:
        for each in descriptors:
            os.close(each)


def _acquire(descriptor: int, name: str, on_wait: Callable[[], None], patience_s: float | None) -> None:
    if _try(descriptor):
        return
    on_wait()
    began = time.monotonic()
    while not _try(descriptor):
        if patience_s is not None and time.monotonic() - began > patience_s:
            raise SandboxError(
                f"another command has been at work on {name} for more than {patience_s:.0f} s",
                f"it holds {lock_folder() / name}.lock",
                "try: again when it has ended, or end it",
                ExitCode.ENVIRONMENT,
            )
        time.sleep(_POLL_S)


def _try(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
