"""Gets the images of a plan: pulls the missing ones, or builds them with `scripts/build-image`,
several at once.
"""

import os
import re
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field

from sandbox.core.errors import MachineError
from sandbox.core.paths import CHECKOUT
from sandbox.profile.alternatives import (
    nearest_working_profile,
    possible_versions,
    versions_text,
    working_components,
)
from sandbox.profile.given import Binary
from sandbox.profile.images import Availability, Catalog, ImageChoice, choose_image
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library, load_lock
from sandbox.stack.binary_build import BinaryBuild
from sandbox.stack.engine import CommandGroup, Docker, begin_stream
from sandbox.stack.images import RECIPE_LABEL, engine_availability, image_id, recipe
from sandbox.stack.locks import locked
from sandbox.stack.own_images import refusal_of_absent
from sandbox.stack.planning import planned, refuse_unknown_variables
from sandbox.stack.protocol import ImageEvent, ImageState, LogTail, OnEvent

BUILD_SCRIPT = CHECKOUT / "scripts" / "build-image"
_TAIL_LINES = 20
_STEP = re.compile(r"Step (\d+/\d+)|#\d+ \[(?:\S+ )?(\d+/\d+)\]")
_SCRIPT_SAYS = re.compile(r"(?:base|build)-image: (.+)")
_LAYER = re.compile(r"([0-9a-f]{12}): (Pulling fs layer|Pull complete|Already exists)")


def ensure_images(plan: Plan, on_event: OnEvent, docker: Docker) -> Plan:
    """Puts every image of the plan on the engine, a locked one with its digest.

    Returns the plan with the images as they are then: only a build, or a pulled image of the user's
    own, shows which version is in it.
    Raises SandboxError before anything starts: exit 4 where one is unavailable, naming what works
    here instead; exit 2 for a variable of SET= or CNF= that a server does not know, whose image was
    not here to be asked before.
    """
    refuse_unavailable(plan, docker)
    choices = [node.choice for node in plan.nodes]
    supply(choices, on_event, docker)
    if any(_is_known_when_here(choice) for choice in choices):
        return planned(plan.request, docker=docker)
    refuse_unknown_variables(plan, docker)
    return plan


def _is_known_when_here(choice: ImageChoice) -> bool:
    return choice.source == "build" or (choice.origin == "given" and choice.source == "pull")


def refuse_unavailable(plan: Plan, docker: Docker) -> None:
    """Raises SandboxError (exit 4) where an image is unavailable, naming what works here
    instead.
    """
    if refusal := refusal_of_unavailable(plan, docker):
        raise refusal


def refusal_of_unavailable(plan: Plan, docker: Docker) -> MachineError | None:
    """The error with which a start of the plan ends where an image is unavailable; else None."""
    choices = {node.choice.reference: node.choice for node in plan.unavailable()}
    if not choices:
        return None
    if refusal := refusal_of_absent(plan.unavailable()):
        return refusal
    library = load_library()
    available = engine_availability(load_lock(), docker)
    instead = nearest_working_profile(plan, library, available)
    exact = [each for each in choices.values() if each.exact]
    exact = [each for each in exact if possible_versions(each, library.catalog, available)]
    if exact:
        known = "; ".join(versions_text(each, library.catalog, available) for each in exact)
    else:
        works = ", ".join(working_components(library, available))
        known = (
            "not on the engine, in no registry, without a build in the catalog; terms that work"
            f" here: {works}"
        )
    return MachineError(
        f"not available here: {', '.join(choices)}",
        known,
        f"try: make up PROFILE={instead}" if instead else "try: make list WHAT=versions",
    )


def needs_supply(plan: Plan) -> bool:
    """Whether an image has to be pulled, built or verified."""
    return any(_is_wanted(node.choice) for node in plan.nodes)


def _is_wanted(choice: ImageChoice) -> bool:
    if choice.origin == "given":
        return choice.source in ("pull", "build")
    return choice.source != "local" or "@" in choice.reference


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
            acquisition.commands.close()
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


