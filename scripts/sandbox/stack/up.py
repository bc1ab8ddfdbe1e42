"""Brings a stack up: rejects what cannot work, starts it with Compose, waits until it is ready;
never twice at once.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from sandbox.core.errors import ExitCode, MachineError, SandboxError
from sandbox.profile.compose import compose_document, inputs, plan_hash
from sandbox.profile.data_directory import restorable
from sandbox.profile.plan import Plan
from sandbox.profile.templates import Secrets
from sandbox.stack.configuration_checks import refuse_broken_files
from sandbox.stack.create import create, fill, start, volume_mount
from sandbox.stack.disks import flush_disks, make_disks
from sandbox.stack.engine import Docker, Pending, RefusedError
from sandbox.stack.engine_facts import begin_info, check_resources, read_info
from sandbox.stack.inventory import HELPER, Container, containers, inventory
from sandbox.stack.journal import forget_all
from sandbox.stack.lifecycle import remove_project, start_idle
from sandbox.stack.locks import forget_changes, locked_stack
from sandbox.stack.naming import DEFAULT_NAME, identity, name_option
from sandbox.stack.nodes import UPGRADED
from sandbox.stack.protocol import NodeEvent, Note, OnEvent, ServerRole
from sandbox.stack.publish import publish
from sandbox.stack.readiness import Readiness
from sandbox.stack.secrets import draw_secrets
from sandbox.stack.snapshots.restore import (
    Filling,
    NotRestoredError,
    fill_volumes,
    from_base_directories,
    from_snapshot,
    usable,
    usable_base_directories,
)
from sandbox.stack.snapshots.take import Wish
from sandbox.stack.sql_client import run_init
from sandbox.stack.stack import Stack
from sandbox.stack.supply import ensure_images, needs_supply, refuse_unavailable

_KNOWN_REFUSALS = {
    "no space left on device": "try: docker system df   (shows what uses it)",
    "non-overlapping": "try: make clean   (every stack uses one of the engine's networks)",
    "no such image": "try: make images PROFILE={profile}",
    "failed to mount local volume": (
        "try: make up PROFILE={profile} DISK=ext4:4g   (or without DISK)"
    ),
}
"""The end of the engine's reason → the next step."""


@dataclass(frozen=True, slots=True)
class UpOptions:
    """Options of `up` in addition to the plan. ``timeout_s`` None: each node's own bound."""

    name: str = DEFAULT_NAME
    timeout_s: float | None = None
    publish: bool = False
    restore: bool = False
    """Whether to start from a snapshot of the plan, where there is one."""
    snapshot_key: str | None = None
    """Key of the snapshot to start from; None: the plan's own."""
    base_directories_only: bool = False
    """Whether to ignore snapshots even where there is one, so that compared stacks start alike."""
    base_directories: Callable[[], Mapping[str, Plan]] = dict
    """Server → plan of its base data directory, used where there is no snapshot; empty: they start
    from nothing.
    """


@dataclass(frozen=True, slots=True)
class Started:
    """A stack that is ready. ``roles``: of its servers when they became ready."""

    stack: Stack
    roles: Mapping[str, ServerRole | None]
    versions: Mapping[str, str] = field(default_factory=dict)
    """The versions that its servers reported then."""
    wish: Wish | None = None
    """The snapshot to take of it now, where this command made it, and not from a snapshot."""
    uuid: str = ""
    """UUID of its groups, where this command made it."""
    plan: Plan | None = None
    """The plan that was started: made again where an image said what is in it only when it was
    here.
    """


def up(
    plan: Plan, options: UpOptions, on_event: OnEvent, docker: Docker, info: Pending | None = None
) -> Started:
    """Brings up the stack of a plan. Only waits for one that is already running; starts its stopped
    nodes.

    ``info``: the engine's description, where it was requested already. Raises SandboxError: exit 2
    where another profile has the name; exit 4 where images, memory or disk are short, or a node
    does not become ready (the stack then stays for inspection); exit 130 on Ctrl-C, which removes
    what it started.
    """
    start = _Start(plan, options, on_event, docker, info or begin_info(docker))
    with start.undone_on_interrupt():
        refuse_unavailable(plan, docker)
        if needs_supply(plan):
            if found := containers(docker, start.project):
                start.of_this_plan(found)  # refused now, not after minutes of building
            start.announce()
            plan = start.plan = ensure_images(plan, on_event, docker)
        refuse_broken_files(plan, docker)
        with start.lock():
            stack = start.made_or_found()
        readiness = Readiness(stack, on_event, options.timeout_s)
        readiness.wait()
        run_init(stack, plan.request.init, on_event)
        if plan.request.disk:
            flush_disks(docker, [each for each in stack.members if each.is_server])
        if options.publish:
            stack = publish(stack, on_event)
        return Started(stack, readiness.roles, readiness.versions, start.wish, start.uuid, plan)


