"""The driver of a trial from this side: a second client beside the prober, with the prober's slots
and log.
"""

import json
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sandbox.core.errors import MachineError
from sandbox.measure.trial import in_client
from sandbox.measure.trial.drivers import IMAGE, DriverChoice
from sandbox.measure.trial.prober import Prober, ProberPlan, ProberRates, prober_files
from sandbox.stack.client_python import script_argv
from sandbox.stack.entry import APP_CNF
from sandbox.stack.protocol import RunningStack, Stream

CONNECTIONS = 8
"""Of a driver's pool, or processes with one each."""
WEIGHT = 8
"""Of its processors, a server's being 1: below the prober's, which must not wait for it."""
READY_LIMIT_S = 60.0
"""Eight processes, or a Java machine, on a busy host."""
BACK_LIMIT_S = 60.0
"""How long it is waited for, once the stack is whole: what is open then is censored."""
BACK_S = 2.0
"""It is back when it has acknowledged writes in two looks so far apart."""
_LOOK_S = 0.1
RATES = ProberRates(pooled=50, fresh=10, writer=20, reader=0)
"""Fewer than the prober's: a driver costs more processor time, and has few connections."""


@dataclass(frozen=True, slots=True)
class DriverPlan:
    """The driver, and what it connects to: (node, port) in the order in which it gets them."""

    choice: DriverChoice
    hosts: Sequence[tuple[str, int]]
    schema: str
    timeout_s: float
    transaction: bool
    seed: int

    @property
    def as_prober(self) -> ProberPlan:
        """The part that the prober's plan has, too."""
        return ProberPlan(
            write=self.hosts,
            read=(),
            observe=(),
            schema=self.schema,
            rates=RATES,
            timeout_s=self.timeout_s,
            transaction=self.transaction,
            seed=self.seed,
        )

    @property
    def of_program(self) -> dict[str, Any]:
        """The part of the request that says which programs to start."""
        choice = self.choice
        return {
            "driver": choice.name,
            "mode": choice.mode,
            "run": list(choice.spec.run),
            "folder": choice.folder,
            "concurrent": choice.spec.concurrent,
            "connections": CONNECTIONS,
        }


class DriverClient(Prober):
    """A driver's programs in a container beside the client node, from `start` on; its slots begin
    with `begin_slots`.
    """

    def __init__(self, stack: RunningStack, client: str, plan: DriverPlan) -> None:
        super().__init__(stack, client, plan.as_prober)
        self.plan = plan
        self.version: str | None = None
        """The driver's own word; None until it is ready."""
        self._is_ready = threading.Event()

    def start(self, path: Path) -> None:
        """Starts its programs, and returns when they are ready. Raises SandboxError (exit 4) where
        they do not get there.
        """
        super().start(path)
        try:
            self._wait_until_ready()
        except BaseException:
            self.close()
            raise

    def _wait_until_ready(self) -> None:
        end_s = time.monotonic() + READY_LIMIT_S
        while self.version is None and not self.ended and time.monotonic() < end_s:
            self._is_ready.wait(_LOOK_S)
        if self.version is None:
            what = f"the driver {self.plan.choice} does not start"
            raise MachineError(what, self.last_words, "try: make images")

    def begin_slots(self, began_ns: int) -> None:
        """Its first slot is due soon; ``began_ns``: time 0 of the prober, which is its own, too."""
        self._stream.send(f"begin {began_ns}")

    def is_back_within(self, limit_s: float = BACK_LIMIT_S) -> bool:
        """Whether it acknowledges writes again; waits for it."""
        end_s = time.monotonic() + limit_s
        while not self.ended and time.monotonic() < end_s:
            before = self.acknowledged
            time.sleep(BACK_S)
            if self.acknowledged > before:
                return True
        return False

    def _begin(self) -> Stream:
        account = self._stack.run(self._client, ["cat", APP_CNF]).stdout
        request = self._plan.request(self._addresses) | self.plan.of_program
        stream = self._stack.stream_beside(
            self._client, IMAGE, script_argv(in_client.__name__, "driver_boot"), WEIGHT
        )
        stream.send(json.dumps(prober_files("driver")))
        stream.send(json.dumps({**request, "account": account}))
        return stream

    def _hear(self, line: str) -> None:
        kind, _, text = line.partition("\t")
        if kind == "ready":
            self.version = text
            self._is_ready.set()
        else:
            super()._hear(text if kind == "failed" else line)
