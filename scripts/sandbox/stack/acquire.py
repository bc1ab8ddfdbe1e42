"""Pulls an image, or builds it with `scripts/build-image`, one command at a time."""

import os
import re
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from contextlib import suppress

from sandbox.errors import ExitCode, SandboxError
from sandbox.places import CHECKOUT
from sandbox.plan.model import ImageChoice
from sandbox.stack.engine import Docker, end_group
from sandbox.stack.images import RECIPE_LABEL, recipe
from sandbox.stack.locks import locked
from sandbox.stack.protocol import ImageEvent, ImageState, LogTail, OnEvent

BUILD_SCRIPT = CHECKOUT / "scripts" / "build-image"
_TAIL_LINES = 20
_STEP = re.compile(r"Step (\d+/\d+)|#\d+ \[(?:\S+ )?(\d+/\d+)\]")
_SCRIPT_SAYS = re.compile(r"(?:base|build)-image: (.+)")
_LAYER = re.compile(r"([0-9a-f]{12}): (Pulling fs layer|Pull complete|Already exists)")


class Acquisition:
    """The pulls and builds of one command; `end` stops them all."""

    def __init__(self, on_event: OnEvent, docker: Docker) -> None:
        self._on_event, self._docker = on_event, docker
        self._running: set[subprocess.Popen[str]] = set()
        self._guard = threading.Lock()
        self._ended = False

    def end(self) -> None:
        """Ends those still running, after a failure or Ctrl-C."""
        with self._guard:
            self._ended = True
        for process in list(self._running):
            end_group(process)

    def get(self, choice: ImageChoice) -> None:
        """Pulls or builds one image; a second command that needs it waits. SandboxError (exit 4) where it fails."""
        show = _ImageProgress(choice.reference, self._on_event)
        lock = "make-" + re.sub(r"[^A-Za-z0-9.-]", "-", choice.reference)
        with locked(lock, lambda: show("waiting", "another command is getting it")):
            if choice.origin == "published":
                self._pull(choice, show)
            else:
                self._build(choice, show)
        show("here")

    def _pull(self, choice: ImageChoice, show: "_ImageProgress") -> None:
        if self._docker.answer("image", "inspect", "--format", "{{.Id}}", choice.reference).code == 0:
            return
        show("pulling")
        code, tail = self._follow(["docker", "pull", choice.reference], _LayerCount(show))
        if code:
            show("failed", tail[-1] if tail else "")
            raise _not_pulled(choice, tail)
        if "@" in choice.reference:  # a pull by digest leaves no tag, which the planner looks for
            self._docker.ask("tag", choice.reference, choice.reference.partition("@")[0])

    def _build(self, choice: ImageChoice, show: "_ImageProgress") -> None:
        folder, suite = choice.reference.removeprefix("sandbox/").partition(":")[0], choice.reference.rpartition("-")[2]
        if self._up_to_date(choice.reference, folder):
            return
        show("building")
        argv = [str(BUILD_SCRIPT), folder, suite, choice.series]
        code, tail = self._follow(argv, lambda line: _show_step(line, show), {"SANDBOX_RECIPE": recipe(folder)})
        if code:
            show("failed")
            self._on_event(LogTail(choice.reference, tuple(tail)))
            raise _not_built(choice, tail)
        if not self._up_to_date(choice.reference, folder):
            raise SandboxError(
                f"images/lock.yaml pins {choice.reference}, which the package archive no longer has",
                f"it has {tail[-1] if tail else 'nothing'} now",
                "try: make lock   (pins the current versions)",
                ExitCode.ENVIRONMENT,
            )

    def _up_to_date(self, reference: str, folder: str) -> bool:
        template = f'{{{{index .Config.Labels "{RECIPE_LABEL}"}}}}'
        answer = self._docker.answer("image", "inspect", "--format", template, reference)
        return answer.code == 0 and answer.stdout.strip() == recipe(folder)

    def _follow(
        self, argv: list[str], on_line: Callable[[str], None], environment: Mapping[str, str] | None = None
    ) -> tuple[int, list[str]]:
        """Runs a command to its end, line by line; its exit code and last lines."""
        with self._guard:
            if self._ended:
                return 130, ["ended"]
            process = subprocess.Popen(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                encoding="utf-8",
                errors="replace",
                process_group=0,
                env={**os.environ, **(environment or {})},
            )
            self._running.add(process)
        tail: deque[str] = deque(maxlen=_TAIL_LINES)
        for line in process.stdout or ():
            tail.append(line.rstrip())
            on_line(line)
        with suppress(KeyError):
            self._running.remove(process)
        return process.wait(), list(tail)


class _ImageProgress:
    """Reports the events of one image with the seconds since its start."""

    def __init__(self, reference: str, on_event: OnEvent) -> None:
        self._reference, self._on_event = reference, on_event
        self._began = time.monotonic()

    def __call__(self, state: ImageState, detail: str = "") -> None:
        self._on_event(ImageEvent(self._reference, state, detail, time.monotonic() - self._began))


class _LayerCount:
    """Counts layers in the output of `docker pull`: all, and those already here."""

    def __init__(self, show: _ImageProgress) -> None:
        self._show = show
        self._layers: dict[str, str] = {}

    def __call__(self, line: str) -> None:
        if match := _LAYER.match(line):
            self._layers[match[1]] = match[2]
            here = sum(state != "Pulling fs layer" for state in self._layers.values())
            self._show("pulling", f"{here} of {len(self._layers)} layers")


def _show_step(line: str, show: _ImageProgress) -> None:
    if match := _STEP.match(line):
        show("building", f"step {match[1] or match[2]}")
    elif match := _SCRIPT_SAYS.match(line):
        show("building", match[1])


def _not_pulled(choice: ImageChoice, tail: list[str]) -> SandboxError:
    return SandboxError(
        f"{choice.reference} cannot be pulled",
        tail[-1].removeprefix("Error response from daemon: ") if tail else "the engine gives no reason",
        f"try: docker pull {choice.reference}",
        ExitCode.ENVIRONMENT,
    )


def _not_built(choice: ImageChoice, tail: list[str]) -> SandboxError:
    """The script ends with its own three-line error."""
    what, known, next_step = ["", "", "", *tail][-3:]
    return SandboxError(
        what or f"{choice.reference} cannot be built",
        known,
        f"try: {next_step.removeprefix('Next: ')}",
        ExitCode.ENVIRONMENT,
    )
