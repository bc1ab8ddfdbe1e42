"""Conducts a trial: chooses nodes as they are then, injects and heals faults and begins actions,
all in time.
"""

import heapq
import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from operator import itemgetter

from sandbox.core.errors import MachineError, SandboxError
from sandbox.failure.fault import FaultRequest, Injection
from sandbox.failure.targets import chosen_nodes
from sandbox.load.common.workload import Progress
from sandbox.measure.run import RunEndedError, idle_servers
from sandbox.measure.trial.actions_beside import Operator
from sandbox.measure.trial.ledger_on_servers import lacking, newest_operation, reachable
from sandbox.measure.trial.prober import ClockOffset
from sandbox.measure.trial.run import StepTimes, TrialRun
from sandbox.measure.trial.schedule import SAME, Step
from sandbox.stack.protocol import followers

PREPARE_S = 1.0
"""How long before a step its nodes are chosen and its fault prepared; the first one's was prepared
by then.
"""
AGAIN_S = 0.02
"""A step that is not prepared in time waits at least so long between two looks at what else is
due.
"""
BACK_S = 5.0
"""A step without a length is healed once writes have been acknowledged for so long."""
BACK_LIMIT_S = 60.0
"""…or at the latest after this."""
FOLLOW_S = 0.5
"""How often it looks for the new address of a node that was broken."""
CAUGHT_UP_S = 0.1
"""How often it looks whether every server has caught up."""
MANAGED_S = 30.0
"""How long a manager or a proxy has, once every node is ready, to make a server follow that does
not.
"""
BY_HAND = "by-hand"
"""The fault that somebody else injects and heals: nothing to do here but to say so."""
Act = Callable[[], None]
Part = tuple[float, Act]
"""When something is due, in seconds from the start, and what to do then."""


@dataclass(frozen=True)
class Aim:
    """A step before it begins. ``nodes``: those that it will hit, once they are chosen and the
    fault is prepared.
    """

    key: str
    step: Step
    nodes: Future[list[str]] = field(default_factory=Future)

    @property
    def needs_guard(self) -> bool:
        """Whether the guard injects it: an action is the operator's, and by-hand is somebody's."""
        return self.step.fault not in (None, BY_HAND)

    def on(self, nodes: Sequence[str]) -> FaultRequest:
        """Its fault on these nodes, as the guard takes it."""
        return FaultRequest(self.step.name, self.step.options, nodes)


def prepare_first(run: TrialRun, steps: Sequence[Step]) -> None:
    """The first step's fault, prepared before the prober's first slot, which its helpers' start
    would delay.

    A second before the step it is prepared anew, where it is to hit other nodes by then. Raises as
    `carry_out`.
    """
    first = Aim(_key(0), steps[0])
    if first.needs_guard:
        target = first.step.target
        nodes = chosen_nodes(run.stack, target, run.request.via, run.session.seed, run.roles)
        run.breaking.prepare(first.key, first.on(nodes))


def _key(number: int) -> str:
    """How the guard knows the step of a number."""
    return str(number)


