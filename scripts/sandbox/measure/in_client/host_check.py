"""Runs in the client node: measures the machine's speed by half a second of a loop and fifty
fsyncs. JSON out.
"""

import json
import os
import statistics
import sys
import tempfile
import time

CPU_SECONDS = 0.5
FSYNCS = 50
_BATCH = 10_000


def cpu_turns() -> int:
    """Iterations of an empty loop in half a second of wall-clock time."""
    turns = 0
    end = time.perf_counter() + CPU_SECONDS
    while time.perf_counter() < end:
        for _ in range(_BATCH):
            pass
        turns += _BATCH
    return turns


def fsync_ms() -> float:
    """Median time of an fsync after writing 4 KiB, ms."""
    times = []
    with tempfile.TemporaryFile() as file:
        for _ in range(FSYNCS):
            file.write(bytes(4096))
            file.flush()
            began = time.perf_counter()
            os.fsync(file.fileno())
            times.append(time.perf_counter() - began)
    return statistics.median(times) * 1000


def main() -> None:
    """Prints both figures."""
    json.dump({"cpu_turns": cpu_turns(), "fsync_ms": round(fsync_ms(), 3)}, sys.stdout)


if __name__ == "__main__":
    main()
