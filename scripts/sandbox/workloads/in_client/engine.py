"""A load from start to end: processes with threads spread over them, one printed line for each second, a summary."""

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection as Pipe
from typing import Any

from sandbox.workloads.in_client.connection import Endpoint
from sandbox.workloads.in_client.recorder import Tally
from sandbox.workloads.in_client.scenario import Job, Scenario
from sandbox.workloads.in_client.worker import Worker

PROCESSES_PER_CPU = 4
MOST_PROCESSES = 64
"""Threads of one process take turns at the interpreter; few threads per process keep that out of the latencies."""

_HEAD_START_S = 0.05

Make = Callable[[Job], Scenario]
Print = Callable[[dict[str, Any]], None]


def processes_for(threads: int, cpus: int) -> int:
    """Number of processes for this many threads."""
    return max(1, min(threads, PROCESSES_PER_CPU * cpus, MOST_PROCESSES))


def run_load(request: dict[str, Any], target: Endpoint, make: Make, emit: Print) -> int:
    """Runs the load of a request; returns the exit code: 0, or 1 where there was an error.

    ``request``: ``threads``, ``background`` (additional threads), ``seconds``, ``rate_per_s`` or null, ``seed``,
    ``options`` of the workload. ``emit`` prints one JSON line.
    """
    threads = request["threads"]
    jobs = [
        Job(target, number, threads, request["seed"], request["options"])
        for number in range(threads + request["background"])
    ]
    processes = processes_for(len(jobs), os.cpu_count() or 1)
    pipes = _start([jobs[first::processes] for first in range(processes)], request, make)
    return _follow(pipes, request, emit)


def _start(shares: Sequence[Sequence[Job]], request: dict[str, Any], make: Make) -> list[Pipe]:
    """One process for each share of the threads; returns our ends of their pipes."""
    context = multiprocessing.get_context("fork")
    failed = context.RawValue("b", 0)
    ours: list[Pipe] = []
    for share in shares:
        near, far = context.Pipe()
        arguments = (share, request, make, failed, far)
        context.Process(target=_process, args=arguments, daemon=True).start()
        far.close()  # otherwise its end would go unnoticed here
        ours.append(near)
    return ours


def _process(share: Sequence[Job], request: dict[str, Any], make: Make, failed: Any, pipe: Pipe) -> None:
    scenarios = [make(job) for job in share]
    Worker(scenarios, request["seconds"], request["rate_per_s"], failed).run(pipe)


def _follow(pipes: Sequence[Pipe], request: dict[str, Any], emit: Print) -> int:
    """Adds up what the processes report, second by second."""
    total = Tally()
    try:
        for pipe in pipes:
            pipe.recv()
        began = time.monotonic() + _HEAD_START_S
        for pipe in pipes:
            pipe.send(began)
        ended = _reports(pipes, request["threads"], total, emit)
    except (EOFError, BrokenPipeError):
        total.errors["unknown"] += 1
        emit({"error": "unknown", "message": "a load process died"})
        ended = began = 0.0
    for code, message in total.messages.items():
        emit({"error": code, "message": message})
    emit({"summary": total.summary_json(max(ended - began, 0.0))})
    return 1 if total.errors else 0


def _reports(pipes: Sequence[Pipe], threads: int, total: Tally, emit: Print) -> float:
    """Every process reports each second, then its end; a failing load ends sooner. Returns when the last ended."""
    open_pipes, ended, second = list(pipes), 0.0, 0
    while open_pipes:
        second += 1
        tally, whole = Tally(), True
        for pipe in list(open_pipes):
            report = pipe.recv()
            tally.merge(report[1])
            if report[0] == "end":
                open_pipes.remove(pipe)
                ended = max(ended, report[2])
                whole = False
        total.merge(tally)
        if whole:
            emit(tally.second_json(second, threads))
    return ended
