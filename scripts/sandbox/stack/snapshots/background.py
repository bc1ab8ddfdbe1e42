"""Snapshots taken in the background, after `up` has printed its summary, by a process that holds
the stack's lock.

The lock's file contains the id of the process. Never during a measurement, of any stack: each of
the two announces itself first and then looks for the other. If both start at once, the measurement
waits and the snapshot is skipped, so they never wait for each other forever.
"""

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from typing import Any

from sandbox.core.paths import HERE
from sandbox.profile.names import Identity
from sandbox.profile.plan import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import containers
from sandbox.stack.locks import cache_folder, is_held, lock_folder, locked, opened, shared
from sandbox.stack.planning import planned
from sandbox.stack.snapshots.take import Wish, ensure_base_directory, take
from sandbox.stack.stack import Stack

MODULE = "sandbox.stack.snapshots.background"
_MARK = "snapshot"
_MEASURING = "measuring"
_KEEPING = "snapshots"
"""Engine-wide locks, each shared by its holders: measurements run in parallel, and so do
keepers.
"""
_NICE = 10
"""Niceness of the engine's client and of this process: users of the stack come first."""
_KEEPER_ENDS_S = 300.0
"""Long enough for a snapshot and one first start of a server within its bounds."""


def begin_keeping(project: str, wish: Wish, base_directories: Iterable[PlanRequest]) -> None:
    """Starts the process that takes a snapshot of a stack, and makes the missing base data
    directories of its servers.

    Does nothing while another command is working on the stack, or measuring on any stack.
    """
    # The process has its own descriptors; the locks end with it.
    with opened((project, _KEEPING)) as (ours, keeping), suppress(BlockingIOError):
        fcntl.flock(ours, fcntl.LOCK_EX | fcntl.LOCK_NB)
        fcntl.flock(keeping, fcntl.LOCK_SH | fcntl.LOCK_NB)
        if somebody_measures():
            return
        os.ftruncate(ours, 0)
        wanted = {
            "wish": asdict(wish),
            "base_directories": [asdict(request) for request in base_directories],
        }
        keeper = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE, project, json.dumps(wanted)],
            pass_fds=(ours, keeping), start_new_session=True, cwd=HERE,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.pwrite(ours, f"{_MARK} {keeper.pid}\n".encode(), 0)


@contextmanager
def measuring(show: Callable[[str], None]) -> Iterator[None]:
    """Measures inside the block: no snapshot of any stack is taken meanwhile; waits for one in
    progress.

    ``show`` gets a line if it waits. Raises SandboxError (exit 4) where the snapshot does not end.
    """
    with shared(_MEASURING):
        wait = "a snapshot is being taken in the background; waiting for it"
        with locked(_KEEPING, lambda: show(wait), _KEEPER_ENDS_S):
            pass
        yield


def somebody_measures() -> bool:
    """Whether a measurement is in progress on any stack, or waits for a keeper to end."""
    return is_held(_MEASURING)


def give_up(project: str) -> None:
    """Ends a snapshot in progress; the stack keeps running, and its lock is free a moment later."""
    with suppress(OSError, ValueError):
        word, _, pid = (lock_folder() / f"{project}.lock").read_text().partition(" ")
        if word == _MARK and is_held(project):
            os.kill(int(pid), signal.SIGTERM)


def main(project: str, wanted: str) -> None:
    """Takes one snapshot, then makes the base data directories until a measurement waits.

    The next `up` of their image makes the others. `down` ends it with SIGTERM, which removes
    unfinished work.
    """
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    os.nice(_NICE)
    begin = time.monotonic()
    try:
        done = _keep(project, json.loads(wanted))
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  (there is no caller to report to)
        done = traceback.format_exc()
    log = cache_folder() / "snapshots" / "last.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{project} {time.monotonic() - begin:.1f} s: {done}\n", encoding="utf-8")


def _keep(project: str, wanted: dict[str, Any]) -> str:
    docker = Docker()
    stack = Stack(containers(docker, project), docker)
    facts = take(stack, Wish(**wanted["wish"]))
    done = ["none: the stack was changed, or never without a reader"]
    if facts:
        done = [f"{facts.bytes >> 20} MiB"]
    for request in wanted["base_directories"]:
        if somebody_measures():
            return ", ".join([*done, "stopped: a measurement is waiting"])
        # JSON knows lists only.
        tuples = {name: tuple(each) for name, each in request.items() if isinstance(each, list)}
        plan = planned(PlanRequest(**{**request, **tuples}))
        base = ensure_base_directory(docker, plan, Identity(project, stack.checkout))
        if base:
            done.append(f"base data directory of {plan.profile}: {base.bytes >> 20} MiB")
    return ", ".join(done)


if __name__ == "__main__":
    main(*sys.argv[1:])
