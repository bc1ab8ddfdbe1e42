"""Ctrl-C, TERM and a closed terminal: each interrupts the command once, which then heals, saves and
exits with 130.
"""

import os
import signal
import time
from collections.abc import Sequence
from contextlib import suppress
from types import FrameType

ECHO_S = 1.0
"""Signals that come so soon after one belong to it.

`timeout` signals make and then its whole process group, and make passes TERM on to what it runs:
the command gets two or three at once. Taken for a second Ctrl-C, they would end the saving that the
first one began.
"""
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class _Interruptions:
    """The handler of the signals; raises KeyboardInterrupt in the main thread."""

    def __init__(self, terminals: Sequence[int]) -> None:
        """``terminals``: file descriptors of outputs that are a terminal, which is gone after
        HUP.
        """
        self._terminals = terminals
        self._last_s = -ECHO_S

    def __call__(self, number: int, _: FrameType | None) -> None:
        if number == signal.SIGHUP:
            _write_to_nowhere(self._terminals)
        now_s = time.monotonic()
        if now_s - self._last_s >= ECHO_S:
            self._last_s = now_s
            raise KeyboardInterrupt


def begin() -> None:
    """From here on the signals interrupt the command; one that is ignored (`nohup`, a background
    job) stays so.
    """
    terminals = [each for each in (1, 2) if os.isatty(each)]
    handler = _Interruptions(terminals)
    for number in ENDINGS:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, handler)


def _write_to_nowhere(outputs: Sequence[int]) -> None:
    """What is said from now on must not fail: the record is still to be saved."""
    with suppress(OSError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for each in outputs:
            os.dup2(nowhere, each)
        os.close(nowhere)