class _Start:
    """One `up` in progress."""

    def __init__(
        self, plan: Plan, options: UpOptions, on_event: OnEvent, docker: Docker, info: Pending
    ) -> None:
        self.plan = plan
        self.options = options
        self.on_event = on_event
        self.docker = docker
        self.identity = identity(options.name)
        self.project = self.identity.project
        self.info = info
        self.announced = self.found = self.made = False
        self._lock = -1
        self.wish: Wish | None = None
        self.uuid = ""

    @contextmanager
    def lock(self) -> Iterator[None]:
        """The lock of this stack; a Compose that outlives us keeps it."""
        with locked_stack(self.project, self.options.name, self.on_event) as self._lock:
            yield

    @contextmanager
    def undone_on_interrupt(self) -> Iterator[None]:
        """Ctrl-C removes what this command made; a second one stops at once and says how to remove
        the rest.
        """
        try:
            yield
        except KeyboardInterrupt:
            option = name_option(self.options.name)
            if not self.made:
                known = "the stack is unchanged" if self.found else "nothing was started yet"
                raise _interrupted("interrupted", known, f"try: make ps{option}") from None
            self.on_event(
                Note("interrupted: removing what was started (press Ctrl-C again to stop at once)")
            )
            try:
                with self.lock():
                    remove_project(self.project, self.options.name, self.docker)
            except KeyboardInterrupt:
                known = "parts of the stack may be left"
                raise _interrupted(
                    "interrupted twice", known, f"try: make down{option}   (removes the rest)"
                ) from None
            again = f"try: make up{option} PROFILE={self.plan.profile}"
            raise _interrupted(
                "interrupted", "everything that was started has been removed", again
            ) from None

    def of_this_plan(self, found: Sequence[Container]) -> Stack:
        """The stack of these containers. Raises SandboxError (exit 2) where it is another
        plan's.
        """
        stack = Stack(found, self.docker)
        if stack.plan != plan_hash(self.plan):
            raise _another_stack(stack, self.plan)
        return stack

    def announce(self) -> None:
        """Prints the first line; a refusal comes before it, and consists of its three lines
        only.
        """
        if not self.announced:
            self.on_event(Note(f"{self.plan.profile} as '{self.options.name}'"))
            self.announced = True

    def made_or_found(self) -> Stack:
        """The stack with its containers running: found, or created now."""
        there = inventory(self.docker, self.project)
        stack = self._complete(there.containers)
        if stack is not None:
            self.announce()
            self.found = True
            idle = [each.node for each in stack.members if not each.running]
            starting = f"; starting {', '.join(idle)}" if idle else ""
            self.on_event(Note(f"the stack '{stack.name}' exists{starting}"))
            return start_idle(stack)
        check_resources(self.plan, read_info(self.info.output()))
        self.announce()
        if not there.empty:
            self.on_event(Note("removing the leftovers of an interrupted start"))
            remove_project(self.project, self.options.name, self.docker)
        return self._make()

    def _complete(self, found: Sequence[Container]) -> Stack | None:
        """The plan's complete stack; None: nothing of it ever ran, so it can be created from
        scratch.

        Raises SandboxError (exit 2) for another plan's stack, (exit 4) for one with missing nodes.
        """
        if all(each.state == "created" for each in found):
            return None
        stack = self.of_this_plan(found)
        missing = {node.name for node in self.plan.nodes} - {each.node for each in stack.members}
        if not missing:
            return stack
        option = name_option(self.options.name)
        raise MachineError(
            f"the stack '{self.options.name}' is incomplete: {', '.join(sorted(missing))} missing",
            "its start was interrupted, or somebody removed a container",
            f"try: make down{option} && make up{option} PROFILE={self.plan.profile}",
        )

    def _make(self) -> Stack:
        forget_changes(self.project)
        # Of a stack of this name that somebody removed by hand: its faults are not this one's.
        forget_all(self.project)
        secrets = draw_secrets(self.plan)
        filling = self._filling(secrets.uuid) if self.options.restore else None
        try:
            if filling is not None:
                chosen = self.options.base_directories_only or self.options.snapshot_key
                otherwise = "" if chosen else " (COLD=1 starts from nothing)"
                self.on_event(Note(f"from {filling.description}{otherwise}"))
                return self._made_from(filling, replace(secrets, uuid=filling.uuid))
        except NotRestoredError as problem:
            self.on_event(Note(f"it cannot be restored ({problem}); starting from nothing"))
        return self._made_from(None, secrets)

    def _filling(self, uuid: str) -> Filling | None:
        """From its snapshot, else from base data directories, where there are any. ``uuid``: of a
        new cluster.
        """
        options = self.options
        if not options.base_directories_only and (
            found := usable(self.docker, self.plan, options.snapshot_key)
        ):
            return from_snapshot(found)
        base_directories = usable_base_directories(self.docker, options.base_directories())
        if not base_directories:
            return None
        return from_base_directories(self.plan, base_directories, uuid)

    def _made_from(self, filling: Filling | None, secrets: Secrets) -> Stack:
        """Creates and starts the containers, on filled or on empty volumes."""
        self.uuid = secrets.uuid
        if restorable(self.plan) and (filling is None or not filling.whole):
            self.wish = Wish(
                plan_hash(self.plan), secrets.uuid, fresh=self.plan.request.init is None
            )
        document = compose_document(
            self.plan, secrets, self.identity, filling.label if filling else None
        )
        for node in self.plan.nodes:
            self.on_event(NodeEvent(node.name, "creating"))
        self.made = True
        try:
            make_disks(self.docker, document, self.identity, self.plan.client.image, self._lock)
            self._create_and_start(document, filling)
        except (MachineError, NotRestoredError) as failure:
            remove_project(self.project, self.options.name, self.docker)
            self.made = False
            if isinstance(failure, RefusedError):
                _explain(failure, self.plan)
            raise
        return Stack(containers(self.docker, self.project), self.docker)

    def _create_and_start(self, document: dict[str, Any], filling: Filling | None) -> None:
        """Fills volumes while containers are created and get their files. RefusedError,
        NotRestoredError.
        """
        filled = threading.Event()
        with ThreadPoolExecutor(max_workers=1) as beside:
            filler = None
            if filling:
                mounts = [volume_mount(document, self.project, name) for name in filling.sources]
                image = self.plan.client.image
                filler = beside.submit(
                    fill_volumes, self.docker, filling, mounts, image, self.identity, filled.set
                )
            create(self.docker, document, self.project, self._lock)
            made = [each for each in containers(self.docker, self.project) if each.kind != HELPER]
            fill(self.docker, document, made, self._lock)
            if filler:
                filler.add_done_callback(lambda _: filled.set())  # also where it fails
                filled.wait()
                if filler.done():
                    filler.result()
            start(self.docker, made, self._lock)
            if filler:
                filler.result()


