"""images, lock, doctor: what a machine needs before a stack can start."""

import json
import textwrap
from dataclasses import asdict

from sandbox.commands.planning import need_profile
from sandbox.console import Progress
from sandbox.errors import ExitCode
from sandbox.library import load_library, load_lock
from sandbox.plan.model import ImageChoice, PlanRequest
from sandbox.stack.doctor import Check, examine
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability
from sandbox.stack.pins import lock_images
from sandbox.stack.planning import planned
from sandbox.stack.supply import all_built, ensure_images, supply


def images(profile: str | None, list_only: bool) -> None:
    """Builds or pulls what a profile needs (None: everything that is built here), or prints the references."""
    docker = Docker()
    if list_only:
        print("\n".join(sorted({choice.reference for choice in _choices(profile, docker)})))
        return
    with Progress("images") as progress:
        if profile:
            ensure_images(planned(PlanRequest(profile)), progress, docker)
        else:
            supply(_choices(None, docker), progress, docker)


def _choices(profile: str | None, docker: Docker) -> list[ImageChoice]:
    if profile:
        return [node.choice for node in planned(PlanRequest(profile)).nodes]
    return all_built(load_library().catalog, engine_availability(load_lock(), docker))


def lock(profile: str | None) -> None:
    """Pins what the images of a profile are now."""
    docker = Docker()
    plan = planned(PlanRequest(need_profile(profile)))
    with Progress("lock") as progress:
        ensure_images(plan, progress, docker)
        lock = lock_images(plan, docker)
        progress.line(f"images/lock.yaml pins {len(lock.published)} published and {len(lock.built)} built images")


def _told(check: Check) -> list[str]:
    """One prerequisite for a terminal of 100 columns; the fix on lines of its own."""
    head, indent = f"{check.name:<11}{check.state:<9}", " " * 20
    lines = textwrap.wrap(check.detail, 100, initial_indent=head, subsequent_indent=indent) or [head]
    return lines + (
        textwrap.wrap(check.fix, 100, initial_indent=f"{indent}fix: ", subsequent_indent=indent) if check.fix else []
    )


def doctor(as_json: bool) -> int:
    """Prints every prerequisite with its state and the fix; 4 where one that is needed is missing."""
    findings = examine(Docker())
    if as_json:
        print(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        print("\n".join(line for each in findings for line in _told(each)))
    missing = any(each.state == "missing" for each in findings)
    return int(ExitCode.ENVIRONMENT if missing else ExitCode.OK)
