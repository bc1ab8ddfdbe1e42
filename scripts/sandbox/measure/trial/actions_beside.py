"""The actions of a trial: each is carried out beside its schedule, in a thread of its own."""

import threading
import time
from collections.abc import Callable, Sequence

from sandbox.core.errors import SandboxError
from sandbox.failure.action import Action, Operation, action_named
from sandbox.measure.trial.prober import ClockOffset
from sandbox.measure.trial.run import StepTimes, TrialRun
from sandbox.measure.trial.schedule import Step


class Operator:
    """Carries out actions on the servers of the run's group; what became of each stands in the
    run's timeline.
    """

    def __init__(self, run: TrialRun, clock: ClockOffset, say: Callable[[str], None]) -> None:
        self._run = run
        self._clock = clock
        self._say = say
        self._ended = threading.Event()
        self._threads: list[threading.Thread] = []
        self._stop_limit_s = 0.0
        """The longest of its actions'."""

    def begin(self, step: Step, nodes: Sequence[str]) -> Action:
        """Begins an action. Raises SandboxError (exit 2): unknown, or all servers are external."""
        action = action_named(step.action or "", step.options)
        run = self._run
        group = run.session.entry.group_index
        servers = [
            node
            for node in run.nodes
            if node.is_server and node.has_container and node.group_index == group
        ]
        if not servers:
            known = "its group has no server with a container here"
            raise SandboxError(
                f"the action {step.name} cannot be done", known, "try: make trial FAULT=by-hand"
            )
        began_us = self._clock.prober_us(time.monotonic_ns())
        times = StepTimes(step, list(nodes), began_us, began_us)
        operation = Operation(
            run.stack, run.session.client, servers, nodes, self._ended, times.joined_s
        )
        run.timeline.steps.append(times)
        thread = threading.Thread(
            target=self._perform, args=(action, operation, times), name=step.name, daemon=True
        )
        self._threads.append(thread)
        self._stop_limit_s = max(self._stop_limit_s, action.stop_limit_s)
        self._say(f"{step.name} begins")
        thread.start()
        return action

    def join(self) -> None:
        """Returns when every action has ended."""
        for thread in self._threads:
            thread.join()

    def close(self) -> None:
        """Gives up what is under way. Harmless when repeated."""
        self._ended.set()
        end = time.monotonic() + self._stop_limit_s
        for thread in self._threads:
            thread.join(max(0.0, end - time.monotonic()))

    def _perform(self, action: Action, operation: Operation, times: StepTimes) -> None:
        try:
            times.outcome = action.perform(operation)
        except SandboxError as error:
            times.outcome = f"{error.what}: {error.known}"
            times.refused = True
            times.undone = not isinstance(error, action.findings)
        except Exception as crash:  # noqa: BLE001  (an action that crashes was not done, and ends nothing else)
            times.outcome = f"it crashed: {type(crash).__name__}: {crash}"
            times.refused = True
            times.undone = True
        times.ended_us = self._clock.prober_us(time.monotonic_ns())
        self._say(f"{times.step.name}: {times.outcome}")
