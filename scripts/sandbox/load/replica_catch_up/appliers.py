"""The appliers of replicas, stopped while this is open; they run again when it is closed, or when
this process dies.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sandbox.load.common.workload import Session, WorkloadError
from sandbox.stack.client_python import end_stream, script_argv, targets_of
from sandbox.stack.protocol import StackNode

_END_LIMIT_S = 70.0
"""Longer than a statement may take there: a replica that is slow to answer must run again, too."""


class StoppedAppliers:
    """The appliers of these replicas, stopped on entry of its ``with`` block, running again on its
    exit.
    """

    def __init__(self, session: Session, replicas: Sequence[StackNode], log: Path) -> None:
        targets = targets_of(replicas)
        self._names = {target.name for target in targets}
        self._log = log
        argv = script_argv(
            __package__, "in_client_applier", json.dumps([target.login for target in targets])
        )
        self._stream = session.stack.stream(session.client, argv)
        self._lines = self._stream.lines()

    def __enter__(self) -> "StoppedAppliers":
        try:
            self._answer("stopped")
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def wait_until_received(self, held: str, limit_s: float) -> None:
        """Returns when every relay log has this GTID set or position of the source. Raises
        WorkloadError.
        """
        self._stream.send(json.dumps({"held": held, "limit_s": limit_s}))
        self._answer("received")

    def start(self, limit_s: float, on_wait: Callable[[str, float], None]) -> dict[str, float]:
        """Starts all of them; seconds until each has applied what it has received. Raises
        WorkloadError.

        ``on_wait``: gets the name of a replica that has not caught up yet, and seconds since the
        start.
        """
        self._stream.send(json.dumps({"limit_s": limit_s}))
        took: dict[str, float] = {}
        while took.keys() < self._names:
            answer = self._answer("node")
            if "caught_up_s" in answer:
                took[answer["node"]] = answer["caught_up_s"]
            else:
                on_wait(answer["node"], answer["still_s"])
        return took

    def _answer(self, wanted: str) -> Mapping[str, Any]:
        """The next answer that has this key. Raises WorkloadError for an error, and where the
        script has ended.
        """
        last = "it printed nothing"
        for line in self._lines:
            with self._log.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
            try:
                answer = json.loads(line)
            except json.JSONDecodeError:  # a complaint of Python's
                last = line.strip() or last
                continue
            if "error" in answer:
                raise WorkloadError(f"the appliers: {answer['error']}")
            if wanted in answer:
                found: Mapping[str, Any] = answer
                return found
        raise WorkloadError(f"the appliers could not be watched: {last}")

    def _end(self) -> None:
        end_stream(self._stream, _END_LIMIT_S)
