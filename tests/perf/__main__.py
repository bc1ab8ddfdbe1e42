"""perf: how close the tool comes to what the servers themselves need, as ratios each measured in
one run.
"""

import json
import math
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from perf.check import check_figures
from perf.drivers import driver_figures
from perf.made_up import write_made_up
from perf.matrix import matrix_overhead_ratio, restart_overhead_s
from perf.query import query_figures
from perf.repro import repro_figures
from perf.start import up_figures
from perf.timing import NAME, sandbox, tell, timed
from perf.trial import trial_figures
from sandbox.core.paths import CHECKOUT
from sandbox.judge.rank_tests import hodges_lehmann, signed_rank_interval
from sandbox.profile.images import Availability
from sandbox.profile.plan import PlanRequest
from sandbox.profile.planner import make_plan
from sandbox.profile.reader import load_library

EXPRESSIONS = [
    "mysql@9.7+replica2+haproxy",
    "galera3+haproxy",
    "gr3+router+threadpool",
    "pxc3@8.4+replica1+proxysql+pmm",
    "mysql@8.4+mysql@9.7+mariadb@11.8",
]
BENCH_PROFILE = "mysql@9.7"
BENCH_WORKLOAD = "oltp_read_only"
"""Bound by the processor alone: what the tool takes of it shows, and no flush of an earlier run
disturbs.
"""
BENCH_SECONDS = 10
BENCH_WARM_UP = 2
BENCH_PAIRS = 20


def perf(repetitions: int) -> None:
    """Prints the figures as JSON; medians over alternating repetitions, every time in
    ``samples``.
    """
    figures: dict[str, Any] = {"repetitions": repetitions, "samples": {}}
    figures |= {
        "plans_1000_s": round(_plans(), 3),
        "first_line_s": round(_first_line(repetitions), 3),
    }
    figures["report_1000_records_s"] = round(_report(1000, repetitions), 3)
    figures |= up_figures(repetitions, figures["samples"])
    figures |= _bench(figures["samples"])
    # In this order: the first makes the data of both.
    figures |= restart_overhead_s() | matrix_overhead_ratio()
    figures |= trial_figures()
    figures |= driver_figures()
    figures |= check_figures(repetitions)
    figures |= repro_figures(repetitions)
    tell("query over 10,000 records")
    figures |= query_figures()
    print(json.dumps(figures, indent=2))


def _plans() -> float:
    """Seconds for 1,000 plans, the library read once."""
    library, available = load_library(), Availability(registry=lambda: True)
    requests = [PlanRequest(expression) for expression in EXPRESSIONS]
    return timed(
        lambda: [make_plan(requests[i % len(requests)], library, available) for i in range(1000)]
    )


def _report(records: int, repetitions: int) -> float:
    """Seconds that `report` takes from start to end, for a made-up result of so many records,
    median.
    """
    with TemporaryDirectory() as folder:
        result = write_made_up(Path(folder), records)
        return statistics.median(
            timed(lambda: sandbox("report", "--result", str(result.path)))
            for _ in range(repetitions)
        )


def _first_line(repetitions: int) -> float:
    """Seconds from `make up` to its first line of progress."""
    return statistics.median(_one_first_line() for _ in range(repetitions))


def _one_first_line() -> float:
    begin = time.monotonic()
    command = ["make", "-s", "up", f"NAME={NAME}", f"PROFILE={BENCH_PROFILE}", "SNAPSHOTS=0"]
    with subprocess.Popen(
        command, cwd=CHECKOUT, stderr=subprocess.PIPE, stdout=subprocess.DEVNULL
    ) as process:
        for _ in process.stderr or ():
            break
        seconds = time.monotonic() - begin
        process.communicate()
    sandbox("down", "--name", NAME)
    return seconds


def _bench(samples: dict[str, Any]) -> dict[str, Any]:
    """Throughput of `bench` against its own sysbench command typed by hand in the client node.

    In pairs of changing order, each after the same warm-up; Hodges–Lehmann over the pairs, with the
    exact interval.
    """
    tell(f"bench against the same command typed by hand, {BENCH_PAIRS} pairs")
    sandbox("up", "--name", NAME, "--profile", BENCH_PROFILE, "--snapshots", "0")
    ours, by_hand = [], []
    try:
        # The first one prepares the data, and is not counted.
        command = _record(1)["workload"]["load_command"]
        container = _client()
        for pair in range(BENCH_PAIRS):
            if pair % 2:
                by_hand.append(_by_hand(container, command))
            ours.append(_record(BENCH_SECONDS)["metrics"]["tps"])
            if not pair % 2:
                by_hand.append(_by_hand(container, command))
            tell(f"  bench {ours[-1]:.1f} tps   by hand {by_hand[-1]:.1f} tps")
    finally:
        sandbox("down", "--name", NAME)
    samples["bench"] = {"tps": ours, "by_hand_tps": by_hand}
    return _bench_figures(ours, by_hand)


def _bench_figures(ours: list[float], by_hand: list[float]) -> dict[str, Any]:
    ratios = [math.log(mine / hand) for mine, hand in zip(ours, by_hand, strict=True)]
    interval = signed_rank_interval(ratios)
    bounds = interval and [round(math.exp(interval.low), 4), round(math.exp(interval.high), 4)]
    return {
        "bench_ratio": round(math.exp(hodges_lehmann(ratios)), 4),
        "bench_ratio_interval_95": bounds,
        "bench_tps": statistics.median(ours),
        "bench_by_hand_tps": statistics.median(by_hand),
    }


def _record(seconds: int) -> dict[str, Any]:
    options = [
        "--workload",
        BENCH_WORKLOAD,
        "--seconds",
        str(seconds),
        "--warmup",
        str(BENCH_WARM_UP),
    ]
    return dict(json.loads(sandbox("bench", "--name", NAME, *options, "--json")))


def _client() -> str:
    """Id of the client node's container."""
    stack = json.loads(sandbox("ps", "--name", NAME, "--json"))["stacks"][0]
    return str(next(node["container"] for node in stack["nodes"] if node["name"] == "client1"))


def _by_hand(container: str, command: list[str]) -> float:
    """Transactions per second of the command for as long as `bench` runs, after as long a
    warm-up.
    """
    for seconds in (BENCH_WARM_UP, BENCH_SECONDS):
        argv = [f"--time={seconds}" if part.startswith("--time=") else part for part in command]
        done = subprocess.run(
            ["docker", "exec", container, *argv], capture_output=True, text=True, check=True
        )
    line = next(line for line in done.stdout.splitlines() if "transactions:" in line)
    return float(line.split("(")[1].split()[0])


if __name__ == "__main__":
    perf(int(sys.argv[1]) if len(sys.argv) > 1 else 5)
