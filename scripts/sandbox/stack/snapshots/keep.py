"""Takes a snapshot in the background, after `up` has printed its summary; errors go to a log."""

import json
import signal
import sys
import time
import traceback
from typing import Any

from sandbox.plan.compose import Identity
from sandbox.plan.model import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.inventory import containers
from sandbox.stack.keeping import somebody_measures
from sandbox.stack.locks import cache_folder
from sandbox.stack.planning import planned
from sandbox.stack.snapshots.base_directory import ensure_base_directory
from sandbox.stack.snapshots.take import Wish, take
from sandbox.stack.stack import Stack


def main(project: str, wanted: str) -> None:
    """Takes one snapshot, then makes the base data directories until a measurement waits.

    The next `up` of their image makes the others. `down` ends it with SIGTERM, which removes unfinished work.
    """
    signal.signal(signal.SIGTERM, _stop)
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
    done = [f"{facts.bytes >> 20} MiB" if facts else "none: the stack was not idle"]
    for request in wanted["base_directories"]:
        if somebody_measures():
            return ", ".join([*done, "stopped: a measurement is waiting"])
        plan = planned(PlanRequest(**{**request, "assignments": tuple(request["assignments"])}))
        base = ensure_base_directory(docker, plan, Identity(project, stack.checkout))
        done += [f"base data directory of {plan.profile}: {base.bytes >> 20} MiB"] if base else []
    return ", ".join(done)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main(*sys.argv[1:])
