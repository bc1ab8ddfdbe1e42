"""The stacks of repros: one for each plan, the next one started meanwhile, as new for each
repeat.
"""

import re
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field

from sandbox.core.errors import ExitCode, SandboxError
from sandbox.measure.run import StackFacts
from sandbox.profile.data_directory import base_requests
from sandbox.profile.plan import Plan
from sandbox.profile.reader import load_library
from sandbox.record.manifest import StartPart
from sandbox.repro.reset import Appearance, look_at, reset
from sandbox.repro.result import PREFIX, lock_of
from sandbox.repro.run import SharedByRepeats
from sandbox.repro.sessions import Sessions
from sandbox.stack.engine import Docker
from sandbox.stack.lifecycle import down, of_checkout
from sandbox.stack.locks import is_held, locked_stack
from sandbox.stack.naming import identity, stack_name
from sandbox.stack.planning import planned, planned_base_directories
from sandbox.stack.protocol import Note, OnEvent, RunningStack
from sandbox.stack.snapshots.restore import usable, usable_base_directories
from sandbox.stack.snapshots.take import ensure_base_directory
from sandbox.stack.supply import ensure_images, needs_supply
from sandbox.stack.up import UpOptions, up

Shows = Callable[[], AbstractContextManager[OnEvent]]
"""Shows a stack that starts."""
_OURS = re.compile(rf"{PREFIX}-(?P<own>[0-9a-f]{{6}})-\d+")
"""Names of stacks of repros; the group: whose they are."""


@dataclass(frozen=True, slots=True)
class WantedStack:
    """A stack that is wanted. ``key``: hash of the plan; ``cell``: for which it would start."""

    plan: Plan
    key: str
    cell: str


@dataclass
class Lease:
    """A stack that is up for the cells of one plan."""

    name: str
    wanted: WantedStack
    stack: RunningStack
    first: Appearance
    """What it was when it was new."""
    shared: SharedByRepeats
    took: StartPart | None
    """How long it took to start; None: that is noted."""
    used: bool = False

    @property
    def facts(self) -> StackFacts:
        """The stack as it was just seen, which was as new: every node runs, and has its role."""
        return StackFacts(self.stack.nodes(), self.first.roles, {})


@dataclass(frozen=True, slots=True)
class _StartingStack:
    """A stack that starts, maybe while another one is in use."""

    name: str
    key: str
    lease: "Future[Lease]"


