"""The stacks of a matrix, one an arm: brought up when first needed, discarded when they break, gone at the end."""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from sandbox.errors import SandboxError
from sandbox.stack.protocol import RunningStack

MOST_FAILURES = 3
Source = TypeVar("Source")
TakeDown = Callable[[str], None]


class Arms(Generic[Source]):
    """``requests``: what each arm's stack is made from; a stack is called ``<prefix>-<arm>``."""

    def __init__(
        self,
        prefix: str,
        requests: Mapping[str, Source],
        bring_up: Callable[[str, Source], RunningStack],
        take_down: TakeDown,
    ) -> None:
        self._prefix, self._requests = prefix, requests
        self._bring_up, self._take_down = bring_up, take_down
        self._up: dict[str, RunningStack] = {}
        self._failures: dict[str, list[SandboxError]] = {}

    def clear(self) -> None:
        """Removes what a matrix that was killed has left; what state it is in, nobody knows."""
        for arm in self._requests:
            self._take_down(self._name(arm))

    def need_engine(self) -> None:
        """Raises SandboxError where the engine does not answer: it is asked to remove a stack that never was."""
        self._take_down(self._name("none"))

    def ready(self, arm: str) -> RunningStack:
        """The arm's stack, ready. Raises SandboxError where it cannot be brought up; after the third time at once.

        Where the engine does not answer, that is no failure of the arm's.
        """
        failures = self._failures.setdefault(arm, [])
        if len(failures) >= MOST_FAILURES:
            raise failures[-1]
        if arm not in self._up:
            try:
                self._up[arm] = self._bring_up(self._name(arm), self._requests[arm])
            except SandboxError as error:
                self.need_engine()
                failures.append(error)
                self._take_down(self._name(arm))
                raise
        return self._up[arm]

    def discard(self, arm: str) -> None:
        """Removes an arm's stack, if it is up; the next run brings up a new one."""
        if self._up.pop(arm, None) is not None:
            self._take_down(self._name(arm))

    def discard_all(self) -> None:
        """Removes every stack that is up, all at once."""
        arms = list(self._up)
        with ThreadPoolExecutor(max_workers=max(1, len(arms))) as pool:
            list(pool.map(self.discard, arms))

    def _name(self, arm: str) -> str:
        return f"{self._prefix}-{arm}"
