"""Who uses a stack while a snapshot of it is copied: neither waits for the other for longer than
its servers pause.

A snapshot holds what a stack was when it became ready. A command that may change it marks it first;
a snapshot that is not copied by then is dropped, and the next start of the plan takes it. A command
that only reads leaves no mark. The mark is the content of the lock's file, and lives as long as the
stack.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from sandbox.stack.locks import claimed, lock_folder, opened, shared

_GAP_S = 30.0
"""How long a snapshot waits for a moment without a reader."""
_POLL_S = 0.1


def mark_changed(project: str) -> None:
    """Marks a stack as no longer what it was when it became ready; its servers are not paused from
    now on.
    """
    with (
        shared(_name(project)),
        (lock_folder() / f"{_name(project)}.lock").open("a", encoding="utf-8") as file,
    ):
        file.write("changed\n")


@contextmanager
def reading(project: str) -> Iterator[None]:
    """Keeps a stack's servers from being paused during the block, which does not change them."""
    with shared(_name(project)):
        yield


def forget_changes(project: str) -> None:
    """Removes the mark: a stack of this name is about to be made."""
    with opened([_name(project)]) as (descriptor,):
        os.ftruncate(descriptor, 0)


@contextmanager
def unchanged(project: str) -> Iterator[bool]:
    """Keeps everybody out during the block; gives whether the stack is still what it was when it
    became ready.

    Also False where readers leave no moment to pause its servers.
    """
    until = time.monotonic() + _GAP_S
    while True:
        with claimed([_name(project)]) as ours:
            if ours or time.monotonic() > until:
                yield ours and not _is_marked(project)
                return
        time.sleep(_POLL_S)


def _is_marked(project: str) -> bool:
    return (lock_folder() / f"{_name(project)}.lock").stat().st_size > 0


def _name(project: str) -> str:
    return f"{project}-use"
