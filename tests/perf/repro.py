"""perf: what a repeat of a repro takes, what a version takes beside the start of its stack, and how
near the time of a bisection is to the predicted one.
"""

import json
import statistics
from pathlib import Path
from typing import Any

from perf.timing import NAME, sandbox, tell, timed
from sandbox.core.paths import CHECKOUT

_REPRO = "snapshot-isolation-1020"
"""Sessions only, and none that waits for another one."""
_BUG = "11.8"
_ENDS = ("10.11.18", _BUG)
"""One version is between them: of several it is chance how many are tried."""
_REPEATS = 40


def repro_figures(repetitions: int) -> dict[str, Any]:
    """Seconds of a repeat on a stack that is up, with its reset and its record (the median); of a
    version, from the command to its end, and of a warm `up` of the same; predicted time of a
    bisection divided by the real one.
    """
    tell(f"repeats of {_REPRO}")
    version = ("--repro", _REPRO, "--versions", _BUG, "--new")
    repeated = json.loads(sandbox("repro", *version, "--repeat", str(_REPEATS), "--json"))
    manifest = json.loads((CHECKOUT / Path(repeated["result"]) / "manifest.json").read_text())
    tell("a version, and a warm up of the same")
    versions_s = [timed(lambda: sandbox("repro", *version)) for _ in range(repetitions)]
    ups_s = [_up_s() for _ in range(repetitions)]
    tell("a bisection")
    good, bad = _ENDS
    words = ("--repro", _REPRO, "--good", good, "--bad", bad, "--new", "--json")
    ratios = []
    for _ in range(repetitions):
        found = json.loads(sandbox("bisect", *words))
        ratios.append(found["predicted_s"] / found["taken_s"])
    return {
        "repro_repeat_s": manifest["repro"]["repeat_s"],
        "repro_version_s": round(statistics.median(versions_s), 2),
        "repro_warm_up_s": round(statistics.median(ups_s), 2),
        "bisect_predicted_ratio": round(statistics.median(ratios), 3),
    }


def _up_s() -> float:
    seconds = timed(lambda: sandbox("up", "--name", NAME, "--profile", f"mariadb@{_BUG}"))
    sandbox("down", "--name", NAME)
    return seconds
