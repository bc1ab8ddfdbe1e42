"""Gets the images of a plan: pulls or builds the missing ones, several at once, with progress."""

import os
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait

from sandbox.errors import ExitCode, SandboxError
from sandbox.library import load_library, load_lock
from sandbox.plan.alternatives import nearest_working_profile, working_components
from sandbox.plan.catalog import Catalog
from sandbox.plan.images import Availability, choose_image
from sandbox.plan.model import ImageChoice, Plan
from sandbox.stack.acquire import Acquisition
from sandbox.stack.engine import Docker
from sandbox.stack.images import engine_availability
from sandbox.stack.protocol import OnEvent


def ensure_images(plan: Plan, on_event: OnEvent, docker: Docker) -> None:
    """Puts every image of the plan on the engine, a locked one with its digest.

    Raises SandboxError (exit 4) before anything starts where one is unavailable, naming what works here instead.
    """
    refuse_unavailable(plan, docker)
    supply([node.choice for node in plan.nodes], on_event, docker)


def refuse_unavailable(plan: Plan, docker: Docker) -> None:
    """Raises SandboxError (exit 4) where an image is unavailable, naming what works here instead."""
    if plan.unavailable():
        raise _unavailable(plan, docker)


def needs_supply(plan: Plan) -> bool:
    """Whether an image has to be pulled, built or verified."""
    return any(_is_wanted(node.choice) for node in plan.nodes)


def _is_wanted(choice: ImageChoice) -> bool:
    return choice.origin != "given" and (choice.source != "local" or "@" in choice.reference)


def supply(choices: Sequence[ImageChoice], on_event: OnEvent, docker: Docker) -> None:
    """Pulls or builds what is not here, as many at once as there are processors.

    Raises SandboxError (exit 4) for the first that fails; this ends the others, as does Ctrl-C.
    """
    wanted = {choice.reference: choice for choice in choices if _is_wanted(choice)}
    if not wanted:
        return
    acquisition = Acquisition(on_event, docker)
    with ThreadPoolExecutor(max_workers=max(2, os.cpu_count() or 1)) as pool:
        futures = [pool.submit(acquisition.get, choice) for choice in wanted.values()]
        try:
            done, _ = wait(futures, return_when=FIRST_EXCEPTION)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
            acquisition.end()
    for future in done:
        future.result()


def all_built(catalog: Catalog, available: Availability) -> list[ImageChoice]:
    """The choice for every series that the catalog can build here."""
    return [
        choose_image(catalog, key, series, available)
        for key, image in catalog.images.items()
        for series, entry in image.series.items()
        if entry.build
    ]


def _unavailable(plan: Plan, docker: Docker) -> SandboxError:
    library, available = load_library(), engine_availability(load_lock(), docker)
    references = dict.fromkeys(node.choice.reference for node in plan.unavailable())
    works = ", ".join(working_components(library, available))
    instead = nearest_working_profile(plan, library, available)
    return SandboxError(
        f"not available here: {', '.join(references)}",
        f"not on the engine, in no registry, without a build in the catalog; terms that work here: {works}",
        f"try: make up PROFILE={instead}" if instead else "try: make doctor",
        ExitCode.ENVIRONMENT,
    )