def _interrupted(what: str, known: str, next_step: str) -> SandboxError:
    return SandboxError(what, known, next_step, ExitCode.INTERRUPTED)


def _another_stack(stack: Stack, plan: Plan) -> SandboxError:
    """The difference between the stack that has the name and the plan that needs it."""
    option = name_option(stack.name)
    if stack.profile != plan.profile:
        what = f"the stack '{stack.name}' has another profile: {stack.profile}"
        known = f"the requested profile is {plan.profile}"
    else:
        what = f"the stack '{stack.name}' has the same profile, but other inputs"
        known = _input_differences(stack, plan)
        if stack.plan == UPGRADED:
            known = "some of its servers were upgraded since"
        elif not known:
            known = "an image, or a component or setting of the checkout, has changed since"
    return SandboxError(
        what, known, f"try: make down{option}   (or the same command with another NAME)"
    )


def _input_differences(stack: Stack, plan: Plan) -> str:
    # Late, for start-up time: only a refusal needs the models of a record.
    from sandbox.record.record import Inputs

    now = Inputs(**inputs(plan)).model_dump()
    then = stack.inputs.model_dump()
    words = {
        "assignments": "SET",
        "cpus": "CPUS",
        "memory": "MEMORY",
        "cpuset": "cpuset",
        "disk": "DISK",
        "image": "IMAGE",
        "binary": "BINARY",
        "replicate": "REPLICATE",
        "cnf_sha256": "CNF",
        "cnf_files": "CNF of single nodes",
        "init_sha256": "INIT",
    }
    pairs = [
        (word, _shown(then[name]), _shown(now[name]))
        for name, word in words.items()
        if then[name] != now[name]
    ]
    return "; ".join(f"{word} was {old}, now {new}" for word, old, new in pairs)


def _shown(value: object) -> str:
    if not value:
        return "not given"
    if isinstance(value, dict):
        value = [f"{name} ({digest[:12]})" for name, digest in value.items()]
    return " ".join(str(each) for each in value) if isinstance(value, list) else str(value)[:16]


def _explain(refused: RefusedError, plan: Plan) -> None:
    """Raises SandboxError (exit 4) where the engine's reason is known. Nothing ran, and what was
    created is removed.
    """
    reason = refused.answer.last_error
    for sign, next_step in _KNOWN_REFUSALS.items():
        if sign in reason.lower():
            step = next_step.format(profile=plan.profile)
            raise MachineError(f"the engine cannot start {plan.profile}", reason, step) from refused
