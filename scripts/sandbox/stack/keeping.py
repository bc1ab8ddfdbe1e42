"""Who takes a snapshot in the background: a process that holds the stack's lock and is named in it."""

import fcntl
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import asdict

from sandbox.plan.model import PlanRequest
from sandbox.stack.events import Note, OnEvent
from sandbox.stack.locks import lock_folder, locked
from sandbox.stack.naming import name_option
from sandbox.stack.snapshots.take import Wish

MODULE = "sandbox.commands.keep_snapshot"
_MARK = "snapshot"
_PATIENCE_S = 60.0


def begin_keeping(project: str, wish: Wish, bases: Iterable[PlanRequest]) -> None:
    """Starts the process that takes a snapshot of a stack, and makes the bases of its servers that are not there yet.

    Nothing happens where another command is at work on the stack.
    """
    folder = lock_folder()
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / f"{project}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.ftruncate(descriptor, 0)
        wanted = {"wish": asdict(wish), "bases": [asdict(request) for request in bases]}
        argv = [sys.executable, "-I", "-m", MODULE, project, json.dumps(wanted)]
        process = subprocess.Popen(
            argv, pass_fds=(descriptor,), start_new_session=True, cwd="/",
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.pwrite(descriptor, f"{_MARK} {process.pid}\n".encode(), 0)
    except BlockingIOError:
        return
    finally:
        os.close(descriptor)  # the process has its own; the lock ends with it


def give_up(project: str) -> None:
    """Ends a snapshot that is being taken of a stack; the stack runs on, and its lock is free a moment later."""
    with suppress(OSError, ValueError):
        word, _, pid = (lock_folder() / f"{project}.lock").read_text().partition(" ")
        if word == _MARK and _held(project):
            os.kill(int(pid), signal.SIGTERM)


def undisturbed(project: str, name: str, on_event: OnEvent) -> None:
    """Waits until no snapshot is being taken of a stack: what uses the stack now must not be paused, nor be kept."""
    with suppress(FileNotFoundError):
        if not (lock_folder() / f"{project}.lock").read_text().startswith(_MARK):
            return
        note = Note(f"a snapshot of the stack is being taken; a moment (make down{name_option(name)} would not wait)")
        with locked(project, lambda: on_event(note), _PATIENCE_S):
            return


def _held(project: str) -> bool:
    with (lock_folder() / f"{project}.lock").open() as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
    return False
