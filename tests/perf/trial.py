"""perf: what a trial takes beside the time that its prober measures, and how exact the prober
is.
"""

import json
import time
from collections.abc import Iterator
from typing import Any

from perf.timing import NAME, sandbox, tell, timed
from sandbox.measure.trial.ledger import Ledger, rows_of
from sandbox.measure.trial.prober_log import read_prober_log

_OPS = 100_000
_PROFILES = {"galera3": "galera3@11.8", "gr3": "gr3@9.7"}
_HEADER = {
    "probe": 1,
    "began_utc_s": 1.0,
    "request": {"rates": {"pooled": 100}, "observe_interval_s": 0.1},
}


def trial_figures() -> dict[str, Any]:
    """Seconds beside the prober's own time, lateness of its slots, time of an injection, time to
    judge a ledger.
    """
    figures: dict[str, Any] = {"ledger_check_100k_s": round(_ledger_check_s(), 3)}
    for name, profile in _PROFILES.items():
        tell(f"a trial on {profile}, from a restored stack")
        overhead_s, record = _trial(profile)
        figures[f"trial_overhead_{name}_s"] = round(overhead_s, 2)
        step = record["trial"]["steps"][0]
        figures[f"probe_lateness_p99_{name}_ms"] = record["metrics"]["lateness_p99_ms"]
        figures[f"inject_server_crash_{name}_s"] = round(
            (step["ended_ms"] - step["began_ms"]) / 1000, 3
        )
    return figures


def _trial(profile: str) -> tuple[float, dict[str, Any]]:
    """Seconds of start, trial and removal without those in which the prober ran; and the record."""
    sandbox("up", "--name", NAME, "--profile", profile)
    sandbox("down", "--name", NAME)  # its snapshot is there now, or is being made
    began = time.monotonic()
    sandbox("up", "--name", NAME, "--profile", profile)
    shown = sandbox("trial", "--name", NAME, "--fault", "server-crash", "--json", accepted=(0, 1))
    sandbox("down", "--name", NAME)
    record = json.loads(shown)
    return time.monotonic() - began - record["trial"]["end_ms"] / 1000, record


def _ledger_check_s() -> float:
    """Seconds to read the log of 100,000 writes and to judge it against the rows of three nodes."""
    rows = {"hosts": {"galera1": [f"1-{_OPS}"]}, "more_than_once": {}}
    present = ("galera1", "galera2", "galera3")

    def check() -> None:
        ledger = Ledger(
            read_prober_log(_lines()), {node: rows_of(rows) for node in present}, "galera1"
        )
        assert ledger.counts().lost.count == 0  # type: ignore[union-attr]

    return timed(check)


def _lines() -> Iterator[str]:
    yield json.dumps(_HEADER)
    for op in range(1, _OPS + 1):
        due = op * 10_000
        yield f"i\t{op}\tpooled\t{due}"
        yield f"o\t{op}\t{due + 90}\t{due + 1500}\tacked\t-\t1"
    yield f"e\t{_OPS * 10_000 + 5000}"
