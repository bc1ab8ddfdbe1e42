"""One process of a load: some threads, each with its scenario, and a report of what they did every second."""

import threading
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from typing import Any

import pymysql

from sandbox.workloads.in_client.connection import CONFLICTS, code_of
from sandbox.workloads.in_client.pace import Pace
from sandbox.workloads.in_client.recorder import Recorder
from sandbox.workloads.in_client.scenario import ExpectedRollbackError, Scenario

_POLL_S = 0.05
"""How soon an error in one process ends the others."""


class Worker:
    """Threads of one process. ``failed`` is shared by all processes: the first error sets it for all."""

    def __init__(self, scenarios: Sequence[Scenario], seconds: int, rate_per_s: float | None, failed: Any) -> None:
        self._scenarios, self._seconds, self._rate = scenarios, seconds, rate_per_s
        self._failed = failed
        self._recorder = Recorder()
        self._gate = threading.Event()
        self._connected = threading.Semaphore(0)
        self._began = 0.0
        self._last_end = 0.0

    def run(self, pipe: Pipe) -> None:
        """Connects, reports ready to ``pipe``, waits for the start, reports each second, then the rest."""
        threads = [threading.Thread(target=self._thread, args=(each,), daemon=True) for each in self._scenarios]
        for thread in threads:
            thread.start()
        for _ in threads:
            self._connected.acquire()
        pipe.send("ready")
        self._began = pipe.recv()
        self._gate.set()
        for second in range(1, self._seconds + 1):
            if not self._wait_until(self._began + second):
                break
            pipe.send((second, self._recorder.take()))
        for thread in threads:
            thread.join()
        pipe.send(("end", self._recorder.take(), self._last_end))

    def _wait_until(self, moment: float) -> bool:
        """Waits until the moment; returns whether no error came before it."""
        while (left := moment - time.monotonic()) > 0 and not self._failed.value:
            time.sleep(min(left, _POLL_S))
        return not self._failed.value

    def _thread(self, scenario: Scenario) -> None:
        opened = self._guarded(scenario.open, "connecting")
        self._connected.release()
        self._gate.wait()
        if opened:
            self._guarded(lambda: self._load(scenario), "the load")
            self._last_end = max(self._last_end, time.monotonic())
            self._guarded(scenario.close, "closing")
            self._recorder.sent(scenario.connection.take_sent())

    def _guarded(self, job: Callable[[], None], during: str) -> bool:
        """Whether the job completed; an error is recorded and ends the load."""
        try:
            job()
        except (pymysql.MySQLError, OSError) as error:
            self._fail(str(code_of(error) or "unknown"), f"{type(error).__name__}{error.args} during {during}")
        except Exception as error:  # noqa: BLE001  (a defect of a scenario must end the load, not one silent thread)
            self._fail("unknown", f"{type(error).__name__}: {error} during {during}")
        else:
            return True
        return False

    def _fail(self, code: str, message: str) -> None:
        self._recorder.error(code, message)
        self._failed.value = 1

    def _load(self, scenario: Scenario) -> None:
        deadline = self._began + self._seconds
        job = scenario.job
        rate = self._rate / job.threads if self._rate and job.number < job.threads else None
        pace = Pace(rate, self._began, f"{job.seed}-{job.number}-pace")
        while True:
            due = pace.next_due(time.monotonic())
            if due >= deadline or not self._wait_until(due) or time.monotonic() >= deadline:
                return
            self._one(scenario, due, deadline)

    def _one(self, scenario: Scenario, due: float, deadline: float) -> None:
        """One transaction, retried until it completes or the time is over."""
        kind, transact = scenario.draw()
        while not self._failed.value:
            try:
                transact()
                self._recorder.done(kind, round((time.monotonic() - due) * 1e6), kind not in scenario.background)
                return
            except ExpectedRollbackError:
                self._recorder.conflict("expected")
                return
            except pymysql.MySQLError as error:
                if (code := code_of(error)) not in CONFLICTS:
                    raise
                self._recorder.conflict(str(code))
                scenario.undo()
                if time.monotonic() >= deadline:
                    return
            finally:
                self._recorder.sent(scenario.connection.take_sent())
                scenario.settle()
