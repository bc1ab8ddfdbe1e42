"""Resource usage of each node: CPU time and block I/O, as its cgroup counts them."""

from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from sandbox.errors import SandboxError
from sandbox.stack.protocol import RunningStack, StackNode

Number = TypeVar("Number", int, float)
_LIMIT_S = 10.0

# Shell built-ins only, so that a request costs the node no process. An answer is one line.
_COUNTERS = r"""
cd /sys/fs/cgroup || exit
while read -r _; do
  printf '\036'
  for file in cpu.stat io.stat cpuacct/cpuacct.usage blkio/blkio.throttle.io_service_bytes; do
    [ -r "$file" ] || continue
    printf '%s;' "${file##*/}"
    while read -r line; do printf '%s %s;' "${file##*/}" "$line"; done <"$file"
  done
  printf '\n'
done
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """Usage of one node since it started: CPU seconds, bytes. None: its cgroup does not count it."""

    cpu_s: float | None
    read_bytes: int | None
    written_bytes: int | None


def read_usage(stack: RunningStack, nodes: Iterable[StackNode]) -> dict[str, Usage]:
    """Usage by node, all asked at once; nodes without a container or an answer are left out."""
    asked = [node.name for node in nodes if node.has_container]
    with ThreadPoolExecutor(max_workers=max(1, len(asked))) as pool:
        found = pool.map(lambda name: _usage_of(stack, name), asked)
        return {name: usage for name, usage in zip(asked, found, strict=True) if usage}


def _usage_of(stack: RunningStack, node: str) -> Usage | None:
    try:
        answer = stack.ask_session(node, ["sh", "-c", _COUNTERS], "?", _LIMIT_S)
    except (SandboxError, TimeoutError):
        return None
    return usage_in(answer.stdout) if answer.code == 0 else None


def usage_in(counters: str) -> Usage:
    """Parses lines of cgroup files, each with its file's name before it and a semicolon after it.

    Sources: the kernel's admin-guide, cgroup-v2 (cpu.stat in µs, io.stat) and cgroup-v1 (cpuacct.usage in ns,
    blkio.throttle.io_service_bytes).
    """
    lines = [line.split() for line in counters.split(";")]
    times = [int(words[2]) / 1e6 for words in lines if words[:2] == ["cpu.stat", "usage_usec"]]
    times += [int(words[1]) / 1e9 for words in lines if words[:1] == ["cpuacct.usage"] and len(words) > 1]
    return Usage(times[0] if times else None, _bytes(lines, "rbytes", "Read"), _bytes(lines, "wbytes", "Write"))


def _bytes(lines: list[list[str]], key: str, word: str) -> int | None:
    """Sum over devices of ``8:0 rbytes=1 wbytes=2 …`` (v2) or ``8:0 Read 1`` (v1).

    None without such a file, and in v1 where it lists no device, since that kernel counts only what it throttles.
    """
    v2 = [text.split("=") for words in lines if words[:1] == ["io.stat"] for text in words if "=" in text]
    v1 = [words[2:] for words in lines if words[:1] == ["blkio.throttle.io_service_bytes"] and len(words) == 4]
    counts = any(words == ["io.stat"] for words in lines) or bool(v1)
    return sum(int(value) for name, value in [*v2, *v1] if name in (key, word)) if counts else None


def used(before: Mapping[str, Usage], after: Mapping[str, Usage]) -> dict[str, Usage]:
    """Usage of each node in between; without nodes that restarted, whose counters started from zero."""
    pairs = {name: (before[name], last) for name, last in after.items() if name in before}
    grown = {name: (first, last) for name, (first, last) in pairs.items() if (last.cpu_s or 0) >= (first.cpu_s or 0)}
    return {
        name: Usage(
            _less(first.cpu_s, last.cpu_s),
            _less(first.read_bytes, last.read_bytes),
            _less(first.written_bytes, last.written_bytes),
        )
        for name, (first, last) in grown.items()
    }


def cpu_per_transaction(
    usage: Mapping[str, Usage], nodes: Iterable[StackNode], group: int | None, transactions: int | None
) -> dict[str, float | None]:
    """The three CPU metrics, ms per transaction (docs/statistics.md, rule 11); ``group``: the one under load.

    A metric is None without transactions, without such a node, and where one of its nodes has no reading: a partial
    sum would be wrong.
    """
    of_group = [node for node in nodes if node.group_index == group or node.kind == "client"]
    parts = {
        "server_cpu_ms_per_tx": [node.name for node in of_group if node.is_server],
        "proxy_cpu_ms_per_tx": [node.name for node in of_group if node.kind == "proxy"],
        "client_cpu_ms_per_tx": [node.name for node in of_group if node.kind == "client"],
    }
    return {metric: _per_transaction(usage, names, transactions) for metric, names in parts.items()}


def _per_transaction(usage: Mapping[str, Usage], names: list[str], transactions: int | None) -> float | None:
    times = [usage[name].cpu_s for name in names if name in usage]
    known = [time for time in times if time is not None]
    if not transactions or not names or len(known) < len(names):
        return None
    return round(1000 * sum(known) / transactions, 6)


def _less(first: Number | None, last: Number | None) -> Number | None:
    return None if first is None or last is None else last - first
