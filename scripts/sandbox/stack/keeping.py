"""Takes snapshots in the background: a process that holds the stack's lock, which contains its id.

Never during a measurement, of any stack: each of the two announces itself first and then looks for the other.
If both start at once, the measurement waits and the snapshot is skipped, so they never wait for each other forever.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict

from sandbox.places import HERE
from sandbox.plan.model import PlanRequest
from sandbox.stack.locks import claimed, lock_folder, locked, shared
from sandbox.stack.naming import name_option
from sandbox.stack.protocol import Note, OnEvent
from sandbox.stack.snapshots.take import Wish

MODULE = "sandbox.stack.snapshots.keep"
_MARK = "snapshot"
_PATIENCE_S = 60.0
_MEASURING, _KEEPING = "measuring", "snapshots"
"""Engine-wide locks, each shared by its holders: measurements run in parallel, and so do keepers."""
_KEEPER_ENDS_S = 300.0
"""Long enough for a snapshot and one first start of a server within its bounds."""


def begin_keeping(project: str, wish: Wish, base_directories: Iterable[PlanRequest]) -> None:
    """Starts the process that takes a snapshot of a stack, and makes the missing base data directories of its servers.

    Does nothing while another command is working on the stack, or measuring on any stack.
    """
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    ours, keeping = (os.open(folder / f"{name}.lock", os.O_RDWR | os.O_CREAT, 0o600) for name in (project, _KEEPING))
    try:
        fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(keeping, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if somebody_measures():
            return
        os.ftruncate(ours, 0)
        wanted = {"wish": asdict(wish), "base_directories": [asdict(request) for request in base_directories]}
        os.pwrite(ours, f"{_MARK} {_keeper(project, wanted, (ours, keeping))}\n".encode(), 0)
    except BlockingIOError:
        return
    finally:
        for descriptor in (ours, keeping):
            os.close(descriptor)  # the process has its own; the locks end with it


def _keeper(project: str, wanted: Mapping[str, object], locks: Collection[int]) -> int:
    """Starts the process with locks that it holds until it ends; returns its id."""
    argv = [sys.executable, "-P", "-m", MODULE, project, json.dumps(wanted)]
    return subprocess.Popen(
        argv, pass_fds=locks, start_new_session=True, cwd=HERE,
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    ).pid  # fmt: skip


@contextmanager
def measuring(show: Callable[[str], None]) -> Iterator[None]:
    """Measures inside the block: no snapshot of any stack is taken meanwhile; waits for one in progress.

    ``show`` gets a line if it waits. Raises SandboxError (exit 4) where the snapshot does not end.
    """
    with shared(_MEASURING):
        wait = "a snapshot is being taken in the background; waiting for it"
        with locked(_KEEPING, lambda: show(wait), _KEEPER_ENDS_S):
            pass
        yield


def somebody_measures() -> bool:
    """Whether a measurement is in progress on any stack, or waits for a keeper to end."""
    with claimed([_MEASURING]) as nobody:
        return not nobody


def give_up(project: str) -> None:
    """Ends a snapshot in progress; the stack keeps running, and its lock is free a moment later."""
    with suppress(OSError, ValueError):
        word, _, pid = (lock_folder() / f"{project}.lock").read_text().partition(" ")
        if word == _MARK and _held(project):
            os.kill(int(pid), signal.SIGTERM)


def undisturbed(project: str, name: str, on_event: OnEvent) -> None:
    """Waits until no snapshot of a stack is in progress: its current use must be neither paused nor saved."""
    with suppress(FileNotFoundError):
        if not (lock_folder() / f"{project}.lock").read_text().startswith(_MARK):
            return
        note = Note(f"waiting for a snapshot of the stack to finish (make down{name_option(name)} would not wait)")
        with locked(project, lambda: on_event(note), _PATIENCE_S):
            return


def _held(project: str) -> bool:
    with (lock_folder() / f"{project}.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
