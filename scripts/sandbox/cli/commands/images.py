"""images: builds or pulls the images of a profile."""

from typing import Annotated

import typer

from sandbox.cli.common.options import Expression, Profile, either
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.profile.images import ImageChoice
from sandbox.profile.plan import PlanRequest
from sandbox.profile.reader import load_library, load_lock
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability
from sandbox.stack.planning import planned
from sandbox.stack.supply import all_built, ensure_images, supply

ABOUT = About(group="look first", after="config")


def command(
    expression: Expression = None,
    profile: Profile = None,
    list_: Annotated[bool, typer.Option("--list", help="Print references only.")] = False,
) -> None:
    """Build or pull the images of a profile (without one: all that are built here)."""
    profile = either(expression, profile, "PROFILE")
    docker = Docker()
    if list_:
        print("\n".join(sorted({choice.reference for choice in _choices(profile, docker)})))
        return
    with ProgressDisplay("images") as progress:
        if profile:
            ensure_images(planned(PlanRequest(profile)), progress, docker)
        else:
            supply(_choices(None, docker), progress, docker)


def _choices(profile: str | None, docker: Docker) -> list[ImageChoice]:
    if profile:
        return [node.choice for node in planned(PlanRequest(profile)).nodes]
    return all_built(load_library().catalog, engine_availability(load_lock(), docker))