class Conductor:
    """Carries out a schedule, whose time 0 is when this is made."""

    def __init__(self, run: TrialRun, clock: ClockOffset) -> None:
        self._run = run
        self._clock = clock
        self._prober = run.prober
        self._breaking = run.breaking
        self._operator = Operator(run, clock, self._say)
        self._began_s = time.monotonic()
        self._due: list[tuple[float, int, Act]] = []
        """(seconds from the start, order of entry, what to do then), a heap."""
        self._entries = itertools.count()
        self._asking = threading.Lock()
        """The guard answers one question at a time."""
        self._known: dict[str, list[str]] = {}
        """The nodes that each target meant last."""
        self._moving: set[str] = set()
        """Nodes that may get another address."""
        self._script: deque[Part] = deque()
        """Parts of the steps that are to come, by the schedule's time; each is due once the one
        before it was done.
        """
        self._shift_s = 0.0
        """By how much the latest step began late: what follows it keeps its distance."""
        self._closed = threading.Event()
        threading.Thread(target=self._follow, name="addresses", daemon=True).start()

    def carry_out(self, steps: Sequence[Step]) -> None:
        """Every step, in time; returns when the last fault is healed and the last action done.

        Raises RunEndedError where a fault is not in effect or the prober has ended; SandboxError:
        exit 2 for a target that the stack does not have, exit 3 for a fault that this machine
        cannot have, exit 4 where the engine refuses.
        """
        self._script.extend(self._parts(steps))
        self._next_part()
        while self._due:
            due_s, _, act = heapq.heappop(self._due)
            time.sleep(max(0.0, due_s - self._now_s()))
            if self._prober.ended:
                raise RunEndedError(
                    "infra_error", f"the prober has ended: {self._prober.last_words}"
                )
            act()
        self._operator.join()

    def _parts(self, steps: Sequence[Step]) -> list[Part]:
        """In the order in which they are due; what prepares a step comes before what begins
        then.
        """
        prepare = list[Part]()
        begin = list[Part]()
        before = None
        for number, step in enumerate(steps):
            aim = Aim(_key(number), step)
            prepare.append((step.at_s - PREPARE_S, partial(self._prepare, aim, before)))
            begin.append((step.at_s, partial(self._begin, aim)))
            before = aim
        return sorted(prepare + begin, key=itemgetter(0))

    def _next_part(self) -> None:
        """One part after the other: what is to follow a fault must not overtake one that is
        late.
        """
        if self._script:
            due_s, act = self._script.popleft()
            self._at(due_s + self._shift_s, act)

    def wait_until_whole(self, limit_s: float) -> None:
        """Until every node is ready, every server writes or follows, and all have caught up; notes
        when.

        Else it stays open: a result.
        """
        self._say("waiting until every node is back")
        until_s = self._now_s() + limit_s
        try:
            self._run.stack.wait_until_ready(limit_s)
        except MachineError as error:
            self._say(f"{error.what}: {error.known}")
        else:
            idle_until_s = self._now_s()
            if self._is_taken_back:
                idle_until_s += min(limit_s, MANAGED_S)
            if self._nobody_is_idle(idle_until_s) and self._all_have_caught_up(until_s):
                self._run.timeline.whole_us = self._prober_us_now()
        self._run.timeline.watched_us = self._prober_us_now()
        self._look_for_addresses()

    @property
    def _is_taken_back(self) -> bool:
        """Whether something else than an action may have an idle server follow again."""
        refused = any(each.refused for each in self._run.timeline.steps)
        return not refused and any(node.rejoins for node in self._run.nodes)

    def _nobody_is_idle(self, until_s: float) -> bool:
        """A server that neither writes nor follows is as ready as it can be, and no redundancy."""
        while idle := idle_servers(self._run.nodes, self._run.stack.roles()):
            if self._now_s() >= until_s:
                self._say(f"not whole: out of the group: {', '.join(idle)}")
                return False
            time.sleep(FOLLOW_S)
        return True

    def _all_have_caught_up(self, until_s: float) -> bool:
        """A member of a cluster is ready with writes in its queue: each is to have what any server
        had by then.
        """
        run = self._run
        session = run.session
        servers, _ = reachable(run.stack, followers(run.servers_of_group, session.writer.node))
        newest = newest_operation(session, servers)
        while behind := lacking(session, servers, newest):
            if self._now_s() >= until_s:
                self._say(f"not whole: not caught up: {', '.join(behind)}")
                return False
            time.sleep(CAUGHT_UP_S)
        return True

    def close(self) -> None:
        """Ends what runs beside the schedule. Harmless when repeated."""
        self._closed.set()
        self._operator.close()

    def _now_s(self) -> float:
        return time.monotonic() - self._began_s

    def _prober_us_now(self) -> float:
        return self._clock.prober_us(time.monotonic_ns())

    def _at(self, due_s: float, act: Act) -> None:
        """To the millisecond: a heal comes before the next step that is due then, whatever their
        sums are.
        """
        heapq.heappush(self._due, (round(due_s, 3), next(self._entries), act))

    def _say(self, text: str) -> None:
        self._run.session.on_event(Progress("trial", text))

    def _prepare(self, aim: Aim, before: Aim | None) -> None:
        """In a thread of its own: a server that hangs answers late, and must not delay another
        step.
        """

        def work() -> None:
            try:
                nodes = self._nodes(aim.step, before)
                if aim.needs_guard:
                    with self._asking:
                        self._breaking.prepare(aim.key, aim.on(nodes))
            except Exception as error:  # noqa: BLE001  (it is raised where the step begins)
                aim.nodes.set_exception(error)
            else:
                aim.nodes.set_result(nodes)

        threading.Thread(target=work, name=f"step {aim.key}", daemon=True).start()
        self._next_part()

    def _nodes(self, step: Step, before: Aim | None) -> list[str]:
        """Where no write gets through just then, those that the same target meant last."""
        if step.target == SAME and before is not None:
            return before.nodes.result()
        run = self._run
        via = run.request.via
        if run.writers_at_start > 1:  # the writer is where the prober writes now
            via = self._prober.writes_at or via
        roles = run.roles if before is None else None
        try:
            found = chosen_nodes(run.stack, step.target, via, run.session.seed, roles)
        except MachineError:
            if step.target not in self._known:
                raise
            return self._known[step.target]
        self._known[step.target] = found
        return found

    def _begin(self, aim: Aim) -> None:
        """Once it is prepared; until then whatever else is due comes first, such as a heal."""
        if self._due:
            next_s = self._due[0][0]
            wait([aim.nodes], max(AGAIN_S, next_s - self._now_s()))
            if not aim.nodes.done():
                self._at(next_s, partial(self._begin, aim))
                return
        nodes = aim.nodes.result()
        if aim.step.action is None:
            self._inject(aim, nodes)
        else:
            self._act(aim.step, nodes)
        self._next_part()

    def _act(self, step: Step, nodes: list[str]) -> None:
        self._shift_s = self._now_s() - step.at_s
        action = self._operator.begin(step, nodes)
        if action.starts_servers:
            group = self._run.session.entry.group_index
            self._moving |= {node.name for node in self._run.nodes if node.group_index == group}

    def _inject(self, aim: Aim, nodes: list[str]) -> None:
        step = aim.step
        where = ", ".join(nodes)
        if step.fault == BY_HAND:
            self._say(f"break {where} now")
            injection = Injection(time.monotonic_ns(), time.monotonic_ns())
        else:
            with self._asking:
                injection = self._breaking.inject(aim.key)
        if injection.missing:
            text = "; ".join(f"{node}: {missing}" for node, missing in injection.missing.items())
            raise RunEndedError("infra_error", f"{step.name} is not in effect: {text}")
        self._shift_s = injection.began_ns / 1e9 - self._began_s - step.at_s
        began_us = self._clock.prober_us(injection.began_ns)
        ended_us = self._clock.prober_us(injection.ended_ns)
        times = StepTimes(step, nodes, began_us, ended_us)
        self._run.timeline.steps.append(times)
        self._say(f"{step.name} on {where}")
        if step.end_s is not None:
            self._at(step.end_s + self._shift_s, lambda: self._heal(aim, times))
        else:
            self._look(aim, times, self._now_s(), 0)

    def _look(self, aim: Aim, times: StepTimes, injected_s: float, good: int) -> None:
        """Heals once writes have been acknowledged in each of the last seconds, or when that takes
        too long.
        """
        is_back = good >= BACK_S
        times.gave_up = not is_back and self._now_s() - injected_s > BACK_LIMIT_S
        if is_back or times.gave_up:
            self._heal(aim, times)
            return
        now = self._prober.acknowledged

        def again() -> None:
            goes_on = self._prober.acknowledged > now
            self._look(aim, times, injected_s, good + 1 if goes_on else 0)

        self._at(self._now_s() + 1, again)

    def _heal(self, aim: Aim, times: StepTimes) -> None:
        self._moving |= {*times.nodes}
        times.heal_began_us = self._prober_us_now()
        if aim.step.fault == BY_HAND:
            healed_ns = time.monotonic_ns()
        else:
            with self._asking:
                healed_ns = self._breaking.heal(aim.key)
        times.healed_us = self._clock.prober_us(healed_ns)
        self._look_for_addresses()
        self._say(f"healed {times.step.name} on {', '.join(times.nodes)}")

    def _follow(self) -> None:
        """A started container may have no address at once, and a restarted one gets another one
        later.
        """
        while not self._closed.wait(FOLLOW_S):
            self._look_for_addresses()

    def _look_for_addresses(self) -> None:
        if nodes := set(self._moving):
            with suppress(SandboxError):  # an engine that does not answer now is asked again
                self._run.timeline.moved |= self._prober.follow_addresses(nodes)
                if self._run.driver is not None:
                    self._run.driver.follow_addresses(nodes)