class Acquisition:
    """The pulls and builds of one command; closing ``commands`` stops them all."""

    def __init__(self, on_event: OnEvent, docker: Docker) -> None:
        self._on_event = on_event
        self._docker = docker
        self.commands = CommandGroup()

    def get(self, choice: ImageChoice) -> None:
        """Pulls or builds one image; a second command that needs it waits. SandboxError (exit 4)
        where it fails.
        """
        show = _ImageProgress(choice.reference, self._on_event)
        lock = "make-" + re.sub(r"[^A-Za-z0-9.-]", "-", choice.reference)
        with locked(lock, lambda: show("waiting", "another command is getting it")):
            if choice.binary:
                self._build_of(choice, choice.binary, show)
            elif choice.origin != "built":
                self._pull(choice, show)
            else:
                self._build(choice, show)
        show("here")

    def _pull(self, choice: ImageChoice, show: "_ImageProgress") -> None:
        if image_id(self._docker, choice.reference) is not None:
            return
        show("pulling")
        code, tail = self._follow(["docker", "pull", choice.reference], show.of_pull)
        if code:
            show("failed", tail[-1] if tail else "")
            raise self._not_pulled(choice, tail)
        # A pull by digest leaves no tag, which the planner looks for.
        if choice.origin == "published" and "@" in choice.reference:
            self._docker.ask("tag", choice.reference, choice.reference.partition("@")[0])

    def _not_pulled(self, choice: ImageChoice, tail: Sequence[str]) -> MachineError:
        what = f"{choice.reference} cannot be pulled"
        reason = "the engine gives no reason"
        if tail:
            reason = tail[-1].removeprefix("Error response from daemon: ")
        if choice.exact is None or choice.origin == "given":
            return MachineError(what, reason, f"try: docker pull {choice.reference}")
        available = engine_availability(load_lock(), self._docker)
        there = versions_text(choice, load_library().catalog, available)
        return MachineError(what, f"{reason}; {there}", "try: make list WHAT=versions")

    def _build(self, choice: ImageChoice, show: "_ImageProgress") -> None:
        folder = choice.reference.removeprefix("sandbox/").partition(":")[0]
        suite = choice.reference.rpartition("-")[2]
        if self._up_to_date(choice.reference, folder):
            return
        show("building")
        argv = [str(BUILD_SCRIPT), folder, suite, choice.series]
        if choice.package:
            argv.append(choice.package)
        code, tail = self._follow(argv, show.of_build, {"SANDBOX_RECIPE": recipe(folder)})
        if code:
            show("failed")
            self._on_event(LogTail(choice.reference, tuple(tail)))
            # The script ends with its own three-line error.
            what, known, next_step = ["", "", "", *tail][-3:]
            step = f"try: {next_step.removeprefix('Next: ')}"
            raise MachineError(what or f"{choice.reference} cannot be built", known, step)
        if not self._up_to_date(choice.reference, folder):
            raise MachineError(
                f"images/lock.yaml pins {choice.reference}, which the package archive no"
                " longer has",
                f"it has {tail[-1] if tail else 'nothing'} now",
                "try: make lock   (pins the current versions)",
            )

    def _build_of(self, choice: ImageChoice, binary: Binary, show: "_ImageProgress") -> None:
        build = BinaryBuild(
            choice,
            binary,
            self._docker,
            load_library().catalog,
            self._follow,
            lambda text: show("building", text),
            show.of_build,
        )
        if not build.is_there():
            build.run()

    def _up_to_date(self, reference: str, folder: str) -> bool:
        template = f'{{{{index .Config.Labels "{RECIPE_LABEL}"}}}}'
        answer = self._docker.answer("image", "inspect", "--format", template, reference)
        return answer.code == 0 and answer.stdout.strip() == recipe(folder)

    def _follow(
        self,
        argv: list[str],
        on_line: Callable[[str], None],
        variables: Mapping[str, str] | None = None,
    ) -> tuple[int, list[str]]:
        """Runs a command to its end, line by line; its exit code and last lines."""
        stream = self.commands.begin(lambda: begin_stream(argv, variables=variables))
        if stream is None:
            return 130, ["ended"]
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        for line in stream.lines():
            tail.append(line.rstrip())
            on_line(line)
        return stream.wait(), list(tail)


@dataclass
class _ImageProgress:
    """Reports the events of one image with the seconds since its start."""

    reference: str
    on_event: OnEvent
    began: float = field(default_factory=time.monotonic)
    layers: dict[str, str] = field(default_factory=dict)

    def __call__(self, state: ImageState, detail: str = "") -> None:
        self.on_event(ImageEvent(self.reference, state, detail, time.monotonic() - self.began))

    def of_pull(self, line: str) -> None:
        """Counts layers in a line of `docker pull`: all, and those already here."""
        if match := _LAYER.match(line):
            self.layers[match[1]] = match[2]
            here = sum(state != "Pulling fs layer" for state in self.layers.values())
            self("pulling", f"{here} of {len(self.layers)} layers")

    def of_build(self, line: str) -> None:
        """The step of a build, or what its script says."""
        if match := _STEP.match(line):
            self("building", f"step {match[1] or match[2]}")
        elif match := _SCRIPT_SAYS.match(line):
            self("building", match[1])
