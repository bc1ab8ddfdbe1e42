"""Prober logs made by hand, as text: what each test needs of a trial, in ms."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from sandbox.measure.trial.prober_log import ProberLog, read_prober_log

RATES = {"pooled": 100, "fresh": 20, "writer": 100, "reader": 100}


def header(**rates: int) -> str:
    """With these rates only, or all."""
    request = {"rates": rates or RATES, "timeout_s": 2.0}
    return json.dumps({"probe": 1, "began_utc_s": 1732000000.25, "request": request})


def line(*fields: object) -> str:
    """One line of the log."""
    return "\t".join(map(str, fields))


def write(
    op: int,
    due: float,
    took: float | None = 4,
    outcome: str = "acked",
    stream: str = "pooled",
    code: str = "-",
) -> list[str]:
    """An intent and its outcome, sent 1 ms late; ``took`` None: no outcome."""
    due_us = round(due * 1000)
    intent = line("i", op, stream, due_us)
    if took is None:
        return [intent]
    return [intent, line("o", op, due_us + 1000, due_us + round(took * 1000), outcome, code, 1)]


def read(
    due: float, node: str = "db1", stream: str = "reader", outcome: str = "ok", code: str = "-",
    stale: str = "-", backwards: str = "-",
) -> str:  # fmt: skip
    """A read that is sent 1 ms late and takes 3 ms."""
    due_us = round(due * 1000)
    return line(
        "r", stream, due_us, due_us + 1000, due_us + 3000, outcome, code, node, 40, stale, backwards
    )


def seen(
    node: str,
    t: float,
    read_only: int | None = 0,
    role: str | None = None,
    row_at: float | None = None,
    view: int | None = None,
    state: str | None = None,
    error: str | None = None,
) -> str:
    """An observer's answer; ``row_at``: when its newest row was written, ms."""
    answer = {
        "read_only": read_only,
        "role": role,
        "state": state,
        "view": view,
        "gtid": None,
        "last_op": None,
        "last_at_us": None if row_at is None else round(row_at * 1000),
        "error": error,
    }
    return line("s", node, round(t * 1000), json.dumps(answer))


def log_of(lines: Iterable[str], **rates: int) -> ProberLog:
    """The log with these lines."""
    return read_prober_log([header(**rates), *lines])


def steady(begin: float, end: float, first_op: int = 1, took: float = 4, **given: Any) -> list[str]:
    """Acknowledged writes each 10 ms on pooled connections, due from ``begin`` to before
    ``end``.
    """
    dues = range(round(begin), round(end), 10)
    return [each for op, due in enumerate(dues, first_op) for each in write(op, due, took, **given)]


def compact(by_host: Mapping[str, Iterable[int]], more: Mapping[int, int] | None = None) -> str:
    """A node's rows as the client reads them: ranges by host."""
    hosts = {
        host: [f"{low}-{high}" if low < high else f"{low}" for low, high in _runs(ops)]
        for host, ops in by_host.items()
    }
    return json.dumps({"hosts": hosts, "more_than_once": more or {}})


def _runs(ops: Iterable[int]) -> list[tuple[int, int]]:
    runs: list[tuple[int, int]] = []
    for op in sorted(ops):
        if runs and runs[-1][1] == op - 1:
            runs[-1] = (runs[-1][0], op)
        else:
            runs.append((op, op))
    return runs