@dataclass
class ReproStacks:
    """The stacks of one result; one is in use at a time, a second one may start beside it.

    ``own``: the part of their names that no other result has; ``keeps_bases``: whether the first
    starts of servers are kept for later stacks. `close` removes every stack that was started.
    """

    own: str
    shows: Shows
    docker: Docker
    keeps_bases: bool = True
    _kept: Lease | None = None
    _ahead: _StartingStack | None = None
    _number: int = 0
    _left: set[str] = field(default_factory=set)
    """Names of stacks that are not removed yet."""
    _removals: list[Future[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._beside = ThreadPoolExecutor(max_workers=2)
        self._cleared = self._beside.submit(self._clear)

    def _clear(self) -> None:
        """Removes what commands that were killed have left: nobody holds their locks any more."""
        for project, checkout in of_checkout(False, self.docker).items():
            name = stack_name(project, checkout)
            found = _OURS.fullmatch(name)
            if found is None:
                continue
            if found["own"] == self.own:
                down(name, lambda _: None, self.docker)
            elif not is_held(lock_of(found["own"])):
                with suppress(SandboxError):  # it is in nobody's way
                    down(name, lambda _: None, self.docker)

    def begin(self, wanted: WantedStack) -> None:
        """Starts a stack beside the one in use, unless one does already; it shows nothing."""
        if self._ahead is None and not self._is_kept(wanted):
            self._ahead = self._begun(wanted, _shows_nothing)

    def lease(self, wanted: WantedStack) -> Lease | SandboxError:
        """The stack in use, the one that starts already, or a new one; or why it does not start.
        The one in use before is removed.

        Raises KeyboardInterrupt for Ctrl-C meanwhile.
        """
        if self._kept is not None and self._is_kept(wanted):
            return self._kept
        ahead, self._ahead = self._ahead, None
        if ahead is not None and ahead.key != wanted.key:
            self._removals.append(self._beside.submit(self._remove_started, ahead))
            ahead = None
        self._give_up_kept()
        return self._keep(self._finished(ahead or self._begun(wanted, self.shows), wanted))

    def as_new(self, lease: Lease, fresh: bool) -> Lease | SandboxError:
        """The stack as new: it is reset if that is enough and not to be ``fresh``, else restored;
        or why it does not start again.
        """
        if not lease.used:
            return lease
        if not fresh:
            seen = reset(lease.stack, lease.first)
            if seen is not None:
                lease.shared.states = seen.states
                return lease
        lease.shared.sessions.close()
        self._kept = None
        self._remove(lease.name)
        return self._keep(self._started_or_not(lease.name, lease.wanted))

    def _keep(self, found: Lease | SandboxError) -> Lease | SandboxError:
        self._kept = found if isinstance(found, Lease) else None
        return found

    def is_up(self, wanted: WantedStack) -> bool:
        """Whether nobody has to wait for a stack."""
        ahead = self._ahead
        has_started = ahead is not None and ahead.key == wanted.key and ahead.lease.done()
        return self._is_kept(wanted) or has_started

    def needs(self, plan: Plan, bases: Mapping[str, Plan]) -> tuple[bool, bool]:
        """Whether a start of a plan pulls or builds an image, and whether it makes the first start
        of a server; ``bases``: the plans of its base data directories.
        """
        if needs_supply(plan):
            return True, self.keeps_bases
        return False, self.keeps_bases and not self._has_bases(plan, bases)

    def need_engine(self) -> None:
        """Raises SandboxError if the engine does not answer: it is asked to remove a stack that
        never existed.
        """
        self._remove(f"{PREFIX}-{self.own}-none")

    def close(self) -> None:
        """Removes every stack. Raises SandboxError where one cannot be removed."""
        if self._kept is not None:
            self._kept.shared.sessions.close()
            self._kept = None
        self._beside.shutdown(wait=True, cancel_futures=True)
        for name in sorted(self._left):
            self._remove(name)

    def _is_kept(self, wanted: WantedStack) -> bool:
        return self._kept is not None and self._kept.wanted.key == wanted.key

    def _give_up_kept(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            kept.shared.sessions.close()
            self._removals.append(self._beside.submit(self._remove, kept.name))

    def _begun(self, wanted: WantedStack, shows: Shows) -> _StartingStack:
        name = f"{PREFIX}-{self.own}-{self._number}"
        self._number += 1
        return _StartingStack(
            name, wanted.key, self._beside.submit(self._started, name, wanted, shows)
        )

    def _finished(self, start: _StartingStack, wanted: WantedStack) -> Lease | SandboxError:
        """The stack; where it did not start beside another one, it is tried again alone."""
        try:
            return start.lease.result()
        except SandboxError:
            for removal in self._removals:
                removal.result()
            self._remove(start.name)
        return self._started_or_not(start.name, wanted)

    def _started_or_not(self, name: str, wanted: WantedStack) -> Lease | SandboxError:
        try:
            return self._started(name, wanted, self.shows)
        except SandboxError as error:
            if error.exit_code is ExitCode.INTERRUPTED:
                raise KeyboardInterrupt from None
            return error

    def _started(self, name: str, wanted: WantedStack, shows: Shows) -> Lease:
        self._cleared.result()
        self._left.add(name)
        plan = wanted.plan
        began_s = time.monotonic()
        with shows() as progress:
            if needs_supply(plan):
                plan = ensure_images(plan, progress, self.docker)
            supplied_s = time.monotonic()
            options = UpOptions(name)
            if self.keeps_bases:
                bases = planned_base_directories(plan)
                self._make_base_directories(name, plan, bases, progress)
                options = UpOptions(name, restore=True, base_directories=lambda: bases)
            based_s = time.monotonic()
            stack = up(plan, options, progress, self.docker).stack
        client = next(node.name for node in stack.nodes() if node.kind == "client")
        sessions = Sessions(stack, client)
        first = _look_while_it_begins(stack, sessions)
        took = StartPart(
            cell=wanted.cell,
            profile=plan.profile,
            images_s=round(supplied_s - began_s, 2),
            base_s=round(based_s - supplied_s, 2),
            up_s=round(time.monotonic() - based_s, 2),
        )
        shared = SharedByRepeats(sessions, first.states)
        return Lease(name, wanted, stack, first, shared, took)

    def _has_bases(self, plan: Plan, bases: Mapping[str, Plan]) -> bool:
        """Whether a start begins after the first start of its servers; also where none can."""
        if usable(self.docker, plan) or not bases:
            return True
        return bool(usable_base_directories(self.docker, bases))

    def _make_base_directories(
        self, name: str, plan: Plan, bases: Mapping[str, Plan], progress: OnEvent
    ) -> None:
        """The first start of each server, once on this engine: every later stack begins after
        it. A stack that is in use is never snapshotted, since its repro changes it at once.
        """
        if self._has_bases(plan, bases):
            return
        library = load_library()
        requests = dict.fromkeys(base_requests(plan, library).values())
        owner = identity(name)
        with locked_stack(owner.project, name, progress):
            for request in requests:
                base = planned(request, library, self.docker)
                progress(Note(f"{base.profile}: the first start of its server, kept"))
                ensure_base_directory(self.docker, base, owner)

    def _remove_started(self, start: _StartingStack) -> None:
        """Removes a stack that nobody needs any more, once it has started or failed."""
        with suppress(SandboxError):
            start.lease.result().shared.sessions.close()
        self._remove(start.name)

    def _remove(self, name: str) -> None:
        down(name, lambda _: None, self.docker)
        self._left.discard(name)


def _look_while_it_begins(stack: RunningStack, sessions: Sessions) -> Appearance:
    """What a new stack looks like; the program of its sessions starts meanwhile."""
    try:
        with ThreadPoolExecutor(max_workers=1) as pool:  # its end waits for the program
            beginning = pool.submit(sessions.start)
            first = look_at(stack)
        beginning.result()
    except BaseException:
        sessions.close()
        raise
    return first


@contextmanager
def _shows_nothing() -> Iterator[OnEvent]:
    """Of a stack that starts beside the one whose steps are shown."""
    yield lambda _: None
