"""Takes a snapshot in the background, when `up` has printed its summary; what goes wrong stands in a log."""

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
from sandbox.stack.snapshots.basis import ensure_basis
from sandbox.stack.snapshots.take import Wish, take
from sandbox.stack.stack import Stack


def main(project: str, wanted: str) -> None:
    """One snapshot, then the bases, until somebody waits to measure; the next `up` of their image makes the others.

    `down` ends it by SIGTERM: what it has begun is removed then.
    """
    signal.signal(signal.SIGTERM, _stop)
    begin = time.monotonic()
    try:
        told = _keep(project, json.loads(wanted))
    except (Exception, KeyboardInterrupt):  # noqa: BLE001  (nobody is there to be told)
        told = traceback.format_exc()
    log = cache_folder() / "snapshots" / "last.log"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(f"{project} {time.monotonic() - begin:.1f} s: {told}\n", encoding="utf-8")


def _keep(project: str, wanted: dict[str, Any]) -> str:
    docker = Docker()
    stack = Stack(containers(docker, project), docker)
    facts = take(stack, Wish(**wanted["wish"]))
    told = [f"{facts.bytes >> 20} MiB" if facts else "none: the stack was not idle"]
    for request in wanted["bases"]:
        if somebody_measures():
            return ", ".join([*told, "no more of them: somebody measures"])
        plan = planned(PlanRequest(**{**request, "assignments": tuple(request["assignments"])}))
        basis = ensure_basis(docker, plan, Identity(project, stack.checkout))
        told += [f"basis of {plan.profile}: {basis.bytes >> 20} MiB"] if basis else []
    return ", ".join(told)


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


if __name__ == "__main__":
    main(*sys.argv[1:])
