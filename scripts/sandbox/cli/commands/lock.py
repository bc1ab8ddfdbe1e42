"""lock: pins the images of a profile as they are now."""

from sandbox.cli.common.options import Expression, Profile, either, need_profile
from sandbox.cli.console import ProgressDisplay
from sandbox.cli.registry import About
from sandbox.profile.plan import PlanRequest
from sandbox.stack.engine import Docker
from sandbox.stack.images import lock_images
from sandbox.stack.planning import planned
from sandbox.stack.supply import ensure_images

ABOUT = About(group="look first", after="images")


def command(expression: Expression = None, profile: Profile = None) -> None:
    """Write images/lock.yaml: the current digests and package versions."""
    profile = either(expression, profile, "PROFILE")
    docker = Docker()
    plan = planned(PlanRequest(need_profile(profile)))
    with ProgressDisplay("lock") as progress:
        plan = ensure_images(plan, progress, docker)
        pinned = lock_images(plan, docker)
        progress.line(
            f"images/lock.yaml pins {len(pinned.published)} published and {len(pinned.built)} built"
            " images"
        )
