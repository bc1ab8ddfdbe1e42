"""Locks between commands, held by the kernel: who works on a stack, and who only reads it."""

import fcntl
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from sandbox.core.errors import MachineError
from sandbox.stack.protocol import Note, OnEvent

LOCK_PATIENCE_S = 60.0
"""Time that a command waits for another one that is working on its stack."""
QUIET_S = 0.5
"""A lock may outlive its holder for a moment: a process that it was starting has it open until it
runs.
"""
_POLL_S = 0.05


def cache_folder() -> Path:
    """The user's cache: shared by all checkouts, like the engine."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "sandbox"


def lock_folder() -> Path:
    """Folder of the lock files."""
    return cache_folder() / "locks"


@contextmanager
def opened(names: Iterable[str]) -> Iterator[list[int]]:
    """The files of these locks, not locked yet; a lock ends when the last process with it open
    closes it or dies.
    """
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptors = [
        os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600) for name in names
    ]
    try:
        yield descriptors
    finally:
        for each in descriptors:
            os.close(each)


@contextmanager
def locked(
    name: str, on_wait: Callable[[], None], patience_s: float | None = None
) -> Iterator[int]:
    """Holds the lock ``name``; yields its file descriptor, for a child that must hold it after we
    exit.

    ``on_wait`` is called once where another process has it for longer than a moment. Raises
    SandboxError (exit 4) past ``patience_s``.
    """
    with opened([name]) as (descriptor,):
        _acquire(descriptor, name, on_wait, patience_s)
        os.ftruncate(descriptor, 0)  # what the last holder left in it
        yield descriptor


def locked_stack(project: str, name: str, on_event: OnEvent) -> AbstractContextManager[int]:
    """Only one command at a time makes, publishes or removes a stack. SandboxError (exit 4) after a
    minute.
    """
    wait = Note(f"another command is working on the stack '{name}'; waiting for it")
    return locked(project, lambda: on_event(wait), LOCK_PATIENCE_S)


@contextmanager
def shared(name: str) -> Iterator[None]:
    """Holds the lock ``name`` together with others that share it; waits for a claim on it, which is
    always brief.
    """
    with opened([name]) as (descriptor,):
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield


@contextmanager
def claimed(names: Iterable[str], shared: bool = False) -> Iterator[bool]:
    """Tries to hold every lock, without waiting; yields whether it does. ``shared``: together with
    others.
    """
    with opened(names) as descriptors:
        yield all(_try(each, fcntl.LOCK_SH if shared else fcntl.LOCK_EX) for each in descriptors)


def is_held(name: str) -> bool:
    """Whether another process holds a lock now."""
    with claimed([name]) as free:
        return not free


def _acquire(
    descriptor: int, name: str, on_wait: Callable[[], None], patience_s: float | None
) -> None:
    began = time.monotonic()
    is_said = False
    while not _try(descriptor):
        waited_s = time.monotonic() - began
        if waited_s > QUIET_S and not is_said:
            on_wait()
            is_said = True
        if patience_s is not None and waited_s > patience_s:
            raise MachineError(
                f"another command has been working on {name} for more than {patience_s:.0f} s",
                f"it holds {lock_folder() / name}.lock",
                "try: make ps   (then the same command, when the other has ended)",
            )
        time.sleep(_POLL_S)


def _try(descriptor: int, kind: int = fcntl.LOCK_EX) -> bool:
    try:
        fcntl.flock(descriptor, kind | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


_GAP_S = 30.0
"""Time that a snapshot waits for a moment without a reader."""
_GAP_POLL_S = 0.1


# A snapshot holds what a stack was when it became ready. A command that may change the stack marks
# it first, and a snapshot that is not copied by then is dropped: the next start of the plan takes
# it. A command that only reads leaves no mark. Neither waits for the other longer than the servers
# pause. The mark is the content of the lock's file and lives as long as the stack.


def mark_changed(project: str) -> None:
    """Marks a stack as no longer what it was when it became ready; its servers are not paused from
    now on.
    """
    with (
        shared(_use_of(project)),
        (lock_folder() / f"{_use_of(project)}.lock").open("a", encoding="utf-8") as file,
    ):
        file.write("changed\n")


@contextmanager
def reading(project: str) -> Iterator[None]:
    """Keeps a stack's servers from being paused during the block, which does not change them."""
    with shared(_use_of(project)):
        yield


def forget_changes(project: str) -> None:
    """Removes the mark: a stack of this name is about to be made."""
    with opened([_use_of(project)]) as (descriptor,):
        os.ftruncate(descriptor, 0)


@contextmanager
def unchanged(project: str) -> Iterator[bool]:
    """Keeps everybody out during the block; gives whether the stack is still what it was when it
    became ready.

    Also False where readers leave no moment to pause its servers.
    """
    until = time.monotonic() + _GAP_S
    while True:
        with claimed([_use_of(project)]) as ours:
            if ours or time.monotonic() > until:
                yield ours and not _is_marked(project)
                return
        time.sleep(_GAP_POLL_S)


def _is_marked(project: str) -> bool:
    return (lock_folder() / f"{_use_of(project)}.lock").stat().st_size > 0


def _use_of(project: str) -> str:
    """The lock of those who use a stack; its file has content once the stack was changed."""
    return f"{project}-use"
