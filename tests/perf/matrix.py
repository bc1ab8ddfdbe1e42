"""perf: what a matrix takes beside its load, at both depths."""

import json
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from perf.timing import sandbox, tell

_QUICK = ("--matrix", "quick", "--seconds", "10", "--blocks", "1")
# Four cells and the canary, three blocks.
_RESTART = """\
title: Runs from restarted servers
question: What does a run take beside its load, at depth restart?
common: {profile: mysql@9.7, workload: oltp_read_only, tables: 4, rows: 50000}
factors: {commits: {relaxed: {add: relaxed}, durable: {add: durable}}, threads: [1, 4]}
baseline: {commits: relaxed}
depth: restart
warmup: 1
seconds: 3
blocks: 3
"""


def matrix_overhead_ratio() -> dict[str, Any]:
    """Wall time of ``quick`` (runs of 10 s, one block) beside warm-up and measured seconds, as a
    share of these.

    Its data is the same as that of the other matrix, and is made once.
    """
    tell("matrix quick, one block, at depth slices")
    wall_s, load_s, runs = _matrix(*_QUICK)
    return {
        "matrix_overhead_ratio": round((wall_s - load_s) / load_s, 4),
        "matrix_wall_s": round(wall_s, 1),
        "matrix_load_s": load_s,
        "matrix_runs": runs,
    }


def restart_overhead_s() -> dict[str, Any]:
    """Seconds of wall time a run beside warm-up and measured seconds, where every stack is started
    anew for a block.

    The data is made in that time, unless an earlier matrix has kept it.
    """
    tell("a matrix of 15 runs at depth restart")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "restart-overhead.yaml"
        path.write_text(_RESTART, encoding="utf-8")
        wall_s, load_s, runs = _matrix("--matrix", str(path))
    return {
        "restart_overhead_s": round((wall_s - load_s) / runs, 3),
        "restart_wall_s": round(wall_s, 1),
        "restart_runs": runs,
    }


def _matrix(*argv: str) -> tuple[float, int, int]:
    """Runs a matrix from its beginning: wall time of the command, seconds of warm-up and load,
    runs.
    """
    plan = json.loads(sandbox("matrix", *argv, "--new", "--plan", "--json"))
    began = time.monotonic()
    answer = json.loads(sandbox("matrix", *argv, "--new", "--json"))
    wall_s = time.monotonic() - began
    result = json.loads((Path(answer["result"]) / "manifest.json").read_text(encoding="utf-8"))
    part, runs = result["matrix"], result["runs"]
    if len(runs) != (len(plan["cells"]) - len(plan["skipped"]) + 1) * plan["blocks"]:
        raise subprocess.SubprocessError(f"{len(runs)} runs were made: {answer['result']}")
    return wall_s, len(runs) * (part["warmup_s"] + part["seconds"]), len(runs)
